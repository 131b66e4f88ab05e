"""How far read-outs of mutual information are from what is known."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

READ_OUTS = ("estimate", "other")


class InformationError(Callback):
    r"""Bias, variance and mean squared error of a critic's read-outs over the batches of a validation or test.

    .. math:: \mathrm{bias} = \bar{I} - I, \quad \mathrm{variance} = \overline{(\hat{I} - \bar{I})^2}, \quad
              \mathrm{mse} = \mathrm{bias}^2 + \mathrm{variance}

    Logs, in nats and squared nats, ``information_error/NATS/READ_OUT/bias``, ``variance`` and ``mse`` for each mutual
    information of the training so far (``information_error/2/estimate/mse`` say), ``information_error/NATS/invalid``,
    the share of pairs without a ratio by the batch's normaliser, and ``information_error/READ_OUT/mse``, the mean over
    all. An estimate is of the pairs that have a ratio; batches whose estimate is not finite are left out. For
    :class:`CriticModule`.

    Raises:
        ValueError: a module that is none.
    """

    scores_in_validation: ClassVar[bool] = True
    """Whether a training has its scores exactly if a validation runs."""

    def __init__(self) -> None:
        self._batches: list[dict[str, Tensor]] = []
        self._found: dict[str, float] = {}

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        if not hasattr(pl_module, "estimates"):
            raise ValueError(
                f"InformationError is for CriticModule, whose data tell the mutual information, not for "
                f"{type(pl_module).__name__}: InformationEstimate reads off what a backbone's views share"
            )

    def on_validation_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._batches = []
        if trainer.state.fn != "fit":  # a checkpoint's are not those of the batches to come
            self._found = {}

    def on_validation_batch_end(self, trainer: Trainer, pl_module: LightningModule, outputs: Any, *_: Any) -> None:
        self._batches.append(outputs)

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.sanity_checking:
            return
        values = {key: torch.stack([batch[key] for batch in self._batches]).cpu().double() for key in self._batches[0]}
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
        pl_module.log_dict({f"information_error/{key}": value for key, value in self._found.items()})

    on_test_epoch_start = on_validation_epoch_start
    on_test_batch_end = on_validation_batch_end  # type: ignore[assignment]
    on_test_epoch_end = on_validation_epoch_end

    def state_dict(self) -> dict[str, Any]:
        return {"found": self._found}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._found = dict(state_dict["found"])
