"""Your own graphs, from a file of PyTorch Geometric, a data set object or tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch.utils.data import Dataset

from datamodules.augmentations.base import Augmentation
from datamodules.base import Samples
from datamodules.graphs.base import GraphDataModule
from datamodules.graphs.edges import clean_edges, node_features, warn_of_edges
from datamodules.graphs.node_edge_tables import read_tables
from datamodules.graphs.pyg import RawGraphs, from_data, read_file
from datamodules.labels import classes_after, numbers_of, sorted_labels, tell_unlabelled, warn_of_unknown
from datamodules.reading.layout import Layout


class Graphs(GraphDataModule):
    """Your own graphs. Give one of ``file``, ``dataset``, or ``nodes`` together with ``edges``.

    Node features ``x`` are used as they are, and are a constant 1 where there are none. Labels, whole numbers ``y`` or
    in tables any values, are for evaluation alone and may be missing (−1 in ``y``, unless there is only one other);
    where ``y`` is no class, none are used. Edges are ``edge_index``, or without it a sparse adjacency ``adj_t`` or
    ``adj``, as ``ToSparseTensor`` leaves it. Features of edges are not used; duplicate edges and self-loops are left
    out. A checkpoint keeps the labels in the order of their numbers, so that another file may lack some of them; one
    that the checkpoint doesn't know counts as unknown.

    Args:
        views: one augmentation of graphs a view.
        batch_size: graphs in a batch over all processes.
        file: a list of PyG ``Data``, or the ``(data, slices)`` of an ``InMemoryDataset``, saved by ``torch.save``. No
            code in it is run.
        dataset: a data set of PyG, such as ``torch_geometric.datasets.GNNBenchmarkDataset``.
        nodes: CSV (``.csv.gz`` too) or Parquet with a row for each node: columns ``graph`` and ``node`` that name them,
            perhaps ``label``, the graph's, and numbers, the node's features.
        edges: CSV or Parquet with a row for each edge: columns ``source`` and ``target``, and ``graph`` unless all
            nodes have different names. Undirected graphs have both directions.
        delimiter: what stands between the values of text; None: tabs in ``.tsv``, commas else.
        decimal: what stands before the decimals of numbers that are text.
        thousands: what stands between the groups of their digits; None: nothing.
        missing: texts that stand for a missing value; None: ``?``, ``NA``, ``N/A``, ``n/a``, ``NaN``, ``nan``,
            ``null``, ``NULL``, ``None`` and ``<NA>``. Nothing always does. ``[]`` keeps them all as names.
        max_gib: GiB that a table may take when it is unpacked; None: half of this machine's memory.
        max_degree: adds a node's degree, one-hot, with larger ones in the last column; None doesn't.
        held_out: fraction of the graphs that is set aside, half of it for validation and half for test; 0: all graphs
            train and all are evaluated, for protocols with folds of their own such as ``RBFSVM``.
        labels: training samples that training sees: so many of each class, or as a fraction this share of the labelled
            ones, see :class:`~datamodules.base.InMemoryDataModule`; None: all, labelled or not.

    Raises:
        ValueError: not exactly one source, or graphs with a fault, which it names.
        OSError: a file that cannot be read.
    """

    OWN = True

    def __init__(
        self,
        views: Sequence[Augmentation],
        batch_size: int = 128,
        file: str | None = None,
        dataset: Dataset | None = None,
        nodes: str | None = None,
        edges: str | None = None,
        max_degree: int | None = None,
        held_out: float = 0.2,
        delimiter: str | None = None,
        decimal: str = ".",
        thousands: str | None = None,
        missing: Sequence[str] | None = None,
        max_gib: float | None = None,
        labels: int | float | None = None,
    ) -> None:
        given = [name for name, value in (("file", file), ("dataset", dataset), ("nodes", nodes)) if value is not None]
        if len(given) != 1 or (nodes is None) != (edges is None):
            got = " and ".join(given + ["edges"] * (edges is not None)) or "none"
            raise ValueError(f"give one of file, dataset, or nodes together with edges, got {got}")
        super().__init__(views, batch_size, 0, 0, max_degree, held_out, labels)
        self.file, self.nodes, self.edges = (None if p is None else Path(p).expanduser() for p in (file, nodes, edges))
        self.dataset = dataset
        self._layout = Layout(True, delimiter, decimal, thousands, missing, max_gib)
        raw = self._read()
        self.labels = raw.labels
        self.classes: list[Any] = sorted_labels({label for label in raw.labels if label is not None})
        self._loaded = self._prepared(raw)
        self.num_classes = len(self.classes)
        self.in_features = self._loaded.inputs.x.shape[1]

    @property
    def files(self) -> list[Path]:
        return [path for path in (self.file, self.nodes, self.edges) if path is not None]

    @property
    def _source(self) -> object:
        return self.file or self.nodes or type(self.dataset).__name__

    def _read(self) -> RawGraphs:
        if self.file is not None:
            return read_file(self.file)
        if self.nodes is not None and self.edges is not None:
            return read_tables(self.nodes, self.edges, self._layout)
        dataset: Any = self.dataset
        # by its length: iterating over a data set that doesn't raise IndexError would not end
        return from_data((dataset[i] for i in range(len(dataset))), type(dataset).__name__)

    def _prepared(self, raw: RawGraphs) -> Samples:
        nodes = int(raw.node_ptr[-1])
        edge_index = clean_edges(raw.edge_index, nodes)
        warn_of_edges(self._source, edge_index, nodes)
        x = node_features([] if raw.x is None else [raw.x], edge_index[1], nodes, self.max_degree)
        return self.pack(x, edge_index, raw.node_ptr, numbers_of(raw.labels, self.classes))

    def encode(self, samples: Samples) -> Samples:
        tell_unlabelled(self._source, self.labels.count(None), len(self.labels), "graphs")
        warn_of_unknown(self._source, self.labels, self.classes)
        return Samples(samples.inputs, numbers_of(self.labels, self.classes), samples.splits)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "classes": self.classes}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self.classes = classes_after(self._source, state_dict["classes"], self.classes, self.predicting)
        self.num_classes = len(self.classes)
