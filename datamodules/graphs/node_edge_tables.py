"""Graphs from a table of nodes and one of edges."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional as F

from datamodules.graphs.pyg import RawGraphs

if TYPE_CHECKING:
    import pandas as pd

NODES = ("graph", "node", "label")
EDGES = ("graph", "source", "target")
"""Columns whose values are names: 1, "1" and 1.0 are the same, 1 and 01 are not."""


def read_tables(nodes: Path, edges: Path) -> RawGraphs:
    """Graphs from a table of nodes and one of edges, as :class:`~datamodules.graphs.graphs.Graphs` describes them.

    Graphs and nodes come in the order in which the table of nodes first names them.

    Raises:
        ValueError: a column that is missing or no number, a node given twice, an edge to a node that isn't there or in
            another graph, a graph with two labels; it names the file and row.
    """
    import pandas as pd

    node_table, edge_table = _read(nodes, NODES, NODES[:2]), _read(edges, EDGES, EDGES[1:])
    if not len(node_table):
        raise ValueError(f"{nodes} has no graphs: no row")
    numbers, names = pd.factorize(node_table["graph"])
    owner = torch.from_numpy(numbers)  # [rows]
    order = owner.argsort(stable=True)  # of the rows, should those of a graph not lie together
    place = torch.empty_like(order).scatter_(0, order, torch.arange(len(order)))
    by_graph = "graph" in edge_table
    keys = ["graph", "node"] if by_graph else ["node"]
    twice = node_table.duplicated(keys).to_numpy()
    if twice.any():
        row = int(twice.argmax())
        hint = "" if by_graph else f", and {edges} has no column graph to tell which of them is meant"
        raise ValueError(f"{nodes}, row {row + 1}: node {node_table['node'].iloc[row]} is there twice{hint}")
    places = node_table[keys].assign(place=place.numpy())
    ends = []
    for end in ("source", "target"):
        wanted = edge_table[[*keys[:-1], end]].rename(columns={end: "node"})
        found = wanted.merge(places, how="left", on=keys)["place"]
        if found.isna().any():
            row = int(found.isna().to_numpy().argmax())
            where = f" of graph {wanted['graph'].iloc[row]}" if by_graph else ""
            raise ValueError(f"{edges}, row {row + 1}: there is no node {wanted['node'].iloc[row]}{where} in {nodes}")
        ends.append(torch.from_numpy(found.to_numpy(dtype="int64", copy=True)))
    edge_index = torch.stack(ends)
    strays = (owner[order[edge_index[0]]] != owner[order[edge_index[1]]]).nonzero()
    if len(strays):
        raise ValueError(f"{edges}, row {int(strays[0]) + 1}: the edge joins two graphs")
    x = _features(node_table, nodes)
    return RawGraphs(
        None if x is None else x[order],
        edge_index,
        F.pad(owner.bincount(minlength=len(names)).cumsum(0), (1, 0)),
        _labels(node_table, nodes) if "label" in node_table else [None] * len(names),
    )


def _read(path: Path, names: Sequence[str], needed: Sequence[str]) -> pd.DataFrame:
    """A CSV or Parquet file with at least the needed columns; names are text."""
    import pandas as pd

    kind = "Parquet" if path.suffix.lower() in (".parquet", ".pq") else "CSV"
    text = dict.fromkeys(names, "str")
    try:
        table = pd.read_parquet(path) if kind == "Parquet" else pd.read_csv(path, dtype=text, skipinitialspace=True)
    except (ValueError, OSError, EOFError, zlib.error) as error:  # what parsers and decompressors raise
        if isinstance(error, OSError) and error.errno is not None:  # damaged data have none
            raise
        raise ValueError(f"{path} is no {kind} file or damaged: {' '.join(str(error).split())}") from error
    if kind == "CSV" and not isinstance(table.index, pd.RangeIndex):
        raise ValueError(f"{path} has rows with more values than the {len(table.columns)} columns of its first line")
    if not set(needed) <= set(table.columns):
        raise ValueError(f"{path} needs columns {', '.join(needed)}; it has {', '.join(map(str, table.columns))}")
    for name in set(names).intersection(table.columns):
        table[name] = _text(table[name])
        empty = table[name].isna().to_numpy()
        if name != "label" and empty.any():
            raise ValueError(f"{path}, row {int(empty.argmax()) + 1}: {name} is missing")
    return table


def _text(values: pd.Series) -> pd.Series:
    """Names as text, whole numbers without the point that they get where others in their column are missing."""
    return values.astype("string").str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True)


def _features(table: pd.DataFrame, path: Path) -> Tensor | None:
    """All columns that are no names, ``[rows, F]``."""
    import pandas as pd

    names = [name for name in table.columns if name not in NODES]
    if not names:
        return None
    text = [str(name) for name in names if not pd.api.types.is_numeric_dtype(table[name])]
    if text:
        raise ValueError(f"{path}: features are numbers, but {', '.join(text)} is not: number or leave out its values")
    values = torch.from_numpy(table[names].to_numpy(dtype="float32", copy=True, na_value=float("nan")))
    broken = (~values.isfinite()).nonzero()
    if len(broken):
        row, column = broken[0].tolist()
        raise ValueError(f"{path}, row {row + 1}: {names[column]} is missing or not finite")
    return values


def _labels(table: pd.DataFrame, path: Path) -> list[Any]:
    """The label of every graph, None where none of its nodes has one."""
    import pandas as pd

    by_graph = table.groupby("graph", sort=False)["label"]
    several = by_graph.nunique() > 1
    if several.any():
        raise ValueError(f"{path}: graph {several.idxmax()} has several labels")
    return [None if pd.isna(label) else str(label) for label in by_graph.first()]  # which skips missing ones
