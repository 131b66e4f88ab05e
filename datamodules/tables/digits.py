"""scikit-learn's digits as rows. No download."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from datamodules.augmentations.base import Augmentation
from datamodules.base import InMemoryDataModule, Samples
from datamodules.digits import read_digits
from datamodules.tables.preparation import RowPreparation
from datamodules.tables.scaling import Standardizer


class DigitsTable(InMemoryDataModule):
    """Digits as rows of 64 numbers, standardised with the training rows' mean and deviation.

    Args:
        views: one augmentation of rows a view.
        batch_size: samples in a batch over all processes.
    """

    SAMPLES = "rows"

    def __init__(self, views: Sequence[Augmentation], batch_size: int = 128) -> None:
        super().__init__(views, batch_size, num_classes=10, in_features=64)
        self.scaler = Standardizer()

    def load(self) -> Samples:
        return Samples(*read_digits())

    def encode(self, samples: Samples) -> Samples:
        if self.scaler.state is None:
            self.scaler.fit(samples.inputs[samples.splits["train"]])
        return Samples(self.scaler(samples.inputs), samples.target, samples.splits)

    def preparation(self) -> RowPreparation:
        return self.scaler.preparation([f"pixel {number}" for number in range(1, 65)])

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "scaler": self.scaler.state}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self.scaler.state = state_dict["scaler"]
