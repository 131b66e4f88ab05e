"""scikit-learn's digits, 1,797 scans of 8 x 8 pixels, as rows and graphs. No download."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from datamodules.augmentations.base import Augmentation
from datamodules.base import InMemoryDataModule, Samples, Split
from datamodules.ragged import RaggedGraphs
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
        if self.scaler.state is None:
            self.scaler.fit(samples.rows[samples.splits["train"]])
        return Samples(self.scaler(samples.rows), samples.target, samples.splits)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "scaler": self.scaler.state}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self.scaler.state = state_dict["scaler"]


class DigitsGraph(InMemoryDataModule):
    """Digits as graphs of 16 to 42 pixels with ink: a node a pixel, edges between its eight neighbours.

    A node's features are its ink in (0, 1] and its row and column in [-1, 1]. A digit may fall apart into components.

    Args:
        views: one augmentation of graphs a view.
        batch_size: samples in a batch over all processes.
    """

    def __init__(self, views: Sequence[Augmentation], batch_size: int = 128) -> None:
        super().__init__(views, batch_size, num_classes=10, in_features=3)

    def load(self) -> Samples:
        pixels, target, splits = read_digits()
        ink = pixels > 0  # [M, 64]
        place = torch.cartesian_prod(torch.arange(8), torch.arange(8))  # [64, 2], row and column
        ends = (torch.cdist(place.float(), place.float(), p=float("inf")) == 1).nonzero().T  # [2, pairs of neighbours]
        joined = ink[:, ends[0]] & ink[:, ends[1]]  # [M, pairs]
        digit, pair = joined.nonzero(as_tuple=True)  # [edges]
        node = ink.flatten().cumsum(0).view_as(pixels) - 1  # [M, 64]
        positions = (place / 3.5 - 1).expand(len(pixels), -1, -1)[ink]  # [nodes, 2]
        graphs = RaggedGraphs(
            torch.cat((pixels[ink, None] / 16, positions), dim=1),
            node[digit, ends[:, pair]],
            F.pad(ink.sum(1).cumsum(0), (1, 0)),
            F.pad(joined.sum(1).cumsum(0), (1, 0)),
        )
        return Samples(graphs, target, splits)
