"""Made-up graphs, for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional as F

from datamodules.augmentations.base import Augmentation
from datamodules.base import Samples
from datamodules.fake import check_counts, fake_splits
from datamodules.graphs.in_memory import InMemoryGraphs
from datamodules.graphs.packed import PackedGraphs
from datamodules.seeding import generator_at


class FakeGraphs(InMemoryGraphs):
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
        number = torch.cat(list(splits.values()))
        target = torch.randint(self.num_classes, number.shape, generator=generator)
        sizes = torch.randint(2, most + 1, number.shape, generator=generator).where(number % 8 != 0, 1)  # [M]
        density = ((target + 1) / (self.num_classes + 1)).where(number % 8 != 1, 0)
        inside = torch.arange(most) < sizes[:, None]  # [M, most], the nodes that exist
        joined = torch.rand(len(number), most, most, generator=generator) < density[:, None, None]
        joined &= (inside[:, :, None] & inside[:, None, :]).triu(1)
        graph, *ends = (joined | joined.mT).nonzero(as_tuple=True)  # [edges]
        node_ptr = F.pad(sizes.cumsum(0), (1, 0))
        graphs = PackedGraphs(
            torch.randn(int(sizes.sum()), self.width, generator=generator),
            torch.stack(ends) + node_ptr[graph],
            node_ptr,
            F.pad(graph.bincount(minlength=len(number)).cumsum(0), (1, 0)),
        )
        return Samples(graphs, target, splits)
