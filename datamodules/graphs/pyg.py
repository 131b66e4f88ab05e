"""Graphs of PyTorch Geometric, as objects or in a file."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional as F

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass
class RawGraphs:
    """Graphs before their edges are put in order.

    Attributes:
        x: node features ``[nodes, F]``; None if there are none.
        edge_index: ends of every edge, as nodes of the whole set, ``[2, edges]``.
        node_ptr: the first node of every graph and, last, the number of nodes, ``[M + 1]``.
        labels: label of every graph, None where unknown.
    """

    x: Tensor | None
    edge_index: Tensor
    node_ptr: Tensor
    labels: list[Any]


def read_file(path: Path) -> RawGraphs:
    """Graphs saved by ``torch.save``: a list of ``Data``, or what ``InMemoryDataset.save`` leaves.

    Raises:
        ValueError: something else, or graphs with a fault.
    """
    from torch_geometric.data import Data
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.separate import separate
    from torch_geometric.data.storage import GlobalStorage

    try:
        with torch.serialization.safe_globals([Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]):
            content = torch.load(path, weights_only=True, map_location="cpu")
    except OSError:
        raise
    except Exception as error:  # a file of another kind raises nearly everything
        culprit = re.search(r"GLOBAL (\S+)", str(error))
        reason = f"it has a {culprit[1]}" if culprit else " ".join(str(error).split())[:200] or type(error).__name__
        raise ValueError(f"{path} holds no graphs that can be loaded without running code from it: {reason}") from error
    if isinstance(content, tuple) and len(content) >= 2 and isinstance(content[1], dict | None):
        data, slices = content[:2]
        data = Data.from_dict(data) if isinstance(data, dict) else data
        if isinstance(data, Data) and not slices:
            content = [data]  # of a single graph
        elif isinstance(data, Data) and all(isinstance(each, Tensor) for each in slices.values()):
            count = len(next(iter(slices.values()))) - 1
            content = [separate(Data, data, i, slices, decrement=False) for i in range(count)]
    if not isinstance(content, list):
        raise ValueError(f"{path} must hold a list of PyG Data objects, got {type(content).__name__}")
    return from_data(content, str(path))


def from_data(graphs: Iterable[Data], place: str) -> RawGraphs:
    """Graphs of PyG. A ``y`` that is no class, such as a number to predict, counts as no label, with a warning.

    Raises:
        ValueError: no graphs, or one with a fault, which it names.
    """
    features, edges, sizes, labels = [], [], [], []
    for i, graph in enumerate(graphs):
        try:
            sizes.append(_checked_size(graph))
            labels.append(_label(graph.y))
        except ValueError as error:
            raise ValueError(f"{place}, graph {i}: {error}") from error
        features.append(graph.x if graph.x is not None and graph.x.shape[1] else None)
        edges.append(torch.zeros(2, 0, dtype=torch.long) if graph.edge_index is None else graph.edge_index)
    if not sizes:
        raise ValueError(f"{place} has no graphs")
    if any(label is NO_CLASS for label in labels):
        warnings.warn(f"{place}: y is no class, one whole number a graph, so no label is used", stacklevel=2)
        labels = [None] * len(labels)
    known = {label for label in labels if label is not None}
    if len(known) > 2 or known == {-1}:  # −1 and another one are two classes
        labels = [None if label == -1 else label for label in labels]
    without = [i for i, x in enumerate(features) if x is None]
    if without and len(without) < len(features):
        raise ValueError(f"{place}, graph {without[0]}: it has no node features x, others have some")
    widths = {x.shape[1] for x in features if x is not None}
    if len(widths) > 1:
        raise ValueError(f"{place}: graphs need one common number of node features, got {sorted(widths)}")
    node_ptr = F.pad(torch.tensor(sizes).cumsum(0), (1, 0))
    counts = torch.tensor([edge_index.shape[1] for edge_index in edges])
    return RawGraphs(
        None if without else torch.cat([x.float() for x in features if x is not None]),
        torch.cat(edges, dim=1) + node_ptr[:-1].repeat_interleave(counts),
        node_ptr,
        labels,
    )


NO_CLASS = object()
"""What stands for a label that is a number to predict."""


def _checked_size(graph: Any) -> int:
    """The number of nodes of a graph without a fault."""
    from torch_geometric.data import Data

    if not isinstance(graph, Data):
        raise ValueError(f"expected a PyG Data object, got {type(graph).__name__}")
    x, edge_index = graph.x, graph.edge_index
    for name, value in (("x", x), ("edge_index", edge_index)):
        if value is not None and not isinstance(value, Tensor):
            raise ValueError(f"{name} must be a tensor, got {type(value).__name__}")
    if x is not None and x.ndim != 2:
        raise ValueError(f"x must be [nodes, F], got shape {list(x.shape)}")
    if x is not None and not x.float().isfinite().all():
        node, column = (~x.float().isfinite()).nonzero()[0].tolist()
        raise ValueError(f"feature {column} of node {node} is {float(x[node, column])}, expected a finite number")
    if edge_index is not None and (edge_index.ndim != 2 or len(edge_index) != 2 or edge_index.dtype != torch.long):
        raise ValueError(f"edge_index must be int64 [2, edges], got {edge_index.dtype} {list(edge_index.shape)}")
    size = len(x) if x is not None else graph.num_nodes
    if not size:
        raise ValueError("it has no nodes; say num_nodes if it has no x")
    if edge_index is not None:
        strays = ((edge_index < 0) | (edge_index >= size)).any(dim=0).nonzero().flatten()
        if len(strays):
            raise ValueError(f"edge {int(strays[0])} joins nodes {edge_index[:, strays[0]].tolist()} of {size}")
    return int(size)


def _label(y: Any) -> Any:
    """A class; None for none."""
    if y is None:
        return None
    try:
        y = torch.as_tensor(y)
    except (TypeError, RuntimeError, ValueError) as error:
        raise ValueError(f"y must be a whole number, got {y!r}: number the classes") from error
    if y.numel() != 1 or y.item() != y.long().item():
        return NO_CLASS
    return int(y.item())
