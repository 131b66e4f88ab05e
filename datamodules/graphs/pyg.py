"""Graphs of PyTorch Geometric, as objects or in a file."""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional as F

from datamodules.graphs.fields import (
    NO_CLASS,
    check_graph,
    check_values,
    edges_of,
    features_of,
    label_of,
    room_of,
    size_of,
)
from datamodules.room import check_room

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

    check_unpacked(path)
    try:
        safe = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]
        with torch.serialization.safe_globals(safe), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # advice on how to call torch
            content = torch.load(path, weights_only=True, map_location="cpu")
    except OSError:
        raise
    except Exception as error:  # a file of another kind raises nearly everything
        reason = reason_of(error)
        raise ValueError(f"{path} holds no graphs that can be loaded without running code from it: {reason}") from error
    if isinstance(content, tuple) and len(content) >= 2 and isinstance(content[1], dict | None):
        data, slices = content[:2]
        data = Data.from_dict(data) if isinstance(data, dict) else data
        if isinstance(data, Data) and not slices:
            content = [data]  # of a single graph
        elif isinstance(data, Data) and all(isinstance(each, Tensor) for each in slices.values()):
            count = len(next(iter(slices.values()))) - 1
            check_room(f"the {count:,} graphs of {path}", 1024 * count)  # objects of Python, whatever is in them
            try:
                content = [separate(Data, data, i, slices, decrement=False) for i in range(count)]
            except Exception as error:  # slices that don't fit the data raise nearly everything
                raise ValueError(f"{path}: its slices don't cut its data into graphs") from error
    if not isinstance(content, list):
        raise ValueError(f"{path} must hold a list of PyG Data objects, got {type(content).__name__}")
    return from_data(content, str(path))


def check_unpacked(path: Path) -> None:
    """Raises ValueError for a file of ``torch.save`` that unpacks to more than data may take."""
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
    except zipfile.BadZipFile:
        return  # of another kind, or damaged
    check_room(f"{path} unpacked", unpacked)


def reason_of(error: Exception) -> str:
    """Why torch doesn't load a file, without its advice to run code from it."""
    culprit = re.search(r"GLOBAL (\S+)", str(error))
    if culprit:
        left = culprit[1].endswith(".AttrType")
        remedy = ", which transforms leave in them: save Data.from_dict(graph.to_dict()) of each graph" if left else ""
        return f"it has a {culprit[1]}{remedy}"
    if "TorchScript" in str(error):
        return "it is a model in TorchScript"
    text = str(error).rpartition("WeightsUnpickler error: ")[2]
    return re.split(r"[\n;]|\. ", text.strip())[0][:200] or type(error).__name__


def from_data(graphs: Iterable[Data], place: str) -> RawGraphs:
    """Graphs of PyG. A ``y`` that is no class, such as a number to predict, counts as no label, with a warning.

    Raises:
        ValueError: no graphs, or one with a fault, which it names.
    """
    features, edges, sizes, labels, room = [], [], [], [], 0
    for i, graph in enumerate(graphs):
        try:
            check_graph(graph)
            x, edge_index = features_of(graph), edges_of(graph)
            size = size_of(graph, x)
            room += room_of(x, edge_index, size)
            check_room("it and the graphs before it", room)  # a file of a few bytes may say any number
            check_values(x, edge_index, size)
            labels.append(label_of(graph.y))
        except ValueError as error:
            raise ValueError(f"{place}, graph {i}: {error}") from error
        features.append(x if x is not None and x.shape[1] else None)
        edges.append(edge_index)
        sizes.append(size)
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
