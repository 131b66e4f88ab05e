"""Training a critic on pairs, to read their mutual information off it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from lightning_renyicl.distributed import world_group
from lightning_renyicl.modules.scheduled import OptimizerFactory
from lightning_renyicl.modules.steps import logs_now
from lightning_renyicl.modules.stored import StoredModule
from lightning_renyicl.mutual_information.critics import split_scores
from lightning_renyicl.objectives.critic import CosineCritic

CriticFactory = Callable[[int], nn.Module]


class CriticModule(StoredModule):
    """A critic that maximises a bound on the mutual information of pairs.

    Takes batches ``([x, y], nats)`` of N pairs ``[N, D]`` and what is known of their mutual information. Every x with
    another pair's y is a negative pair.

    Logs in training ``train/bound``, the mutual information that is read off in the way which is right for the
    objective's best critic, ``train/estimate``, in another one, ``train/other``, and what is known, ``train/nats``.
    For CPC that way is each anchor's own normaliser, for JSD and RPC none, else the batch's; ``train/invalid`` is the
    share of pairs for which the batch's finds no ratio. Such pairs are left out of its mean, and but for RPC they are
    those of high scores. Scores are float32 in mixed precision.

    Args:
        critic: builds from D a network that scores every x with every y.
        in_features: dimensions D of x and of y; the command line takes it from the data.
        objective: loss whose bound is maximised, such as ``RMLCPC``. Its critic and temperature play no part.
        optimizer: builds the optimizer from the parameters.

    Raises:
        ValueError: an objective of alpha 1, whose critic learns nothing, or one whose best critic is not known.
    """

    def __init__(
        self, critic: CriticFactory, in_features: int, objective: CosineCritic, optimizer: OptimizerFactory
    ) -> None:
        super().__init__()
        objective.log_ratios(torch.zeros(1), torch.zeros(1, 1), None)  # refuses an objective whose critic tells nothing
        self.critic = critic(in_features)
        self.objective = objective
        self._optimizer = optimizer

    def scores(self, batch: tuple[list[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        """Scores of positive pairs ``[N]`` and of negative ones ``[N, N − 1]``."""
        (x, y), _ = batch
        with torch.autocast(self.device.type, enabled=False):
            return split_scores(self.critic(x, y))

    @torch.no_grad()
    def estimates(self, p: Tensor, n: Tensor) -> dict[str, Tensor]:
        """The mutual information of a batch by the right and by the other way, and what share has no ratio."""
        read = self.objective.log_ratios(p, n, world_group())
        estimate, other = (ratios.nanmean() for ratios in read.values())
        return {"estimate": estimate, "other": other, "invalid": read["by_batch"].isnan().float().mean()}

    def training_step(self, batch: tuple[list[Tensor], Tensor], batch_idx: int) -> Tensor:
        p, n = self.scores(batch)
        bound = self.objective.bound(p, n, world_group())
        if logs_now(self):
            logs = {"bound": bound.detach(), **self.estimates(p, n), "nats": batch[1].mean()}
            self.log_dict({f"train/{name}": value for name, value in logs.items()}, batch_size=len(p))
        return -bound

    def validation_step(self, batch: tuple[list[Tensor], Tensor], batch_idx: int) -> dict[str, Tensor]:
        p, n = self.scores(batch)
        return {**self.estimates(p, n), "nats": batch[1].mean()}

    test_step = validation_step

    def configure_optimizers(self) -> Any:
        return self._optimizer(self.parameters())
