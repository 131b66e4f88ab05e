"""Graphs from a table of nodes and one of edges."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from datamodules.graphs.pyg import RawGraphs
from datamodules.labels import some
from datamodules.reading.dress import dress_of
from datamodules.reading.files import read_table
from datamodules.reading.index_columns import counts_rows
from datamodules.reading.layout import Layout
from datamodules.reading.values import floats_of, is_text, text_of

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

NODES = ("graph", "node", "label")
EDGES = ("graph", "source", "target")
"""Columns whose values are names, see :func:`~datamodules.text_form.text_form`."""


def read_tables(nodes: Path, edges: Path, layout: Layout) -> RawGraphs:
    """Graphs from a table of nodes and one of edges, as :class:`~datamodules.graphs.graphs.Graphs` describes them.

    Graphs and nodes come in the order in which the table of nodes first names them.

    Raises:
        ValueError: a column that is missing or no number, a node given twice, an edge to a node that isn't there or in
            another graph, a graph with two labels; it names the file and row.
    """
    import pandas as pd

    node_columns, _ = read_table(nodes, layout, NODES)
    edge_columns, _ = read_table(edges, layout, EDGES)
    node_table = _names(node_columns, nodes, NODES, NODES[:2])
    edge_table = _names(edge_columns, edges, EDGES, EDGES[1:])
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
    x = _features(node_columns, nodes)
    return RawGraphs(
        None if x is None else x[order],
        edge_index,
        F.pad(owner.bincount(minlength=len(names)).cumsum(0), (1, 0)),
        _labels(node_table, nodes) if "label" in node_table else [None] * len(names),
    )


def _names(
    table: Mapping[str, pa.ChunkedArray], path: Path, names: Sequence[str], needed: Sequence[str]
) -> pd.DataFrame:
    """The columns that are names, as text; at least the needed ones."""
    import pandas as pd

    if not set(needed) <= set(table):
        raise ValueError(f"{path} needs columns {', '.join(needed)}; it has {some(list(table), 10)}")
    text = {name: text_of(table[name], decimals=name == "label") for name in names if name in table}
    found = pd.DataFrame({name: column.to_pandas() for name, column in text.items()})
    for name in set(found) - {"label"}:
        empty = found[name].isna().to_numpy()
        if empty.any():
            raise ValueError(f"{path}, row {int(empty.argmax()) + 1}: {name} is missing")
    return found


def _features(table: Mapping[str, pa.ChunkedArray], path: Path) -> Tensor | None:
    """All columns that are no names, ``[rows, F]``."""
    names = [name for name in table if name not in NODES]
    if not names:
        return None
    columns = []
    for name in names:
        with np.errstate(over="ignore"):
            values = floats_of(_numbers(table[name], name, path), name, path).astype("float32")
        if not np.isfinite(values).all():
            row = int((~np.isfinite(values)).argmax())
            raise ValueError(f"{path}, row {row + 1}: {name} is missing or not finite")
        if counts_rows(values):
            log.warning("%s: %s counts the rows: leave it out, unless it says something of them", path, name)
        columns.append(torch.from_numpy(values))
    return torch.stack(columns, dim=1)


def _numbers(column: pa.ChunkedArray, name: str, path: Path) -> pa.ChunkedArray:
    """A column of numbers, or of truth values, which count as 0 and 1.

    Raises:
        ValueError: text that is something else.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not is_text(column.type):
        return column
    text = text_of(column)
    if pc.all(pc.is_in(text, pa.array(["True", "False", None], pa.string()))).as_py():
        return pc.equal(text, "True")
    try:
        pc.cast(text, pa.float64())
    except pa.ArrowInvalid:
        dress = dress_of(text)
        if dress:
            raise ValueError(f"{path}: features are numbers, but {name} has {dress}, or leave it out") from None
        shown = some([repr(value) for value in text.drop_null().unique().to_pylist()])
        raise ValueError(
            f"{path}: features are numbers, but {name} is not: number its values ({shown}), or leave it out"
        ) from None
    return text


def _labels(table: pd.DataFrame, path: Path) -> list[Any]:
    """The label of every graph, None where none of its nodes has one."""
    import pandas as pd

    by_graph = table.groupby("graph", sort=False)["label"]
    several = by_graph.nunique() > 1
    if several.any():
        raise ValueError(f"{path}: graph {several.idxmax()} has several labels")
    return [None if pd.isna(label) else str(label) for label in by_graph.first()]  # which skips missing ones
