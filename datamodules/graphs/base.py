"""What graph data sets that are read from files share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor

from datamodules.augmentations.base import Augmentation, Identity
from datamodules.base import Samples, Split
from datamodules.graphs.augmentations.remaining import WithRemaining
from datamodules.graphs.edges import edge_ptr_of
from datamodules.graphs.in_memory import InMemoryGraphs
from datamodules.graphs.packed import PackedGraphs
from datamodules.sampler import BatchIndices
from datamodules.splits import stratified_split


class EveryGraph(BatchIndices):
    """Index batches that leave no graph out: TU data sets are small, and GraphCL keeps an incomplete batch.

    The last batch of an epoch has the rest of the graphs, but for what the processes cannot share equally.

    Args:
        index: numbers of the graphs of the split, ``[M]``.
        batch_size: graphs in a batch over all processes; a smaller split is one batch.
        seed: seed of the shuffling.
        rank: number of this process.
        world_size: number of processes.
        reshuffle: whether every epoch has an order of its own.

    Raises:
        ValueError: fewer than two graphs for every process.
    """

    def __init__(self, index: Tensor, batch_size: int, seed: int, rank: int, world_size: int, reshuffle: bool) -> None:
        if len(index) < 2 * world_size:
            raise ValueError(f"contrastive learning needs at least 2 graphs for each process, got {len(index)}")
        batch_size = min(batch_size, len(index) // world_size * world_size)
        super().__init__(index, batch_size, True, seed, rank, world_size)
        self.reshuffle = reshuffle

    def draw(self) -> Sequence[Tensor]:
        batches = self.shuffled(self.epoch if self.reshuffle else 0).split(self.batch_size)[: len(self)]
        own = [len(batch) // self.num_replicas for batch in batches]
        return [batch[self.rank * n : (self.rank + 1) * n] for batch, n in zip(batches, own, strict=True)]

    def __len__(self) -> int:
        full, rest = divmod(len(self.index), self.batch_size)
        return full + (rest >= 2 * self.num_replicas)


class GraphDataModule(InMemoryGraphs):
    """Graphs in memory, of which every epoch sees all.

    Augmented views say what fraction of the nodes and edges remained, see :class:`WithRemaining`.

    Args:
        views: one augmentation of graphs a view.
        batch_size: graphs in a batch over all processes.
        num_classes: number of labels.
        in_features: node features.
        max_degree: adds a node's degree, one-hot, with larger ones in the last column; None doesn't.
        held_out: fraction of the graphs that is set aside, the classes in proportion, half of it for validation and
            half for test, the same graphs whatever the seed. With 0 all graphs train and all are evaluated, as in
            GraphCL: for protocols that have folds of their own, such as ``RBFSVM``.
        labels: training samples that training sees: so many of each class, or as a fraction this share of the labelled
            ones, see :class:`~datamodules.base.InMemoryDataModule`; None: all, labelled or not.

    Raises:
        ValueError: a fraction outside [0, 1), a degree below 0, or few labels where no graph is held out.
    """

    PREDICTS_ALL = True

    def __init__(
        self,
        views: Sequence[Augmentation],
        batch_size: int,
        num_classes: int,
        in_features: int,
        max_degree: int | None,
        held_out: float,
        labels: int | float | None = None,
    ) -> None:
        views = [view if isinstance(view, Identity) else WithRemaining(view) for view in views]
        super().__init__(views, batch_size, num_classes, in_features, labels)
        if not 0 <= held_out < 1:
            raise ValueError(f"held_out must be in [0, 1), got {held_out}")
        if max_degree is not None and max_degree < 0:
            raise ValueError(f"max_degree must be at least 0, got {max_degree}")
        if labels is not None and not held_out:
            raise ValueError("data.labels needs graphs to evaluate that it doesn't draw from: data.held_out above 0")
        self.max_degree = max_degree
        self.held_out = held_out
        self.reshuffle = True

    def pack(self, x: Tensor, edge_index: Tensor, node_ptr: Tensor, target: Tensor) -> Samples:
        """The graphs, with edges in the order of the nodes that they lead to, and labels of M graphs as samples."""
        graphs = PackedGraphs(x, edge_index, node_ptr, edge_ptr_of(edge_index[1], node_ptr))
        return Samples(graphs, target, self.split(target))

    def split(self, target: Tensor) -> dict[Split, Tensor]:
        """Numbers of the graphs of the three splits, which are the same one if nothing is held out."""
        index = np.arange(len(target))
        if not self.held_out:
            everything = torch.from_numpy(index)
            return {"train": everything, "val": everything, "test": everything}
        # unless all have a label, graphs are split as if they were of one class
        classes = target if (target >= 0).all() else torch.zeros_like(target)
        try:
            train, rest = stratified_split(classes, self.held_out, index, in_order=False)
            val, test = stratified_split(classes, 0.5, rest)
        except ValueError as error:
            raise ValueError(
                f"held_out {self.held_out} of {len(index)} graphs cannot be set aside, as training, validation and "
                f"test each need graphs of every class: {error}"
            ) from error
        parts = (torch.from_numpy(part) for part in (np.sort(train), val, test))
        return dict(zip(get_args(Split), parts, strict=True))

    def describe(self) -> dict[str, Any]:
        description = super().describe()
        if not self.held_out:
            description["samples"] = {"graphs": len(self.samples.target)}
        return description

    def train_sampler(self, index: Tensor) -> EveryGraph:
        return EveryGraph(index, self.batch_size, self.seed, *self.processes, self.reshuffle)
