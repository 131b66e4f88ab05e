"""Augmentations chosen by how hard they are."""

from __future__ import annotations

import math
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

FRACTION = 5
"""One of how many batches of an epoch the losses are found on."""


class JOAO(Callback):
    r"""Moves the probabilities of a ``LearnedChoice`` towards augmentations with a high loss, after every epoch.

    .. math:: p' = \mathcal{P}\left( p + \ell(p) - \gamma (p - 1/A) \right)

    You et al. (2021), eq. (8) and (9): one step of projected gradient ascent in the probabilities p of A augmentations,
    on the loss minus gamma / 2 times the squared distance to equal ones. The loss l of each augmentation is found with
    that one alone, on the first fifth of the epoch's batches, as in the authors' code; BatchNorm's statistics are put
    back afterwards, which there are not. The projection on the simplex is exact, where the code bisects to 0.01. With
    gamma above 2 steps overshoot.

    Logs the probabilities of the next epoch, ``joao/node_drop``, ``joao/edge_perturbation``, ``joao/subgraph``,
    ``joao/attribute_mask`` and ``joao/none``.

    Args:
        gamma: weight of the distance to equal probabilities, at least 0; the authors choose from 0.01, 0.1 and 1.

    Raises:
        ValueError: a weight out of range; in ``fit``, data without exactly one ``LearnedChoice`` among its views, or an
            objective with state, as queues, which these losses would change.
    """

    def __init__(self, gamma: float = 0.1) -> None:
        if not (math.isfinite(gamma) and gamma >= 0):
            raise ValueError(f"gamma must be a finite number of at least 0, got {gamma}")
        self.gamma = gamma
        self._choice: Any = None
        self._loaded: Tensor | None = None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        if stage != "fit":
            return
        views = getattr(trainer.datamodule, "views", ())  # type: ignore[attr-defined]
        found = [part for view in views for part in view.modules() if hasattr(part, "probabilities")]
        if len(found) != 1:
            raise ValueError(f"JOAO needs exactly one view with a LearnedChoice in data.views, got {len(found)}")
        objective: Any = pl_module.objective
        if next(objective.buffers(), None) is not None:
            raise ValueError(f"JOAO cannot be used with {type(objective).__name__}, which keeps state between batches")
        (self._choice,) = found

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._loaded is not None:
            self._choice.probabilities, self._loaded = self._loaded, None

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._choice.probabilities = ascend(self._choice.probabilities, self._losses(trainer, pl_module), self.gamma)
        chosen = zip(self._choice.names, self._choice.probabilities.cpu().unbind(), strict=True)
        pl_module.log_dict({f"joao/{name}": p for name, p in chosen}, rank_zero_only=True)

    @torch.no_grad()
    def _losses(self, trainer: Trainer, pl_module: LightningModule) -> Tensor:
        """The mean loss of each augmentation by itself, in float64 on the CPU."""
        before = self._choice.probabilities
        buffers = [(buffer, buffer.clone()) for buffer in pl_module.buffers()]
        try:
            losses = []
            for alone in torch.eye(len(before), dtype=before.dtype, device=before.device):
                self._choice.probabilities = alone
                losses.append(self._loss(trainer, pl_module))
        finally:
            self._choice.probabilities = before
            for buffer, value in buffers:
                buffer.copy_(value)
        return torch.stack(losses).cpu().double()

    def _loss(self, trainer: Trainer, pl_module: LightningModule) -> Tensor:
        """The mean loss over graphs by the probabilities as they are; the same random numbers at every call."""
        data: Any = trainer.datamodule  # type: ignore[attr-defined]
        module: Any = pl_module
        sampler = data.train_sampler(data.samples.splits["train"])
        sampler.set_epoch(trainer.current_epoch)
        batches = sampler.draw()
        generator = data.generator(pl_module.device)
        total, graphs = torch.zeros((), device=pl_module.device), 0
        for index in batches[: len(batches) // FRACTION + 1]:
            inputs, target = data.take(index.to(pl_module.device))
            views = [data.in_precision(view(inputs, generator)) for view in data.views]
            with trainer.precision_plugin.train_step_context():
                loss, *_ = module.compute(views, target)
            total = total + loss.float() * len(index)
            graphs += len(index)
        return total / graphs

    def state_dict(self) -> dict[str, Any]:
        return {} if self._choice is None else {"probabilities": self._choice.probabilities}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._loaded = state_dict.get("probabilities")


def ascend(probabilities: Tensor, losses: Tensor, gamma: float) -> Tensor:
    """The step of :class:`JOAO`; none where a loss is not finite, since the run then ends with its epoch.

    Args:
        probabilities: probabilities ``[A]``.
        losses: loss of each augmentation by itself, ``[A]``.
        gamma: weight of the distance to equal probabilities.
    """
    p = probabilities.to(losses)
    step = p + losses - gamma * (p - 1 / len(p))
    return project_on_simplex(step).to(probabilities) if step.isfinite().all() else probabilities


def project_on_simplex(x: Tensor) -> Tensor:
    r"""The nearest point with entries of at least 0 that add up to 1 (Held et al., 1974).

    .. math:: \max(x - \mu, 0), \qquad \sum_a \max(x_a - \mu, 0) = 1

    Shapes: ``[A]`` to the same.
    """
    descending = x.sort(descending=True).values
    excess = descending.cumsum(0) - 1
    count = torch.arange(1, len(x) + 1, dtype=x.dtype, device=x.device)
    positive = int((descending - excess / count > 0).sum())
    return (x - excess[positive - 1] / positive).clamp(min=0)
