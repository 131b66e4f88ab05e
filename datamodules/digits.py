"""scikit-learn's digits, 1,797 scans of 8 x 8 pixels, as images, rows and graphs. No download."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from datamodules.augmentations.base import Augmentation
from datamodules.base import InMemoryDataModule, Samples, Split
from datamodules.scaling import Standardizer


def read_digits() -> tuple[Tensor, Tensor, dict[Split, Tensor]]:
    """Pixels ``[1797, 64]`` in 0..16, labels ``[1797]`` and a fixed stratified split of 1047, 300 and 450 rows."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    pixels, labels = load_digits(return_X_y=True)
    rest, test = train_test_split(np.arange(len(labels)), test_size=450, random_state=0, stratify=labels)
    train, val = train_test_split(rest, test_size=300, random_state=0, stratify=labels[rest])
    splits: dict[Split, Tensor] = {
        "train": torch.from_numpy(np.sort(train)),
        "val": torch.from_numpy(np.sort(val)),
        "test": torch.from_numpy(np.sort(test)),
    }
    return torch.from_numpy(pixels).float(), torch.from_numpy(labels).long(), splits


class DigitsTable(InMemoryDataModule):
    """Digits as rows of 64 numbers, standardised with the training rows' mean and deviation.

    Args:
        views: one augmentation of rows a view.
        batch_size: samples in a batch over all processes.
    """

    def __init__(self, views: Sequence[Augmentation], batch_size: int = 128) -> None:
        super().__init__(views, batch_size, num_classes=10, in_features=64)
        self.scaler = Standardizer()

    def load(self) -> Samples:
        return Samples(*read_digits())

    def encode(self, samples: Samples) -> Samples:
        self.scaler.fit_once(samples.rows[samples.splits["train"]])
        return Samples(self.scaler(samples.rows), samples.target, samples.splits)

    def state_dict(self) -> dict[str, Tensor]:
        return self.scaler.state_dict()

    def load_state_dict(self, state_dict: dict[str, Tensor]) -> None:
        self.scaler.load_state_dict(state_dict)
