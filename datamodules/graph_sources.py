"""Graphs as users have them: PyG objects, files of them, and tables of nodes and edges."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional as F

if TYPE_CHECKING:
    import pandas as pd
    from torch_geometric.data import Data


@dataclass
class RawGraphs:
    """Graphs before their edges are put in order.

    Attributes:
        x: node features ``[nodes, F]``; None if there are none.
        edge_index: ends of every edge, as nodes of the whole set, ``[2, edges]``.
        node_ptr: the first node of every graph and, last, the number of nodes, ``[M + 1]``.
        labels: of every graph, None where unknown.
    """

    x: Tensor | None
    edge_index: Tensor
    node_ptr: Tensor
    labels: list[Any]


def read_file(path: Path) -> RawGraphs:
    """Graphs saved by ``torch.save``: a list of ``Data``, or the ``(data, slices)`` of an ``InMemoryDataset``.

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
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        reason = str(error).strip().splitlines()[-1]
        raise ValueError(f"{path} holds no graphs that can be loaded safely: {reason}") from error
    if isinstance(content, tuple) and len(content) >= 2 and isinstance(content[1], dict):
        data, slices = content[:2]
        data = Data.from_dict(data) if isinstance(data, dict) else data
        count = max((len(each) - 1 for each in slices.values()), default=0)
        content = [separate(Data, data, i, slices, decrement=False) for i in range(count)]
    if not isinstance(content, list) or not all(isinstance(graph, Data) for graph in content):
        raise ValueError(f"{path} must hold a list of PyG Data objects, got {type(content).__name__}")
    return from_data(content, str(path))


def from_data(graphs: Iterable[Data], place: str) -> RawGraphs:
    """Graphs of PyG.

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
        features.append(graph.x)
        edges.append(torch.zeros(2, 0, dtype=torch.long) if graph.edge_index is None else graph.edge_index)
    if not sizes:
        raise ValueError(f"{place} has no graphs")
    node_ptr = F.pad(torch.tensor(sizes).cumsum(0), (1, 0))
    without = [i for i, x in enumerate(features) if x is None]
    if without and len(without) < len(features):
        raise ValueError(f"{place}, graph {without[0]}: it has no node features x, others have some")
    widths = {x.shape[1] for x in features if x is not None}
    if len(widths) > 1:
        raise ValueError(f"{place}: graphs need one common number of node features, got {sorted(widths)}")
    counts = torch.tensor([edge_index.shape[1] for edge_index in edges])
    return RawGraphs(
        None if without else torch.cat([x.float() for x in features]),
        torch.cat(edges, dim=1) + node_ptr[:-1].repeat_interleave(counts),
        node_ptr,
        labels,
    )


def _checked_size(graph: Data) -> int:
    """The number of nodes of a graph without a fault."""
    x, edge_index = graph.x, graph.edge_index
    if x is not None and (x.ndim != 2 or not x.isfinite().all()):
        raise ValueError(f"x must be finite numbers [nodes, F], got shape {list(x.shape)}")
    if edge_index is not None and (edge_index.ndim != 2 or len(edge_index) != 2 or edge_index.dtype != torch.long):
        raise ValueError(f"edge_index must be int64 [2, edges], got {edge_index.dtype} {list(edge_index.shape)}")
    size = len(x) if x is not None else graph.num_nodes
    if not size:
        raise ValueError("it has no nodes; say num_nodes if it has no x")
    strays = torch.tensor([], dtype=torch.long)
    if edge_index is not None:
        strays = ((edge_index < 0) | (edge_index >= size)).any(dim=0).nonzero().flatten()
    if len(strays):
        raise ValueError(f"edge {int(strays[0])} joins nodes {edge_index[:, strays[0]].tolist()} of {size}")
    return int(size)


def _label(y: Any) -> int | None:
    if y is None:
        return None
    y = torch.as_tensor(y)
    if y.numel() != 1 or y.item() != y.long().item():
        raise ValueError(f"y must be one whole number, the graph's class, got {y.tolist()}")
    label = int(y.item())
    return None if label == -1 else label


def read_tables(nodes: Path, edges: Path) -> RawGraphs:
    """Graphs from a table of nodes and one of edges, as :class:`~datamodules.graphs.Graphs` describes them.

    Raises:
        ValueError: a column that is missing or no number, a node given twice, an edge to a node that isn't there or in
            another graph, a graph with two labels; it names the file and row.
    """
    import pandas as pd

    node_table, edge_table = _read(nodes, ["graph", "node"]), _read(edges, ["source", "target"])
    if not len(node_table):
        raise ValueError(f"{nodes} has no graphs: no row")
    node_table = node_table.assign(row=range(1, len(node_table) + 1))
    owner, names = pd.factorize(node_table["graph"], sort=True)
    node_table = node_table.assign(owner=owner).sort_values("owner", kind="stable", ignore_index=True)
    by_graph = "graph" in edge_table
    keys = ["graph", "node"] if by_graph else ["node"]
    twice = node_table.duplicated(keys)
    if twice.any():
        row = node_table[twice].iloc[0]
        hint = "" if by_graph else f", and {edges} has no column graph to tell which of them is meant"
        raise ValueError(f"{nodes}, row {row['row']}: node {row['node']!r} is there twice{hint}")
    place = node_table[keys].assign(place=range(len(node_table)))
    ends = []
    for end in ("source", "target"):
        wanted = edge_table[[*keys[:-1], end]].rename(columns={end: "node"})
        try:
            found = wanted.merge(place, how="left", on=keys)["place"]
        except ValueError as error:  # columns of numbers and of text
            raise ValueError(
                f"{edges} and {nodes} name nodes or graphs by different types of values: {error}"
            ) from error
        if found.isna().any():
            at = int(found.isna().to_numpy().argmax())
            where = f" of graph {wanted['graph'].iloc[at]!r}" if by_graph else ""
            raise ValueError(f"{edges}, row {at + 1}: there is no node {wanted['node'].iloc[at]!r}{where} in {nodes}")
        ends.append(torch.from_numpy(found.to_numpy(dtype="int64", copy=True)))
    owners = torch.from_numpy(node_table["owner"].to_numpy(dtype="int64", copy=True))
    strays = (owners[ends[0]] != owners[ends[1]]).nonzero()
    if len(strays):
        raise ValueError(f"{edges}, row {int(strays[0]) + 1}: the edge joins two graphs")
    feature_names = [str(name) for name in node_table if name not in ("graph", "node", "label", "row", "owner")]
    return RawGraphs(
        _features(node_table, feature_names, nodes) if feature_names else None,
        torch.stack(ends),
        F.pad(owners.bincount(minlength=len(names)).cumsum(0), (1, 0)),
        _labels(node_table, nodes) if "label" in node_table else [None] * len(names),
    )


def _read(path: Path, columns: list[str]) -> pd.DataFrame:
    """A CSV or Parquet file with at least these columns."""
    import pandas as pd

    try:
        table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    except ValueError as error:  # pandas's and pyarrow's errors of parsing are ValueErrors
        raise ValueError(f"{path} is no {'Parquet' if path.suffix == '.parquet' else 'CSV'} file: {error}") from error
    missing = [name for name in columns if name not in table]
    if missing:
        raise ValueError(f"{path} needs columns {', '.join(columns)}; it has {', '.join(map(str, table.columns))}")
    names = [*columns, *(["graph"] if "graph" in table else [])]
    empty = table[names].isna()
    if empty.any(axis=None):
        row = int(empty.any(axis=1).to_numpy().argmax())
        raise ValueError(f"{path}, row {row + 1}: {empty.columns[empty.iloc[row]][0]} is missing")
    return table


def _features(table: pd.DataFrame, names: list[str], path: Path) -> Tensor:
    import pandas as pd

    text = [name for name in names if not pd.api.types.is_numeric_dtype(table[name])]
    if text:
        raise ValueError(f"{path}: features are numbers, but {', '.join(text)} is not: number or leave out its values")
    values = torch.from_numpy(table[names].to_numpy(dtype="float32", copy=True, na_value=float("nan")))
    broken = (~values.isfinite()).nonzero()
    if len(broken):
        row, column = broken[0].tolist()
        raise ValueError(f"{path}, row {table['row'].iloc[row]}: {names[column]} is missing or not finite")
    return values


def _labels(table: pd.DataFrame, path: Path) -> list[Any]:
    """The label of every graph, None where none of its nodes has one."""
    different = table.groupby("owner")["label"].nunique() > 1
    if different.any():
        graph = table["graph"][table["owner"] == different.idxmax()].iloc[0]
        raise ValueError(f"{path}: graph {graph!r} has several labels")
    first = table.groupby("owner")["label"].first()  # skips missing ones
    return [None if missing else value for value, missing in zip(first.tolist(), first.isna(), strict=True)]
