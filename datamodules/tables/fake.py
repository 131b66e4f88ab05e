"""Made-up rows, for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from datamodules.augmentations.base import Augmentation
from datamodules.base import InMemoryDataModule, Samples
from datamodules.fake import check_counts, fake_splits
from datamodules.seeding import generator_at


class FakeTable(InMemoryDataModule):
    """Standard normal rows about one random centre a class, the same at every start.

    The training split has ``num_samples`` rows, validation and test half as many each.

    Args:
        views: one augmentation of rows a view.
        batch_size: samples in a batch over all processes.
        num_samples: training rows.
        in_features: columns.
        num_classes: number of labels.

    Raises:
        ValueError: a number of rows, columns or classes below 1.
    """

    SAMPLES = "rows"

    def __init__(
        self,
        views: Sequence[Augmentation],
        batch_size: int = 32,
        num_samples: int = 128,
        in_features: int = 16,
        num_classes: int = 4,
    ) -> None:
        super().__init__(views, batch_size, num_classes, in_features)
        check_counts(num_samples=num_samples, in_features=in_features, num_classes=num_classes)
        self.num_samples = num_samples
        self.width = in_features

    def load(self) -> Samples:
        splits, generator = fake_splits(self.num_samples), generator_at(0)
        target = torch.cat([torch.arange(len(index)) % self.num_classes for index in splits.values()])
        centres = torch.randn(self.num_classes, self.width, generator=generator)
        rows = centres[target] + torch.randn(len(target), self.width, generator=generator)
        return Samples(rows, target, splits)
