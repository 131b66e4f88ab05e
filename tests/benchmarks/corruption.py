"""Corrupted views of whole batches against a data set that corrupts one row at a time."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from datamodules import FakeTable
from datamodules.augmentations import FeatureCorruption
from tests.benchmarks.timing import compare

ROWS, COLUMNS, BATCH, RATE = 512 * 16, 54, 512, 0.2


class PerRow(Dataset):
    """Two corrupted views of a row, as a loader collates them."""

    def __init__(self, rows: Tensor) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.corrupted(self.rows[index]), self.corrupted(self.rows[index])

    def corrupted(self, row: Tensor) -> Tensor:
        """Each cell is its column's in a training row drawn for it, with probability RATE."""
        others = self.rows[torch.randint(len(self.rows), (COLUMNS,)), torch.arange(COLUMNS)]
        return torch.where(torch.rand(COLUMNS) < RATE, others, row)


def run() -> dict[str, dict[str, Any]]:
    """An epoch of batches each way."""
    views = [FeatureCorruption(RATE), FeatureCorruption(RATE)]
    data = FakeTable(views, BATCH, num_samples=ROWS, in_features=COLUMNS)
    loader = DataLoader(PerRow(data.samples.inputs[data.samples.splits["train"]]), BATCH, shuffle=True)

    def batches() -> None:
        for index in data.train_dataloader():
            data.train_batch(index)

    def rows() -> None:
        for _ in loader:
            pass

    batches()
    return {"table/corrupt_vs_per_row": compare(rows, batches, n=5)}
