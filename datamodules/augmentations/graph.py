"""Augmentations of graphs."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from datamodules.augmentations.base import Augmentation
from datamodules.ragged import edge_pointer, make_batch

if TYPE_CHECKING:
    from torch_geometric.data import Batch

_KEYS = 2**40  # sort keys within a graph; above them an int64 has room for 2**23 graphs
_TICKS = 2**20  # units of time in the mean delay of Subgraph


class NodeDrop(Augmentation):
    """Drops int(ratio · N) nodes of every graph of N nodes, drawn uniformly without replacement (You et al., 2020).

    A dropped node leaves the batch together with its edges, so that read-outs don't count it. GraphCL's code cuts only
    the edges of the drawn nodes, and then removes whatever has no edge left, nodes that were not drawn included.

    Shapes: a ``Batch`` of N graphs to a ``Batch`` of N graphs of at least one node, nodes in their old order, with
    ``x`` and ``edge_index`` only.

    Args:
        ratio: share of the nodes to drop, in [0, 1]. One node always stays.

    Raises:
        ValueError: a ratio outside [0, 1].
    """

    def __init__(self, ratio: float = 0.1) -> None:
        super().__init__()
        self.ratio = _checked(ratio)

    def forward(self, batch: Batch, generator: Generator) -> Batch:
        sizes = batch.ptr.diff()  # [N]
        dropped = (self.ratio * sizes.float()).long().minimum(sizes - 1)
        keys = torch.randint(_KEYS, batch.batch.shape, generator=generator, device=generator.device)
        return _induced(batch, _rank(keys, batch) >= dropped[batch.batch])


class Subgraph(Augmentation):
    """Keeps int(ratio · N) + 1 connected nodes of every graph of N nodes (You et al., 2020).

    The kept set grows from a uniformly drawn node by one uniformly drawn neighbour of the set at a time, edges taken as
    undirected; if the first node's component is smaller, it is kept whole. In GraphCL's code the set of candidates is
    never extended beyond the neighbours of the first node, so that its subgraphs are too small.

    The growth is found for all graphs at once, without a step a node: give every node an exponential delay and let it
    join so long after the first of its neighbours. As exponential delays have no memory, the next to join is at
    any time uniform among the set's neighbours; the kept nodes are the earliest.

    Shapes: a ``Batch`` of N graphs to a ``Batch`` of N graphs of at least one node, nodes in their old order, with
    ``x`` and ``edge_index`` only.

    Args:
        ratio: share of the nodes to keep, in [0, 1].

    Raises:
        ValueError: a ratio outside [0, 1].
    """

    def __init__(self, ratio: float = 0.2) -> None:
        super().__init__()
        self.ratio = _checked(ratio)

    def forward(self, batch: Batch, generator: Generator) -> Batch:
        device = generator.device
        sizes = batch.ptr.diff()  # [N]
        kept = (self.ratio * sizes.float()).long().add(1)[batch.batch]  # [nodes], how many of the node's graph
        first = torch.randint(_KEYS, sizes.shape, generator=generator, device=device) % sizes.clamp_min(1)
        place = torch.arange(len(batch.batch), device=device) - batch.ptr[batch.batch]  # [nodes], within the graph
        # Whole numbers of at least 1 make a node later than the one it joined after, so ties cannot tear a set apart.
        delay = torch.empty_like(place, dtype=torch.float32).exponential_(generator=generator).mul_(_TICKS).long() + 1
        joined = place == first[batch.batch]
        time = torch.where(joined, 0, _KEYS - 1)
        source, sink = torch.cat((batch.edge_index, batch.edge_index.flip(0)), dim=1)
        # Shortest paths by relaxing the edges of nodes that became earlier. A node this many hops away comes after as
        # many others, so it matters only if more than that are kept.
        for hops in count(1):
            active = (joined & (kept > hops)).index_select(0, source).nonzero().squeeze(1)
            if not len(active):
                break
            starts, ends = source.index_select(0, active), sink.index_select(0, active)
            earlier = time.scatter_reduce(0, ends, time.index_select(0, starts) + delay.index_select(0, ends), "amin")
            joined, time = earlier < time, earlier
        return _induced(batch, (_rank(time, batch) < kept) & (time < _KEYS - 1))


def _checked(ratio: float) -> float:
    if not 0 <= ratio <= 1:
        raise ValueError(f"ratio must be in [0, 1], got {ratio}")
    return ratio


def _rank(keys: Tensor, batch: Batch) -> Tensor:
    """The place of every node when the nodes of its graph are sorted by key, ``[nodes]``."""
    order = (batch.batch * _KEYS + keys).argsort()
    rank = torch.arange(len(keys), device=keys.device) - batch.ptr[batch.batch]  # of the sorted nodes
    return torch.empty_like(rank).scatter_(0, order, rank)


def _induced(batch: Batch, kept: Tensor) -> Batch:
    """The nodes of the mask ``kept``, ``[nodes]``, and the edges among them."""
    source, sink = batch.edge_index
    kept_edges = kept.index_select(0, source) & kept.index_select(0, sink)
    nodes = F.pad(kept.cumsum(0), (1, 0))  # [nodes + 1], kept nodes before each
    edges = F.pad(kept_edges.cumsum(0), (1, 0))
    x = batch.x.index_select(0, kept.nonzero().squeeze(1))
    stay = kept_edges.nonzero().squeeze(1)
    edge_index = torch.stack([nodes.index_select(0, ends.index_select(0, stay)) for ends in (source, sink)])
    return make_batch(x, edge_index, nodes[batch.ptr], edges[edge_pointer(batch)])
