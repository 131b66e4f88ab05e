"""Augmentations of graphs."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from datamodules.graphs.augmentations.sampling import (
    KEYS,
    GraphAugmentation,
    check_ratio,
    draw_ranks,
    part_of,
    rank_within,
)
from datamodules.graphs.packed import edge_pointer, make_batch

if TYPE_CHECKING:
    from torch_geometric.data import Batch

_TICKS = 2**20  # units of time in the mean delay of Subgraph
_NEVER = KEYS - 1


class InducedSubgraph(GraphAugmentation):
    """Reduces every graph to some of its nodes and the edges among them. A subclass says which."""

    def node_mask(self, batch: Batch, generator: Generator, chosen: Tensor | None = None) -> Tensor:
        """Which nodes stay, ``[nodes]``: all of graphs outside the mask ``chosen``, ``[N]``; None chooses all."""
        raise NotImplementedError

    def forward(self, batch: Batch, generator: Generator) -> Batch:
        return induced(batch, self.node_mask(batch, generator))


class NodeDrop(InducedSubgraph):
    """Drops int(ratio · N) nodes of every graph of N nodes, drawn uniformly without replacement (You et al., 2020).

    A dropped node leaves the batch together with its edges, so that read-outs don't count it. GraphCL's code cuts only
    the edges of the drawn nodes, and then removes whatever has no edge left, nodes that were not drawn included.

    Shapes: a ``Batch`` of N graphs to a ``Batch`` of N graphs of at least one node, nodes in their old order, with
    ``x`` and ``edge_index`` only.

    Args:
        ratio: fraction of the nodes to drop, in [0, 1]. One node always stays.

    Raises:
        ValueError: a ratio outside [0, 1].
    """

    def __init__(self, ratio: float = 0.1) -> None:
        super().__init__()
        self.ratio = check_ratio(ratio)

    def node_mask(self, batch: Batch, generator: Generator, chosen: Tensor | None = None) -> Tensor:
        sizes = batch.ptr.diff()  # [N]
        dropped = _of_chosen(part_of(sizes, self.ratio).minimum(sizes - 1), chosen)
        return draw_ranks(batch.batch, len(sizes), generator) >= dropped.index_select(0, batch.batch)


class AttributeMask(GraphAugmentation):
    """Replaces all features of int(ratio · N) nodes of every graph of N nodes by normal noise (You et al., 2020).

    The nodes are drawn uniformly without replacement. The noise has mean 0.5 and deviation 0.5 as in GraphCL's code;
    the paper doesn't say what masked features become.

    Shapes: a ``Batch`` of N graphs to a ``Batch`` of N graphs with the same nodes and edges, with ``x`` and
    ``edge_index`` only.

    Args:
        ratio: fraction of the nodes to mask, in [0, 1].

    Raises:
        ValueError: a ratio outside [0, 1].
    """

    def __init__(self, ratio: float = 0.1) -> None:
        super().__init__()
        self.ratio = check_ratio(ratio)

    def forward(self, batch: Batch, generator: Generator, chosen: Tensor | None = None) -> Batch:
        """Masks nodes of the graphs of the mask ``chosen``, ``[N]``, or of all."""
        sizes = batch.ptr.diff()  # [N]
        count = _of_chosen(part_of(sizes, self.ratio), chosen)
        masked = draw_ranks(batch.batch, len(sizes), generator) < count.index_select(0, batch.batch)
        nodes = masked.nonzero().squeeze(1)
        noise = batch.x.new_empty(len(nodes), batch.x.shape[1]).normal_(0.5, 0.5, generator=generator)
        return make_batch(batch.x.index_copy(0, nodes, noise), batch.edge_index, batch.ptr, edge_pointer(batch))


class Subgraph(InducedSubgraph):
    """Keeps int(ratio · N) + 1 connected nodes of every graph of N nodes (You et al., 2020).

    The set of nodes grows from a uniformly drawn node by one uniformly drawn neighbour of the set at a time, edges
    taken as undirected; if the first node's component is smaller, all of it stays. In GraphCL's code the set of
    candidates is never extended beyond the neighbours of the first node, so that its subgraphs are too small.

    The growth is found for all graphs at once, without a step a node: give every node an exponential delay and let it
    join so long after the first of its neighbours. As exponential delays have no memory, the next to join is at
    any time uniform among the set's neighbours; the nodes that stay are the earliest.

    Shapes: a ``Batch`` of N graphs to a ``Batch`` of N graphs of at least one node, nodes in their old order, with
    ``x`` and ``edge_index`` only.

    Args:
        ratio: fraction of the nodes that stay, in [0, 1].

    Raises:
        ValueError: a ratio outside [0, 1].
    """

    def __init__(self, ratio: float = 0.2) -> None:
        super().__init__()
        self.ratio = check_ratio(ratio)

    def node_mask(self, batch: Batch, generator: Generator, chosen: Tensor | None = None) -> Tensor:
        device = generator.device
        sizes = batch.ptr.diff()  # [N]
        wanted = _of_chosen(part_of(sizes, self.ratio).add(1).minimum(sizes), chosen)  # [N]
        wanted = wanted.index_select(0, batch.batch)  # [nodes], of the node's graph
        first = torch.randint(KEYS, sizes.shape, generator=generator, device=device) % sizes.clamp_min(1)
        # Whole numbers of at least 1 make a node later than the one it joined after, so ties cannot tear a set apart.
        delay = torch.empty(batch.batch.shape, device=device).exponential_(generator=generator).mul_(_TICKS).long() + 1
        time = torch.full_like(delay, _NEVER)
        time[(first + batch.ptr[:-1])[sizes > 0]] = 0
        joined, latest = time == 0, time + 1
        source, sink = _both_ways(batch.edge_index)
        # Shortest paths by relaxing the edges of nodes that became earlier. A node this many hops away comes after as
        # many others, so it matters only if more than that are wanted.
        for hops in count(1):
            if hops & (hops - 1) == 0:  # now and then
                # edges of graphs that are done are left behind,
                going = (wanted > hops).index_select(0, source).nonzero().squeeze(1)
                source, sink = source.index_select(0, going), sink.index_select(0, going)
            if hops & (hops - 1) == 0 and hops > 2:
                # and nodes later than as many others as are wanted: whatever joins after them is later still
                latest = _last_of_first(time, wanted, batch)
            useful = (wanted > hops) & (time < latest)
            active = (joined & useful).index_select(0, source).nonzero().squeeze(1)
            if not len(active):
                break
            starts, ends = source.index_select(0, active), sink.index_select(0, active)
            earlier = time.scatter_reduce(0, ends, time.index_select(0, starts) + delay.index_select(0, ends), "amin")
            joined, time = earlier < time, earlier
        mask = (rank_within(batch.batch, time, len(sizes)) < wanted) & (time < _NEVER)
        return mask if chosen is None else mask | ~chosen.index_select(0, batch.batch)


def _last_of_first(time: Tensor, wanted: Tensor, batch: Batch) -> Tensor:
    """The time of the last of the wanted earliest nodes of a node's graph, ``[nodes]``."""
    ordered = (batch.batch * KEYS + time).sort().values
    last = (batch.ptr.index_select(0, batch.batch) + wanted - 1).clamp_min(0)
    return ordered.index_select(0, last) % KEYS


def _of_chosen(counts: Tensor, chosen: Tensor | None) -> Tensor:
    """Counts of graphs ``[N]``, 0 outside the mask ``chosen``."""
    return counts if chosen is None else counts * chosen


def _both_ways(edge_index: Tensor) -> Tensor:
    """Every edge in both directions, ``[2, edges]``; as it is if it has both and is in order of the second row."""
    ordered, order = edge_index[0].int().sort(stable=True)
    if torch.equal(ordered.long(), edge_index[1]) and torch.equal(edge_index[1].index_select(0, order), edge_index[0]):
        return edge_index
    return torch.cat((edge_index, edge_index.flip(0)), dim=1)


def induced(batch: Batch, mask: Tensor) -> Batch:
    """The nodes of a mask, ``[nodes]``, and the edges among them."""
    source, sink = batch.edge_index
    among = mask.index_select(0, source) & mask.index_select(0, sink)  # [edges]
    nodes = F.pad(mask.cumsum(0), (1, 0))  # [nodes + 1], nodes of the mask before each
    edges = F.pad(among.cumsum(0), (1, 0))
    x = batch.x.index_select(0, mask.nonzero().squeeze(1))
    stay = among.nonzero().squeeze(1)
    edge_index = torch.stack([nodes.index_select(0, ends.index_select(0, stay)) for ends in (source, sink)])
    return make_batch(x, edge_index, nodes[batch.ptr], edges[edge_pointer(batch)])
