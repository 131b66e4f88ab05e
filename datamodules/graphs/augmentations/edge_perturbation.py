"""Rewiring of a few edges of every graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Generator, Tensor

from datamodules.graphs.augmentations.sampling import (
    KEYS,
    GraphAugmentation,
    check_ratio,
    draw_distinct,
    nth_absent,
    part_of,
    rank_within,
)
from datamodules.graphs.packed import edge_pointer, make_batch

if TYPE_CHECKING:
    from torch_geometric.data import Batch

_LOOP = KEYS - 1  # what self-loops have for the number of a pair


class EdgePerturbation(GraphAugmentation):
    """Removes int(ratio · E) of a graph's E edges and adds as many between nodes that had none (You et al., 2020).

    An edge is a pair of different nodes joined in one direction or both. The removed ones are drawn uniformly without
    replacement, and so are the added ones, from the pairs of nodes of the graph that are not joined; a graph with fewer
    such pairs loses no more edges than it gains. An added edge has the direction, or both, of the one in whose place it
    comes, so that the number of directed edges stays. Self-loops stay too. GraphCL's code removes directed edges and
    adds none.

    Shapes: a ``Batch`` of N graphs to a ``Batch`` of N graphs with the same nodes and as many edges, in the order of
    the nodes that they lead to, with ``x`` and ``edge_index`` only.

    Attributes:
        added_edges: directed edges added so far, for who counts them.

    Args:
        ratio: fraction of the edges to replace, in [0, 1].

    Raises:
        ValueError: a ratio outside [0, 1].
    """

    def __init__(self, ratio: float = 0.1) -> None:
        super().__init__()
        self.ratio = check_ratio(ratio)
        self.added_edges = 0

    def forward(self, batch: Batch, generator: Generator, chosen: Tensor | None = None) -> Batch:
        """Perturbs the graphs of the mask ``chosen``, ``[N]``, or all."""
        graphs, sizes = batch.num_graphs, batch.ptr.diff()
        owner = batch.batch.index_select(0, batch.edge_index[0])  # [edges]
        own = torch.arange(len(owner), device=owner.device)  # edges of chosen graphs
        if chosen is not None:
            own = chosen.index_select(0, owner).nonzero().squeeze(1)
            owner = owner.index_select(0, own)
        source, sink = batch.edge_index.index_select(1, own) - batch.ptr.index_select(0, owner)
        number = _number(source, sink).where(source != sink, _LOOP)
        pairs, pair_of_edge = _distinct(owner * KEYS + number)  # [pairs], [edges]
        joined = pairs % KEYS != _LOOP
        owner_of_pair = pairs // KEYS
        edges = owner_of_pair[joined].bincount(minlength=graphs)  # [N]
        free = sizes * (sizes - 1) // 2 - edges
        count = part_of(edges, self.ratio).minimum(free)

        keys = torch.randint(KEYS - 1, pairs.shape, generator=generator, device=generator.device)
        rank = rank_within(owner_of_pair, keys.where(joined, KEYS - 1), graphs)  # [pairs]
        added = nth_absent(pairs[joined], draw_distinct(count, free, generator), graphs)  # [added], graph after graph
        ends = _ends(added % KEYS) + batch.ptr.index_select(0, added // KEYS)  # [2, added]

        moved = (rank < count.index_select(0, owner_of_pair)).index_select(0, pair_of_edge).nonzero().squeeze(1)
        pair = pair_of_edge.index_select(0, moved)
        place = (count.cumsum(0) - count).index_select(0, owner_of_pair.index_select(0, pair)) + rank[pair]
        low, high = ends.index_select(1, place)
        upward = source.index_select(0, moved) < sink.index_select(0, moved)
        new = torch.stack((torch.where(upward, low, high), torch.where(upward, high, low)))
        edge_index = batch.edge_index.index_copy(1, own.index_select(0, moved), new)
        order = edge_index[1].int().sort(stable=True).indices
        self.added_edges += len(moved)
        return make_batch(batch.x, edge_index.index_select(1, order), batch.ptr, edge_pointer(batch))


def _number(one: Tensor, other: Tensor) -> Tensor:
    """The number of a pair in the order (0, 1), (0, 2), (1, 2), (0, 3) …, whatever the number of nodes."""
    low, high = torch.minimum(one, other), torch.maximum(one, other)
    return high * (high - 1) // 2 + low


def _ends(number: Tensor) -> Tensor:
    """The pairs of these numbers, ``[2, M]``, the lower node first."""
    high = ((1 + (1 + 8 * number.float()).sqrt()) / 2).long()
    high -= (high * (high - 1) // 2 > number).long()  # where the root was rounded up
    high += (high * (high + 1) // 2 <= number).long()  # or down
    return torch.stack((number - high * (high - 1) // 2, high))


def _distinct(keys: Tensor) -> tuple[Tensor, Tensor]:
    """The different keys in order, and the place of every key among them."""
    ordered, order = keys.sort()
    new = torch.ones_like(ordered, dtype=torch.bool)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new], torch.empty_like(order).scatter_(0, order, new.cumsum(0) - 1)
