"""Fields of a single graph of PyTorch Geometric, checked."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from datamodules.room import check_room

NO_CLASS = object()
"""What stands for a label that is a number to predict."""
_NODE, _FEATURE, _EDGE = 64, 4, 16
"""Bytes that a node, a feature and an edge take at least: pointers and a constant feature, float32, two int64."""


def check_graph(graph: Any) -> None:
    """Raises ValueError for anything but a ``Data``."""
    from torch_geometric.data import Data

    if not isinstance(graph, Data):
        raise ValueError(f"expected a PyG Data object, got {type(graph).__name__}")


def features_of(graph: Any) -> Tensor | None:
    """Features of the nodes as they are, ``[nodes, F]``; None if there are none."""
    x = graph.x
    if x is None:
        return None
    _check_dense("x", x)
    if x.ndim != 2:
        raise ValueError(f"x must be [nodes, F], got shape {list(x.shape)}")
    if x.is_complex():
        raise ValueError("x has complex numbers: make real features of them")
    return x


def edges_of(graph: Any) -> Tensor:
    """The two nodes of every edge ``[2, edges]``, of ``edge_index`` or else of a sparse adjacency.

    ``adj_t`` is transposed, as ``ToSparseTensor`` makes it; ``adj`` is not.
    """
    edge_index = graph.edge_index
    if edge_index is not None:
        _check_dense("edge_index", edge_index)
        if edge_index.ndim != 2 or len(edge_index) != 2 or edge_index.dtype != torch.long:
            raise ValueError(f"edge_index must be int64 [2, edges], got {edge_index.dtype} {list(edge_index.shape)}")
        return edge_index
    for name in ("adj_t", "adj"):
        if name in graph:
            edges = _entries(name, graph[name])
            return edges.flip(0) if name == "adj_t" else edges
    return torch.zeros(2, 0, dtype=torch.long)


def size_of(graph: Any, x: Tensor | None) -> int:
    """The number of nodes."""
    size = graph.num_nodes if x is None else len(x)
    if isinstance(size, Tensor) and size.numel() == 1 and not size.is_floating_point():
        size = int(size)
    if not isinstance(size, int | None):
        raise ValueError(f"num_nodes must be a whole number, got {size!r}")
    if not size:
        raise ValueError("it has no nodes; say num_nodes if it has no x")
    if size < 0:
        raise ValueError(f"num_nodes must be positive, got {size}")
    return size


def room_of(x: Tensor | None, edge_index: Tensor, size: int) -> int:
    """Bytes that a graph takes at least."""
    return _NODE * size + _FEATURE * (0 if x is None else x.numel()) + _EDGE * edge_index.shape[1]


def check_values(x: Tensor | None, edge_index: Tensor, size: int) -> None:
    """Raises ValueError for a feature that is not finite in float32, and for an edge to a node that isn't there."""
    if x is not None:
        broken = (~x.float().isfinite()).nonzero()
        if len(broken):
            node, column = broken[0].tolist()
            raise ValueError(f"feature {column} of node {node} is {float(x[node, column])}, expected a finite number")
    strays = ((edge_index < 0) | (edge_index >= size)).any(dim=0).nonzero().flatten()
    if len(strays):
        raise ValueError(f"edge {int(strays[0])} joins nodes {edge_index[:, strays[0]].tolist()} of {size}")


def label_of(y: Any) -> Any:
    """A class; None for none, and :data:`NO_CLASS` for a number to predict or several."""
    if y is None:
        return None
    if isinstance(y, Tensor):
        _check_dense("y", y)
    try:
        y = torch.as_tensor(y)
    except (TypeError, RuntimeError, ValueError) as error:
        raise ValueError(f"y must be a whole number, got {y!r}: number the classes") from error
    if y.numel() != 1 or y.is_complex() or not y.isfinite() or y.item() != y.long().item():
        return NO_CLASS
    return int(y.item())


def _check_dense(name: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise ValueError(f"{name} must be a tensor, got {type(value).__name__}")
    if value.layout != torch.strided:
        raise ValueError(f"{name} is sparse ({value.layout}), expected a dense tensor")


def _entries(name: str, adjacency: Any) -> Tensor:
    """Rows and columns of what a sparse matrix holds, ``[2, entries]``."""
    from torch_geometric.utils import is_sparse, to_edge_index

    if not is_sparse(adjacency):
        what = f"a dense tensor {list(adjacency.shape)}" if isinstance(adjacency, Tensor) else type(adjacency).__name__
        raise ValueError(f"its edges are {name}, {what}: expected edge_index, or a sparse {name}")
    if isinstance(adjacency, Tensor):
        check_room(name, _EDGE * adjacency._nnz())
    entries: Tensor = to_edge_index(adjacency)[0]
    return entries
