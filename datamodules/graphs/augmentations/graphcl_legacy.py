"""What GraphCL's code for TU data sets really does, for comparison with what its paper says.

Each differs from the augmentation of the same name as the docstring says. Graphs are expected with the self-loops that
``TUDataset`` adds for this purpose. Ratios are those of the code: 10 % of nodes or edges, 20 % for subgraphs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from datamodules.graphs.augmentations.sampling import KEYS, GraphAugmentation, draw_ranks, rank_within
from datamodules.graphs.packed import edge_pointer, make_batch

if TYPE_CHECKING:
    from torch_geometric.data import Batch


class LegacyNodeDrop(GraphAugmentation):
    """Cuts all edges of int(N / 10) nodes, which stay."""

    def forward(self, batch: Batch, generator: Generator) -> Batch:
        sizes = batch.ptr.diff()
        return _cut(batch, draw_ranks(batch.batch, len(sizes), generator) >= (sizes // 10)[batch.batch])


class LegacySubgraph(GraphAugmentation):
    """Cuts all edges but those among one node and at most int(0.2 N) of its neighbours.

    Neighbours are drawn with replacement until enough are had, at most N times; the node's self-loop makes it a
    neighbour of itself. Neighbours of neighbours are never candidates.
    """

    def forward(self, batch: Batch, generator: Generator) -> Batch:
        sizes, device = batch.ptr.diff(), generator.device
        owner = batch.batch
        first = (
            torch.randint(KEYS, sizes.shape, generator=generator, device=device) % sizes.clamp_min(1) + batch.ptr[:-1]
        )
        source, sink = batch.edge_index
        candidates = sink[source == first[owner[source]]]  # graph after graph
        degree = owner[candidates].bincount(minlength=len(sizes))
        # A graph has as many draws as nodes; a node is drawn as early as the first draw that hits it.
        graph = owner[degree[owner] > 0]
        hit = torch.randint(KEYS, graph.shape, generator=generator, device=device) % degree[graph]
        hit = candidates[hit + (degree.cumsum(0) - degree)[graph]]
        draw = torch.arange(len(graph), device=device)
        never = KEYS - 2
        time = torch.full_like(owner, never).scatter_reduce(0, hit, draw, "amin")
        time[first[sizes > 0]] = -1
        earliest = rank_within(owner, time + 1, len(sizes)) <= (sizes // 5)[owner]
        return _cut(batch, earliest & (time < never))


class LegacyEdgePerturbation(GraphAugmentation):
    """Removes int(E / 10) of the E directed edges, self-loops among them, and adds none."""

    def forward(self, batch: Batch, generator: Generator) -> Batch:
        edge_ptr = edge_pointer(batch)
        owner = batch.batch.index_select(0, batch.edge_index[0])
        stay = draw_ranks(owner, batch.num_graphs, generator) >= (edge_ptr.diff() // 10)[owner]
        return _with_edges(batch, stay)


class WithoutIsolated(GraphAugmentation):
    """Removes nodes without any edge, be it a self-loop, whether an augmentation cut them off or not; then self-loops.

    A graph may lose all its nodes. It keeps its place in the batch, which in the original code it may lose.
    """

    def forward(self, batch: Batch, generator: Generator) -> Batch:
        stay = torch.zeros_like(batch.batch, dtype=torch.bool)
        stay[batch.edge_index.flatten()] = True
        before = F.pad(stay.cumsum(0), (1, 0))  # [nodes + 1], nodes before each that stay
        plain = _with_edges(batch, batch.edge_index[0] != batch.edge_index[1])
        edge_index = before[:-1][plain.edge_index]
        return make_batch(batch.x[stay], edge_index, before[batch.ptr], edge_pointer(plain))


def _cut(batch: Batch, mask: Tensor) -> Batch:
    """The batch without the edges of nodes outside a mask, ``[nodes]``."""
    return _with_edges(batch, mask[batch.edge_index].all(dim=0))


def _with_edges(batch: Batch, mask: Tensor) -> Batch:
    """The batch with the edges of a mask alone, ``[edges]``."""
    edges = F.pad(mask.cumsum(0), (1, 0))
    return make_batch(batch.x, batch.edge_index[:, mask], batch.ptr, edges[edge_pointer(batch)])
