"""The text files of a TU data set."""

from __future__ import annotations

import lzma
import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from datamodules.room import check_room

KINDS = ("A", "graph_indicator", "graph_labels", "node_labels", "node_attributes")
"""What files are read."""
LONGEST_LINE = 2**17
"""Characters of a line, of which sets in the collection have some thousands: each value of it is a column to pandas."""


class TUFiles:
    """Reads and checks the files of one data set; complaints name the file and the line.

    Args:
        name: name of the set.
        place: archive or folder, for messages.
        members: the files in it, by name.
    """

    def __init__(self, name: str, place: Path, members: Mapping[str, Path | zipfile.Path]) -> None:
        self.name = name
        self.place = place
        self.members = members
        self.from_0 = False

    def check_sizes(self, sizes: Mapping[str, int]) -> None:
        """Raises ValueError for packed files whose text, four times as much as numbers, is more than data may take.

        Args:
            sizes: bytes of the files when they are unpacked, by name.
        """
        unpacked = sum(sizes.get(self.file(kind), 0) for kind in KINDS)
        check_room(f"{self.place} unpacked", 4 * unpacked, f"if it is meant so, unpack it in {self.place.parent}")

    def owners(self) -> tuple[Tensor, Tensor | None]:
        """The graph of every node ``[nodes]``, counted from 0, and the classes of the graphs ``[M]``, if they have."""
        owner, labels = self.column("graph_indicator"), self.classes()
        if not len(owner):
            raise ValueError(f"{self.place} has no graphs: {self.file('graph_indicator')} is empty")
        if owner.min() < 0:
            line = int((owner < 0).nonzero()[0])
            raise ValueError(f"line {line + 1} of {self.file('graph_indicator')} in {self.place} is {int(owner[line])}")
        self.from_0 = not owner.min()  # the collection counts from 1; some write from 0
        owner = owner if self.from_0 else owner - 1
        graphs = int(owner.max()) + 1
        of_graphs, lines = ("graph_indicator", len(owner)) if labels is None else ("graph_labels", len(labels))
        if graphs > lines:
            raise ValueError(
                f"{self.file('graph_indicator')} in {self.place} names {graphs} graphs, but {self.file(of_graphs)} has "
                f"{lines} lines"
            )
        empty = (owner.bincount(minlength=graphs if labels is None else len(labels)) == 0).nonzero()
        if len(empty):
            number = int(empty[0]) + 1
            where = "" if labels is None else f" in line {number} of {self.file('graph_labels')}"
            raise ValueError(f"graph {number}{where} in {self.place} has no node in {self.file('graph_indicator')}")
        return owner, labels

    def classes(self) -> Tensor | None:
        """The class of every graph ``[M]``; None for a set that has numbers to predict, ``graph_attributes``, alone."""
        for_regression = self.file("graph_attributes") in self.members and self.file("graph_labels") not in self.members
        return None if for_regression else self.column("graph_labels")

    def edges(self, owner: Tensor) -> Tensor:
        """The two nodes of every edge, counted from 0, ``[2, edges]``."""
        table = self.table("A", np.int64)
        if table is None:
            raise ValueError(f"{self.place} has no {self.file('A')}")
        if not len(table):
            return torch.zeros(2, 0, dtype=torch.long)
        if table.shape[1] != 2:
            raise ValueError(f"{self.file('A')} in {self.place} must have 2 columns, got {table.shape[1]}")
        edges = table.T
        if edges.min() > 0 and not (self.from_0 and edges.max() < len(owner)):
            edges = edges - 1
        missing = ((edges < 0) | (edges >= len(owner))).any(dim=0)
        if missing.any():
            line = int(missing.nonzero()[0])
            raise ValueError(
                f"line {line + 1} of {self.file('A')} in {self.place} is an edge between nodes {table[line].tolist()}, "
                f"but {self.file('graph_indicator')} has {len(owner)} nodes"
            )
        strays = owner[edges[0]] != owner[edges[1]]
        if strays.any():
            line = int(strays.nonzero()[0])
            graphs = (owner[edges[:, line]] + 1).tolist()
            raise ValueError(
                f"line {line + 1} of {self.file('A')} in {self.place} joins nodes {table[line].tolist()} of different "
                f"graphs, {graphs[0]} and {graphs[1]}"
            )
        return edges

    def node_labels(self, nodes: int) -> Tensor | None:
        """One column a label between the smallest and the largest, as PyG has them, ``[nodes, labels]``."""
        table = self.table("node_labels", np.int64, nodes)
        if table is None:
            return None
        spread = table.double().amax(dim=0) - table.double().amin(dim=0)  # of two far ends, int64 wraps around
        if spread.max() >= 2**12:
            raise ValueError(
                f"{self.file('node_labels')} in {self.place} has labels up to {int(spread.max())} above the smallest, "
                "too many for one-hot features: number them one by one"
            )
        table = table - table.amin(dim=0)
        columns = int(spread.sum()) + len(spread)
        check_room(f"{self.file('node_labels')} in {self.place}, one-hot,", 16 * nodes * columns)
        return torch.cat([F.one_hot(column) for column in table.T], dim=1).float()

    def node_attributes(self, nodes: int) -> Tensor:
        """Numbers of the nodes, ``[nodes, attributes]``."""
        table = self.table("node_attributes", np.float32, nodes)
        if table is None:
            raise ValueError(f"{self.place} has no {self.file('node_attributes')}: leave node_attributes false")
        broken = (~table.isfinite()).nonzero()
        if len(broken):
            line, column = (broken[0] + 1).tolist()
            raise ValueError(
                f"line {line}, column {column} of {self.file('node_attributes')} in {self.place} is no number"
            )
        return table

    def file(self, kind: str) -> str:
        """The name of a file."""
        return f"{self.name}_{kind}.txt"

    def column(self, kind: str) -> Tensor:
        """A file of one whole number a line, ``[lines]``."""
        table = self.table(kind, np.int64)
        if table is None:
            raise ValueError(f"{self.place} has no {self.file(kind)}")
        if table.ndim != 2 or table.shape[1] != 1:
            raise ValueError(f"{self.file(kind)} in {self.place} must have 1 number in a line, got {table.shape[1]}")
        return table[:, 0]

    def table(self, kind: str, dtype: Any, lines: int | None = None) -> Tensor | None:
        """A file of numbers ``[lines, columns]``; None if there is none."""
        member = self.members.get(self.file(kind))
        if member is None:
            return None
        import pandas as pd

        try:
            with member.open("rb") as stream:
                start = stream.readline(LONGEST_LINE)
            if len(start) >= LONGEST_LINE:
                raise ValueError("too long")  # which line it is is found below
            with member.open("rb") as stream:
                values = pd.read_csv(stream, header=None, dtype=dtype).to_numpy(copy=True)
        except pd.errors.EmptyDataError:
            values = np.zeros((0, 1), dtype)
        except (ValueError, OverflowError) as error:
            fault = _first_fault(member, dtype is np.int64) or str(error).strip()
            raise ValueError(f"{self.file(kind)} in {self.place} has {fault}") from error
        except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, lzma.LZMAError, zlib.error) as error:
            if isinstance(error, OSError) and error.errno is not None:  # damaged data have none
                raise
            raise ValueError(
                f"{self.file(kind)} in {self.place} cannot be unpacked ({error}): delete {self.place} and get it again"
            ) from error
        if lines is not None and len(values) != lines:
            raise ValueError(
                f"{self.file(kind)} in {self.place} has {len(values)} lines, "
                f"but {self.file('graph_indicator')} has {lines} nodes"
            )
        return torch.from_numpy(values)


def _first_fault(member: Path | zipfile.Path, whole: bool) -> str | None:
    """The first line that pandas cannot take for numbers."""
    width = None
    with member.open("rb") as stream:
        for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b""), start=1):
            if len(line) >= LONGEST_LINE:  # a packed file may give more than it is asked for
                return f"more than {LONGEST_LINE:,} characters in line {number}"
            values = line.decode(errors="replace").strip().split(",")
            if values == [""]:
                continue
            width = width or len(values)
            if len(values) != width:
                return f"{len(values)} values in line {number}, {width} in the first one"
            for value in values:
                if not _is_number(value, whole):
                    return f"{value.strip()[:40]!r} in line {number}, expected a {'whole ' * whole}number"
    return None


def _is_number(value: str, whole: bool) -> bool:
    try:
        return -(2**63) <= int(value) < 2**63 if whole else math.isfinite(float(value))
    except ValueError:
        return False
