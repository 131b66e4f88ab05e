"""Many graphs of different sizes as one set of tensors."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from datamodules.augmentations.base import merge, select

if TYPE_CHECKING:
    from torch_geometric.data import Batch, Data


class PackedGraphs:
    """M graphs, one after the other in the same tensors; ``graphs[index]`` is a PyG ``Batch`` of some of them.

    Cutting out a batch costs a few tensor operations, whatever the number of graphs.

    Args:
        x: node features ``[nodes, F]``.
        edge_index: the two ends of every directed edge, as rows of ``x``, ``[2, edges]``.
        node_ptr: the first node of every graph and, last, the number of nodes, ``[M + 1]``.
        edge_ptr: the first edge of every graph and, last, the number of edges, ``[M + 1]``.

    Raises:
        ValueError: wrong shapes or types, pointers that do not fit the nodes or edges, a graph without nodes, an edge
            that leaves its graph.
    """

    def __init__(self, x: Tensor, edge_index: Tensor, node_ptr: Tensor, edge_ptr: Tensor) -> None:
        if x.ndim != 2:
            raise ValueError(f"x must be [nodes, F], got shape {list(x.shape)}")
        if edge_index.ndim != 2 or len(edge_index) != 2 or edge_index.dtype != torch.long:
            raise ValueError(f"edge_index must be int64 [2, edges], got {edge_index.dtype} {list(edge_index.shape)}")
        for name, ptr, total in (("node_ptr", node_ptr, len(x)), ("edge_ptr", edge_ptr, edge_index.shape[1])):
            if ptr.ndim != 1 or len(ptr) < 2 or ptr.dtype != torch.long:
                raise ValueError(f"{name} must be int64 [M + 1] with M at least 1, got {ptr.dtype} {list(ptr.shape)}")
            if ptr[0] != 0 or ptr[-1] != total or (ptr.diff() < 0).any():
                raise ValueError(f"{name} must rise from 0 to {total}, got {ptr.tolist() if len(ptr) < 20 else ptr}")
        if len(node_ptr) != len(edge_ptr):
            raise ValueError(f"node_ptr is for {len(node_ptr) - 1} graphs, edge_ptr for {len(edge_ptr) - 1}")
        empty = (node_ptr.diff() == 0).nonzero().flatten()
        if len(empty):
            raise ValueError(f"a graph needs at least one node, graph {int(empty[0])} has none")
        first, last = (ptr.repeat_interleave(edge_ptr.diff()) for ptr in (node_ptr[:-1], node_ptr[1:]))
        strays = ((edge_index < first) | (edge_index >= last)).any(dim=0).nonzero().flatten()
        if len(strays):
            edge = edge_index[:, strays[0]].tolist()
            raise ValueError(f"edge {int(strays[0])} joins nodes {edge}, which are not both in the edge's graph")
        self.x = x
        self.edge_index = edge_index
        self.node_ptr = node_ptr
        self.edge_ptr = edge_ptr

    @classmethod
    def from_data_list(cls, graphs: Sequence[Data]) -> PackedGraphs:
        """Packs the ``x`` and ``edge_index`` of PyG ``Data`` objects.

        Raises:
            ValueError: no graphs, or graphs without node features or with different numbers of them.
        """
        widths = []
        for i, graph in enumerate(graphs):
            if graph.x is None or graph.x.ndim != 2:
                raise ValueError(f"graph {i} needs node features x [nodes, F], got {graph}")
            widths.append(graph.x.shape[1])
        if len(set(widths)) != 1:
            raise ValueError(
                f"graphs need one common number of node features, got {sorted(set(widths)) or 'no graphs'}"
            )
        edges = [torch.zeros(2, 0, dtype=torch.long) if g.edge_index is None else g.edge_index for g in graphs]
        node_ptr = _pointer(torch.tensor([len(graph.x) for graph in graphs]))
        edge_ptr = _pointer(torch.tensor([edge_index.shape[1] for edge_index in edges]))
        local = torch.cat(edges, dim=1)
        return cls(
            torch.cat([graph.x for graph in graphs]),
            local + node_ptr[:-1].repeat_interleave(edge_ptr.diff()).to(local.device),
            node_ptr.to(local.device),
            edge_ptr.to(local.device),
        )

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    def __getitem__(self, index: Tensor) -> Batch:
        """The graphs at ``index``, ``[N]`` or a mask ``[M]``, in its order, as a ``Batch`` on this set's device."""
        index = torch.arange(len(self), device=self.x.device)[index.to(self.x.device)]
        return _gather(self.x, self.edge_index, self.node_ptr, self.edge_ptr, index)

    def to(self, device: torch.device | str) -> PackedGraphs:
        """This set on ``device``."""
        return PackedGraphs(*(t.to(device) for t in (self.x, self.edge_index, self.node_ptr, self.edge_ptr)))


def make_batch(x: Tensor, edge_index: Tensor, node_ptr: Tensor, edge_ptr: Tensor) -> Batch:
    """A ``Batch`` from the tensors of a :class:`PackedGraphs`, unchecked."""
    from torch_geometric.data import Batch

    owner = torch.arange(len(node_ptr) - 1, device=x.device).repeat_interleave(node_ptr.diff(), output_size=len(x))
    batch = Batch(x=x, edge_index=edge_index, batch=owner, ptr=node_ptr)
    # What Batch.from_data_list leaves behind; to_data_list and batch[i] read it.
    batch._slice_dict = {"x": node_ptr, "edge_index": edge_ptr}
    batch._inc_dict = {"x": torch.zeros_like(node_ptr[1:]), "edge_index": node_ptr[:-1]}
    return batch


def edge_pointer(batch: Batch) -> Tensor:
    """The first edge of each of the N graphs and, last, the number of edges, ``[N + 1]``; edges lie graph by graph."""
    owner = batch.batch.index_select(0, batch.edge_index[0])
    return torch.searchsorted(owner, torch.arange(batch.num_graphs + 1, device=owner.device))


class GraphBatch(metaclass=ABCMeta):  # noqa: B024  (only asked whether a class is one)
    """PyG's ``Batch`` for those who dispatch on it, without importing PyG."""

    @classmethod
    def __subclasshook__(cls, subclass: type) -> bool:
        names = {f"{base.__module__}.{base.__name__}" for base in subclass.__mro__}
        return "torch_geometric.data.batch.Batch" in names


@select.register(GraphBatch)
def select_graphs(batch: Batch, index: Tensor) -> Batch:
    """The graphs at ``index``, ``[n]``, of a batch of N graphs as a batch of n graphs."""
    return _gather(batch.x, batch.edge_index, batch.ptr, edge_pointer(batch), index)


@merge.register(GraphBatch)
def merge_graphs(first: Batch, *others: Batch, positions: Tensor) -> Batch:
    """One batch of the N graphs of several batches, of which graph i in sequence goes to ``positions[i]``, ``[N]``."""
    batches = (first, *others)
    edge_index, node_ptr, edge_ptr, nodes, edges = [], [], [], 0, 0
    for batch in batches:
        edge_index.append(batch.edge_index + nodes)
        node_ptr.append(batch.ptr[:-1] + nodes)
        edge_ptr.append(edge_pointer(batch)[:-1] + edges)
        nodes += len(batch.x)
        edges += batch.edge_index.shape[1]
    return _gather(
        torch.cat([batch.x for batch in batches]),
        torch.cat(edge_index, dim=1),
        F.pad(torch.cat(node_ptr), (0, 1), value=nodes),
        F.pad(torch.cat(edge_ptr), (0, 1), value=edges),
        positions.argsort(),
    )


def _pointer(counts: Tensor) -> Tensor:
    return F.pad(counts.cumsum(0), (1, 0))  # [N + 1]


def _gather(x: Tensor, edge_index: Tensor, node_ptr: Tensor, edge_ptr: Tensor, index: Tensor) -> Batch:
    """The graphs at ``index``, ``[N]``."""
    new_node_ptr = _pointer(node_ptr.diff()[index])
    new_edge_ptr = _pointer(edge_ptr.diff()[index])
    node_shift = new_node_ptr[:-1] - node_ptr[index]  # [N], how far the nodes of each graph move
    edge_shift = new_edge_ptr[:-1] - edge_ptr[index]
    node_shift_of_edge = node_shift.repeat_interleave(new_edge_ptr.diff())
    edge_shift_of_edge = edge_shift.repeat_interleave(new_edge_ptr.diff(), output_size=len(node_shift_of_edge))
    node_shift_of_node = node_shift.repeat_interleave(new_node_ptr.diff())
    nodes = torch.arange(len(node_shift_of_node), device=x.device) - node_shift_of_node
    edges = torch.arange(len(edge_shift_of_edge), device=x.device) - edge_shift_of_edge
    shifted = edge_index.index_select(1, edges).add_(node_shift_of_edge)
    return make_batch(x.index_select(0, nodes), shifted, new_node_ptr, new_edge_ptr)
