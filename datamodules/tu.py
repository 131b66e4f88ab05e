"""Graph data sets of the TU Dortmund collection."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from datamodules.augmentations.base import Augmentation
from datamodules.augmentations.graphcl import GraphCL
from datamodules.base import Samples
from datamodules.download import download
from datamodules.edges import clean_edges, edge_counts, one_hot_degree, with_graphcl_loops
from datamodules.graph_data import GraphDataModule
from datamodules.ragged import RaggedGraphs

KNOWN = {
    "MUTAG": (7, 2),
    "NCI1": (37, 2),
    "PROTEINS": (3, 2),
    "DD": (89, 2),
    "COLLAB": (0, 3),
    "REDDIT-BINARY": (0, 2),
    "REDDIT-MULTI-5K": (0, 5),
    "IMDB-BINARY": (0, 2),
}
"""Kinds of nodes and classes of the sets in the paper, so that a configuration can be looked at without the data."""


class TUDataset(GraphDataModule):
    """A data set of the TU collection (Morris et al., 2020), from the archive of its site or the folder in it.

    ``NAME.zip`` or a folder ``NAME`` under ``root`` is read where it lies, whatever folders are inside, and nothing is
    written beside it; without them the archive is downloaded into ``root``. Duplicate edges and self-loops are left
    out.

    Node features are the one-hot node labels, as in GraphCL, and a constant 1 where there are none. Edge labels and
    attributes are not used.

    Args:
        name: of the set, as the collection spells it.
        views: one augmentation of graphs a view.
        batch_size: graphs in a batch over all processes.
        root: folder of ``NAME.zip`` or ``NAME``; may be read-only.
        node_attributes: whether numbers that come with the nodes are features too, as they are in the file.
        max_degree: adds a node's degree, one-hot, with larger ones in the last column; None doesn't.
        held_out: share of the graphs that is set aside, half of it for validation and half for test; 0: all graphs
            train and all are evaluated, as in GraphCL.
        legacy: reproduces GraphCL's code: self-loops on all nodes of a graph below its highest one with an edge, its
            flawed augmentations in place of :class:`GraphCL`'s, and the same batches in every epoch.

    Raises:
        ValueError: files that are damaged or contradict each other, or no :class:`GraphCL` among the views with legacy.
        OSError: neither archive nor folder, and no download.
    """

    def __init__(
        self,
        name: str,
        views: Sequence[Augmentation],
        batch_size: int = 128,
        root: str = "data",
        node_attributes: bool = False,
        max_degree: int | None = None,
        held_out: float = 0.0,
        legacy: bool = False,
    ) -> None:
        if max_degree is not None and max_degree < 0:
            raise ValueError(f"max_degree must be at least 0, got {max_degree}")
        if legacy:
            if not any(isinstance(view, GraphCL) for view in views):
                raise ValueError("legacy: the original code's augmentations need a GraphCL among the views")
            views = [view.as_legacy() if isinstance(view, GraphCL) else view for view in views]
        self.dataset_name = name
        self.root = Path(root).expanduser().absolute()
        self.node_attributes = node_attributes
        self.max_degree = max_degree
        self.legacy = legacy
        if name in KNOWN and not node_attributes:
            labels, classes = KNOWN[name]
            degrees = 0 if max_degree is None else max_degree + 1
            super().__init__(views, batch_size, classes, labels + degrees or 1, held_out)
        else:
            super().__init__(views, batch_size, 0, 0, held_out)
            self._loaded = self.load()
            self.in_features = self._loaded.rows.x.shape[1]
            self.num_classes = int(self._loaded.target.max()) + 1
        self.reshuffle = not legacy

    @property
    def _archive(self) -> Path:
        return self.root / f"{self.dataset_name}.zip"

    @property
    def _folder(self) -> Path | None:
        """The unpacked folder that holds the edges."""
        found = sorted((self.root / self.dataset_name).rglob(f"{self.dataset_name}_A.txt"))
        return found[0].parent if found else None

    @property
    def files(self) -> list[Path]:
        return [self._archive if self._folder is None else self._folder]

    def describe(self) -> dict[str, Any]:
        features = ["node attributes"] if self.node_attributes else []
        features += [f"degrees up to {self.max_degree}"] if self.max_degree is not None else []
        features = (
            ["node labels", *features] if KNOWN.get(self.dataset_name, (1, 0))[0] else features or ["constant feature"]
        )
        legacy = ", as GraphCL's code reads it" if self.legacy else ""
        return {**super().describe(), "name": f"{self.dataset_name} with {' and '.join(features)}{legacy}"}

    def prepare_data(self) -> None:
        if self._archive.is_file() or self._folder is not None:
            return
        from torch_geometric.data import download_url
        from torch_geometric.datasets import TUDataset as Source

        def fetch(url: str, folder: str, filename: str) -> None:
            download_url(url, folder, log=False, filename=filename)

        download(
            f"{Source.url}/{self.dataset_name}.zip",
            self._archive,
            f"{self._archive.name} or {self.dataset_name}",
            fetch,
        )

    def load(self) -> Samples:
        self.prepare_data()
        folder = self._folder
        if folder is not None:
            return self._parse(_Tables(self.dataset_name, folder, {path.name: path for path in folder.iterdir()}))
        try:
            with zipfile.ZipFile(self._archive) as archive:
                members = {Path(member).name: zipfile.Path(archive, member) for member in archive.namelist()}
                return self._parse(_Tables(self.dataset_name, self._archive, members))
        except (zipfile.BadZipFile, EOFError, zlib.error) as error:
            raise ValueError(
                f"{self._archive} is damaged or cut short ({error}): delete it and get {self.dataset_name}.zip again"
            ) from error

    def _parse(self, tables: _Tables) -> Samples:
        owner, labels = tables.owners()
        order = owner.argsort(stable=True)  # of the nodes, should those of a graph not lie together
        place = torch.empty_like(order).scatter_(0, order, torch.arange(len(order)))
        node_ptr = F.pad(owner.bincount().cumsum(0), (1, 0))
        edge_index = place[tables.edges(owner)]
        edge_index = clean_edges(edge_index, len(owner))
        if self.legacy:
            edge_index = with_graphcl_loops(edge_index, node_ptr)
        columns = [tables.node_labels(len(owner))]
        if self.node_attributes:
            columns.append(tables.node_attributes(len(owner)))
        found = [column[order] for column in columns if column is not None]
        if self.max_degree is not None:
            found.append(one_hot_degree(edge_index[1], len(owner), self.max_degree))
        x = torch.cat(found, dim=1) if found else torch.ones(len(owner), 1)
        target = labels.unique(return_inverse=True)[1]
        classes = int(target.max()) + 1
        if self.in_features and (x.shape[1], classes) != (self.in_features, self.num_classes):
            raise ValueError(
                f"{tables.place} is not the {self.dataset_name} of the collection: {x.shape[1]} node features and {classes} "
                f"classes, expected {self.in_features} and {self.num_classes}"
            )
        return Samples(
            RaggedGraphs(x, edge_index, node_ptr, edge_counts(edge_index[1], node_ptr)), target, self.split(target)
        )


class _Tables:
    """The text files of a data set, with their lines' numbers in every complaint.

    Args:
        name: of the set.
        place: archive or folder, for messages.
        members: what is in it, by file name.
    """

    def __init__(self, name: str, place: Path, members: Mapping[str, Path | zipfile.Path]) -> None:
        self.name = name
        self.place = place
        self.members = members

    def owners(self) -> tuple[Tensor, Tensor]:
        """The graph of every node ``[nodes]``, counted from 0, and the labels of the graphs ``[M]``."""
        owner, labels = self.column("graph_indicator"), self.column("graph_labels")
        if not len(owner):
            raise ValueError(f"{self.place} has no graphs: {self.file('graph_indicator')} is empty")
        owner = owner - (1 if owner.min() else 0)  # the collection counts from 1; some write from 0
        if owner.min() < 0 or owner.max() >= len(labels):
            raise ValueError(
                f"{self.file('graph_indicator')} in {self.place} names {int(owner.max()) + 1} graphs, but "
                f"{self.file('graph_labels')} has {len(labels)} lines"
            )
        empty = (owner.bincount(minlength=len(labels)) == 0).nonzero()
        if len(empty):
            raise ValueError(
                f"graph {int(empty[0]) + 1} in line {int(empty[0]) + 1} of {self.file('graph_labels')} in {self.place} "
                f"has no node in {self.file('graph_indicator')}"
            )
        return owner, labels

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
        if edges.min() > 0:  # the collection counts from 1; a file with a node 0 counts from 0
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
        table = table - table.amin(dim=0)
        if table.max() >= 2**12:
            raise ValueError(
                f"{self.file('node_labels')} in {self.place} has labels up to {int(table.max())} above the smallest, "
                "too many for one-hot features: number them one by one"
            )
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

        def read(kind_of_value: Any) -> Any:
            with member.open("rb") as stream:
                return pd.read_csv(stream, header=None, dtype=kind_of_value, skip_blank_lines=kind != "node_attributes")

        try:
            values = read(dtype).to_numpy(copy=True)
        except pd.errors.EmptyDataError:
            values = np.zeros((0, 1), dtype)
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{self.file(kind)} in {self.place} has {self._first_fault(member) or error}") from error
        if lines is not None and len(values) != lines:
            raise ValueError(
                f"{self.file(kind)} in {self.place} has {len(values)} lines, "
                f"but {self.file('graph_indicator')} has {lines} nodes"
            )
        return torch.from_numpy(values)

    @staticmethod
    def _first_fault(member: Path | zipfile.Path) -> str | None:
        """The first value that is no whole number, with its line."""
        width = None
        with member.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                values = line.decode(errors="replace").strip().split(",")
                width = width or len(values)
                if len(values) != width:
                    return f"{len(values)} values in line {number}, {width} in the first one"
                for value in values:
                    try:
                        int(value)
                    except ValueError:
                        return f"{value.strip()!r} in line {number}, expected a whole number"
        return None
