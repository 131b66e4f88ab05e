"""Made-up data of any size, for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from datamodules.augmentations.base import Augmentation
from datamodules.base import InMemoryDataModule, Samples, Split
from datamodules.images import ImageDataModule
from datamodules.ragged import RaggedGraphs
from datamodules.seeding import generator_at


def fake_splits(num_samples: int) -> dict[Split, Tensor]:
    """Rows of a training split of ``num_samples`` and of validation and test splits of half as many each."""
    train, val, test = torch.arange(num_samples + 2 * (num_samples // 2)).tensor_split(
        [num_samples, num_samples + num_samples // 2]
    )
    return {"train": train, "val": val, "test": test}


def check_counts(**counts: int) -> None:
    """Raises ValueError unless every count is at least 1."""
    if min(counts.values()) < 1:
        raise ValueError(f"{', '.join(counts)} must be at least 1, got {', '.join(map(str, counts.values()))}")


class FakeImages(ImageDataModule):
    """Noisy copies of one smooth random picture a class, the same at every start.

    Classes are balanced, so features can be told good from bad. The training split has ``num_samples`` images,
    validation and test half as many each.

    Args:
        views: one augmentation of images in [0, 1] a view.
        eval_augmentation: what evaluation does to images in place of a view.
        batch_size: samples in a batch over all processes.
        size: pixels of the images' sides.
        num_samples: training images.
        num_classes: number of labels.

    Raises:
        ValueError: a size, number of images or number of classes below 1.
    """

    NOISE = 0.15

    def __init__(
        self,
        views: Sequence[Augmentation],
        eval_augmentation: Augmentation,
        batch_size: int = 32,
        size: int = 32,
        num_samples: int = 128,
        num_classes: int = 10,
    ) -> None:
        super().__init__(views, eval_augmentation, batch_size, num_classes)
        check_counts(size=size, num_samples=num_samples, num_classes=num_classes)
        self.size = size
        self.num_samples = num_samples

    def load(self) -> Samples:
        generator = generator_at(0)
        splits = fake_splits(self.num_samples)
        target = torch.cat([torch.arange(len(rows)) % self.num_classes for rows in splits.values()])
        coarse = torch.rand(self.num_classes, 3, 4, 4, generator=generator)
        pictures = F.interpolate(coarse, size=self.size, mode="bilinear", antialias=True)
        images = torch.empty(len(target), 3, self.size, self.size, dtype=torch.uint8)
        for i, label in enumerate(target):  # one at a time, since noise for all would take four times the images' room
            noise = torch.randn(pictures[label].shape, generator=generator)
            images[i] = (pictures[label] + self.NOISE * noise).clamp_(0, 1).mul_(255).round_()
        return Samples(images, target, splits)


class FakeGraphs(InMemoryDataModule):
    """Random graphs of 1 to 16 nodes, the same at every start; a class is a density of edges.

    In class c of C, two nodes are neighbours with probability (c + 1) / (C + 1). One graph in eight is a single node
    and another one in eight has no edge. Node features are standard normal and tell nothing. The training split has
    ``num_samples`` graphs, validation and test half as many each.

    Args:
        views: one augmentation of graphs a view.
        batch_size: samples in a batch over all processes.
        num_samples: training graphs.
        in_features: node features.
        num_classes: number of labels.

    Raises:
        ValueError: a number of graphs, features or classes below 1.
    """

    MOST_NODES = 16

    def __init__(
        self,
        views: Sequence[Augmentation],
        batch_size: int = 32,
        num_samples: int = 128,
        in_features: int = 4,
        num_classes: int = 2,
    ) -> None:
        super().__init__(views, batch_size, num_classes, in_features)
        check_counts(num_samples=num_samples, in_features=in_features, num_classes=num_classes)
        self.num_samples = num_samples
        self.width = in_features

    def load(self) -> Samples:
        generator, most = generator_at(0), self.MOST_NODES
        splits = fake_splits(self.num_samples)
        row = torch.cat(list(splits.values()))
        target = torch.randint(self.num_classes, row.shape, generator=generator)
        sizes = torch.randint(2, most + 1, row.shape, generator=generator).where(row % 8 != 0, 1)  # [M]
        density = ((target + 1) / (self.num_classes + 1)).where(row % 8 != 1, 0)
        inside = torch.arange(most) < sizes[:, None]  # [M, most], the nodes that exist
        joined = torch.rand(len(row), most, most, generator=generator) < density[:, None, None]
        joined &= (inside[:, :, None] & inside[:, None, :]).triu(1)
        graph, *ends = (joined | joined.mT).nonzero(as_tuple=True)  # [edges]
        node_ptr = F.pad(sizes.cumsum(0), (1, 0))
        graphs = RaggedGraphs(
            torch.randn(int(sizes.sum()), self.width, generator=generator),
            torch.stack(ends) + node_ptr[graph],
            node_ptr,
            F.pad(graph.bincount(minlength=len(row)).cumsum(0), (1, 0)),
        )
        return Samples(graphs, target, splits)


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
        target = torch.cat([torch.arange(len(rows)) % self.num_classes for rows in splits.values()])
        centres = torch.randn(self.num_classes, self.width, generator=generator)
        rows = centres[target] + torch.randn(len(target), self.width, generator=generator)
        return Samples(rows, target, splits)
