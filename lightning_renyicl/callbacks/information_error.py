"""How far read-outs of mutual information are from what is known."""

from __future__ import annotations

from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

READ_OUTS = ("estimate", "other")


class InformationError(Callback):
    r"""Bias, variance and mean squared error of a critic's read-outs over the batches of a validation.

    .. math:: \mathrm{bias} = \bar{I} - I, \quad \mathrm{variance} = \overline{(\hat{I} - \bar{I})^2}, \quad
              \mathrm{mse} = \mathrm{bias}^2 + \mathrm{variance}

    Logs, in nats and squared nats, ``NATS/READ_OUT/bias``, ``variance`` and ``mse`` for each mutual information so far
    (``2/estimate/mse`` say), ``NATS/invalid``, the share of pairs without a ratio by the batch's normaliser, and
    ``READ_OUT/mse``, the mean over all. Batches in which no pair has a ratio are left out. For :class:`CriticModule`.
    """

    def __init__(self) -> None:
        self._batches: list[dict[str, Tensor]] = []
        self._found: dict[str, float] = {}

    def on_validation_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._batches = []

    def on_validation_batch_end(self, trainer: Trainer, pl_module: LightningModule, outputs: Any, *_: Any) -> None:
        self._batches.append(outputs)

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.sanity_checking:
            return
        values = {key: torch.stack([batch[key] for batch in self._batches]).double().cpu() for key in self._batches[0]}
        known = values["nats"].mean().item()
        for name in READ_OUTS:
            estimates = values[name][values[name].isfinite()]
            bias, variance = estimates.mean() - known, estimates.var(correction=0)
            for key, value in (("bias", bias), ("variance", variance), ("mse", bias**2 + variance)):
                self._found[f"{known:g}/{name}/{key}"] = value.item()
        self._found[f"{known:g}/invalid"] = values["invalid"].mean().item()
        for name in READ_OUTS:
            errors = [value for key, value in self._found.items() if key.endswith(f"/{name}/mse")]
            self._found[f"{name}/mse"] = sum(errors) / len(errors)
        pl_module.log_dict(self._found, rank_zero_only=True)

    def state_dict(self) -> dict[str, Any]:
        return {"found": self._found}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._found = dict(state_dict["found"])
