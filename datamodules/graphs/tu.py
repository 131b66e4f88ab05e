"""Graph data sets of the TU Dortmund collection."""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Sequence
from glob import escape
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from datamodules.augmentations.base import Augmentation, Identity
from datamodules.base import Samples
from datamodules.download import download
from datamodules.graphs.augmentations.graphcl import GraphCL
from datamodules.graphs.base import GraphDataModule
from datamodules.graphs.edges import clean_edges, node_features, warn_of_edges, with_graphcl_loops
from datamodules.graphs.tu_files import TUFiles

log = logging.getLogger(__name__)

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
    attributes are not used. A set for regression, without classes of its graphs, is one without labels.

    Args:
        name: name of the set, as the collection spells it.
        views: one augmentation of graphs a view.
        batch_size: graphs in a batch over all processes.
        root: folder of ``NAME.zip`` or ``NAME``; may be read-only.
        node_attributes: whether numbers that come with the nodes are features too, as they are in the file.
        max_degree: adds a node's degree, one-hot, with larger ones in the last column; None doesn't.
        held_out: fraction of the graphs that is set aside, half of it for validation and half for test; 0: all graphs
            train and all are evaluated, as in GraphCL.
        legacy: reproduces GraphCL's code: self-loops on all nodes of a graph below its highest one with an edge, its
            flawed augmentations in place of :class:`GraphCL`'s, with its ratios, and the same batches in every epoch.
            Views are ``GraphCL`` and ``Identity``.

    Raises:
        ValueError: a name that is none, files that are damaged, contradict each other or unpack to more than data may
            take, or with legacy other views than these two.
        OSError: neither archive nor folder, and no download.
    """

    ROOT_IS_A_PLACE = True

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
        if legacy:
            others = [type(view).__name__ for view in views if not isinstance(view, GraphCL | Identity)]
            if others or not any(isinstance(view, GraphCL) for view in views):
                raise ValueError(
                    "legacy: the original code has GraphCL's augmentations and Identity for views, "
                    f"got {', '.join(others) or 'no GraphCL'}"
                )
            views = [view.as_legacy() if isinstance(view, GraphCL) else view for view in views]
        if name in ("", ".", "..") or any(character in name for character in "/\\\0"):  # a path may leave the root
            raise ValueError(f"name must be that of a set of the TU collection, such as MUTAG, got {name!r}")
        self.dataset_name = name
        self.root = Path(root).expanduser().absolute()
        self.node_attributes = node_attributes
        self.legacy = legacy
        self.features: list[str] = []
        if name in KNOWN and not node_attributes:
            labels, classes = KNOWN[name]
            degrees = 0 if max_degree is None else max_degree + 1
            super().__init__(views, batch_size, classes, labels + degrees or 1, max_degree, held_out)
        else:
            super().__init__(views, batch_size, 0, 0, max_degree, held_out)
            self._loaded = self.load()
            self.in_features = self._loaded.inputs.x.shape[1]
            self.num_classes = int(self._loaded.target.max()) + 1
        self.reshuffle = not legacy

    @property
    def _archive(self) -> Path:
        return self.root / f"{self.dataset_name}.zip"

    @property
    def _folder(self) -> Path | None:
        """The unpacked folder that holds the edges."""
        found = sorted((self.root / self.dataset_name).rglob(f"{escape(self.dataset_name)}_A.txt"))
        return found[0].parent if found else None

    @property
    def files(self) -> list[Path]:
        return [self._archive if self._folder is None else self._folder]

    def describe(self) -> dict[str, Any]:
        description = super().describe()
        legacy = ", as GraphCL's code reads it" if self.legacy else ""
        return {**description, "name": f"{self.dataset_name} with {' and '.join(self.features)}{legacy}"}

    def prepare_data(self) -> None:
        if self._archive.is_file() or self._folder is not None:
            return
        place = self.root / self.dataset_name
        if place.is_dir() and any(place.iterdir()):
            raise ValueError(
                f"{place} has no {self.dataset_name}_A.txt: complete it, or delete it to download it again"
            )
        from torch_geometric.data import download_url
        from torch_geometric.datasets import TUDataset as Source

        def fetch(url: str, folder: str, filename: str) -> None:
            download_url(url, folder, log=False, filename=filename)

        wanted = f"{self._archive.name} or {self.dataset_name}"
        download(f"{Source.url}/{self._archive.name}", self._archive, wanted, fetch)

    def load(self) -> Samples:
        self.prepare_data()
        folder = self._folder
        if folder is not None:
            return self._parse(TUFiles(self.dataset_name, folder, {path.name: path for path in folder.iterdir()}))
        try:
            with zipfile.ZipFile(self._archive) as archive:
                members = {Path(member).name: zipfile.Path(archive, member) for member in archive.namelist()}
                sizes = {Path(member.filename).name: member.file_size for member in archive.infolist()}
                tables = TUFiles(self.dataset_name, self._archive, members)
                tables.check_sizes(sizes)
                return self._parse(tables)
        except zipfile.BadZipFile as error:
            raise ValueError(
                f"{self._archive} is damaged or cut short ({error}): delete it and get it again"
            ) from error

    def _parse(self, tables: TUFiles) -> Samples:
        owner, labels = tables.owners()
        if labels is None:
            log.warning("%s has no classes of its graphs, so no label is used", tables.place)
        order = owner.argsort(stable=True)  # of the nodes, should those of a graph not lie together
        place = torch.empty_like(order).scatter_(0, order, torch.arange(len(order)))
        node_ptr = F.pad(owner.bincount().cumsum(0), (1, 0))
        edge_index = clean_edges(place[tables.edges(owner)], len(owner))
        warn_of_edges(tables.place, edge_index, len(owner))
        features: dict[str, Tensor] = {}
        node_labels = tables.node_labels(len(owner))
        if node_labels is not None:
            features["node labels"] = node_labels[order]
        if self.node_attributes:
            features["node attributes"] = tables.node_attributes(len(owner))[order]
        x = node_features(list(features.values()), edge_index[1], len(owner), self.max_degree)
        degrees = [] if self.max_degree is None else [f"degrees up to {self.max_degree}"]
        self.features = [*features, *degrees] or ["a constant feature"]
        if self.legacy:
            edge_index = with_graphcl_loops(edge_index, node_ptr)
        target = torch.full((len(node_ptr) - 1,), -1) if labels is None else labels.unique(return_inverse=True)[1]
        classes = int(target.max()) + 1
        if self.in_features and (x.shape[1], classes) != (self.in_features, self.num_classes):
            raise ValueError(
                f"{tables.place} is not the collection's {self.dataset_name}: it has {x.shape[1]} node features and "
                f"{classes} classes, expected are {self.in_features} and {self.num_classes}"
            )
        return self.pack(x, edge_index, node_ptr, target)
