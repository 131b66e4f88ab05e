"""What the test loop makes of the samples, kept for protocols."""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from lightning_renyicl.evaluation.features import labelled


class Tested(Callback):
    """Keeps the features of the test loop, so that none are computed twice. A subclass takes them at its end."""

    def __init__(self) -> None:
        self._tested: list[tuple[Tensor, Tensor]] = []

    def on_test_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._tested = []

    def on_test_batch_end(self, trainer: Trainer, pl_module: LightningModule, outputs: Any, *_: Any) -> None:
        self._tested.append((outputs["features"].float().cpu(), outputs["target"].cpu()))

    def taken(self, loader: Any) -> tuple[Tensor, Tensor]:
        """Features and labels of the labelled samples of a split, of all processes; they are kept no longer."""
        found, self._tested = labelled(loader, self._tested), []
        return found
