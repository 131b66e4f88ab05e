"""Your own table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, get_args

import numpy as np
import torch
from lightning.pytorch.utilities import rank_zero_info
from torch import Tensor

from datamodules.augmentations.base import Augmentation
from datamodules.base import InMemoryDataModule, Samples, Split
from datamodules.labels import classes_after, some, tell_unlabelled, warn_of_unknown
from datamodules.reading.files import read_table
from datamodules.reading.layout import Layout
from datamodules.reading.values import joined, text_of
from datamodules.splits import stratified_split
from datamodules.tables.columns import Columns
from datamodules.tables.files import num_rows
from datamodules.tables.labels import find_classes, labels_in, labels_of
from datamodules.tables.preparation import RowPreparation
from datamodules.tables.schema import fit_columns

if TYPE_CHECKING:
    import pyarrow as pa

    Part: TypeAlias = tuple[Path, dict[str, pa.ChunkedArray]]


class Fitted(TypedDict):
    """What a table learnt from training rows.

    Attributes:
        classes: the labels, in order.
        columns: how columns become numbers.
    """

    classes: list[str]
    columns: Columns


class Table(InMemoryDataModule):
    """Rows of your own CSV, TSV or Parquet file.

    A value is the same in each of them: 1, 1.0 and "1", or true and "TRUE". Numbers are standardised with the training
    rows' mean and deviation, and categories become codes; see :class:`~datamodules.tables.columns.Columns` for how a
    row looks. All of it, and the labels' order, is in the checkpoint: ``predict`` on another file needs only the
    checkpoint and the file, whose columns may be in another order and which needs no labels.

    A column without a name, or one that pandas wrote as the rows' index, is left out. What is mostly numbers, amounts,
    dates or times, but not written as numbers are, is refused with what to do.

    Args:
        views: one augmentation of rows a view.
        file: ``.parquet``, or text with commas (tabs in ``.tsv``) between its values, compressed or not.
        target: the column of labels, any values, which are for evaluation alone and may be missing; None: no labels.
        test_file: another file of the same columns whose rows are the test split.
        batch_size: samples in a batch over all processes.
        categorical: columns of numbers that are categories; columns of text are anyway.
        drop: columns that are left out.
        id: a column that says which row is which, of any values, and is no feature; ``predict`` writes it beside the
            embeddings. None: there is none.
        impute: whether values may be missing: a number then counts as the mean, and a further column says so; in a
            categorical column missing is a category.
        header: whether the first line of a text file holds names; else columns are ``column_1``, ``column_2`` …
        delimiter: what stands between the values of a text file; None goes by its name.
        decimal: what stands before the decimals of numbers that are text.
        thousands: what stands between the groups of their digits; None: nothing.
        missing: texts that stand for a missing value; None: ``?``, ``NA``, ``N/A``, ``n/a``, ``NaN``, ``nan``,
            ``null``, ``NULL``, ``None`` and ``<NA>``. Nothing always does. ``[]`` keeps them all as values.
        max_gib: GiB that a file may take when it is unpacked; None: half of this machine's memory.
        held_out: fraction of the rows of ``file`` that is set aside, the classes in proportion, the same rows whatever
            the seed: half of it for validation and half for test, all for validation with a ``test_file``.
        labels: training samples that training sees: so many of each class, or as a fraction this share of the labelled
            ones, see :class:`~datamodules.base.InMemoryDataModule`; None: all, labelled or not.
        fitted: what a checkpoint hands on; leave it out.

    Raises:
        ValueError: files with a fault, which it names; a fraction outside (0, 1).
        OSError: a file that cannot be read.
    """

    SAMPLES = "rows"

    PREDICTS_ALL = True
    OWN = True
    WITHOUT_ENCODER = "boosted trees (lightning test with --config configs/eval/raw.yaml)"

    def __init__(
        self,
        views: Sequence[Augmentation],
        file: str,
        target: str | None = None,
        test_file: str | None = None,
        batch_size: int = 512,
        categorical: Sequence[str] = (),
        drop: Sequence[str] = (),
        id: str | None = None,
        impute: bool = False,
        header: bool = True,
        delimiter: str | None = None,
        decimal: str = ".",
        thousands: str | None = None,
        missing: Sequence[str] | None = None,
        max_gib: float | None = None,
        held_out: float = 0.2,
        labels: int | float | None = None,
        fitted: Fitted | None = None,
    ) -> None:
        super().__init__(views, batch_size, num_classes=0, labels=labels)
        if not 0 < held_out < 1:
            raise ValueError(f"held_out must be in (0, 1), got {held_out}")
        if id is not None and id in (target, *categorical, *drop):
            raise ValueError(
                f"data.id is {id}, which data.target, data.categorical or data.drop names, too: leave it out"
            )
        self.target = target
        self.id = id
        self.held_out = held_out
        self._layout = Layout(header, delimiter, decimal, thousands, missing, max_gib)
        self._files = [Path(path).expanduser().absolute() for path in (file, test_file) if path is not None]
        if fitted is None:
            parts, index = self._read(self._files, named=(target, *categorical, *drop))
            place, table = parts[0]
            lacking = [name for name in drop if name not in table]
            if lacking:
                raise ValueError(f"{place} has no columns {some(lacking)} to drop")
            classes = [] if target is None else find_classes(parts, target)
            numbers = self._labels(parts, classes)
            splits = self._split(numbers, num_rows(table), classes)
            features = {name: column for name, column in table.items() if name not in (target, *drop)}
            columns = fit_columns(features, splits["train"].numpy(), categorical, impute, place)
            fitted = {"classes": classes, "columns": columns}
            self._loaded = Samples(parts, numbers, splits)
            rank_zero_info(f"{place}: columns are read as {columns.summary()}, {len(index) + len(drop)} left out")
        self._learn(fitted)

    @property
    def files(self) -> list[Path]:
        return self._files

    @property
    def fitted(self) -> dict[str, Any]:
        """What was learnt from training rows, in plain types."""
        return {"classes": self.classes, "columns": self.columns.to_dict()}

    def describe(self) -> dict[str, Any]:
        kinds = f"{len(self.columns.numeric)} numeric and {len(self.columns.categorical)} categorical columns"
        return {**super().describe(), "name": f"{self._files[0].name} with {kinds}"}

    def preparation(self) -> RowPreparation:
        return RowPreparation.of(self.columns)

    def load(self) -> Samples:
        if self.predicting:  # on one file, which needs no split and may be too small for one
            parts, _ = self._read(self._files[:1], self._named)
            everything = torch.arange(num_rows(parts[0][1]))
            return Samples(parts, self._labels(parts, self.classes), dict.fromkeys(get_args(Split), everything))
        parts, _ = self._read(self._files, self._named)
        target = self._labels(parts, self.classes)
        if self.target in parts[0][1] and not (target >= 0).any():
            own = labels_in([table for _, table in parts], self.target)
            if len(own) > 1:
                self._learn({**self.fitted, "classes": own})
                target = self._labels(parts, own)
        return Samples(parts, target, self._split(target, num_rows(parts[0][1]), self.classes))

    def encode(self, samples: Samples) -> Samples:
        for place, table in samples.inputs:
            if self.target is not None and self.target in table:
                unlabelled = text_of(table[self.target]).null_count
                tell_unlabelled(place, unlabelled, num_rows(table), "rows", self.target)
        # labels are numbered anew: a checkpoint may have brought other classes since
        warn_of_unknown(self._files[0], labels_in([table for _, table in samples.inputs], self.target), self.classes)
        rows = torch.cat([self.columns.encode(table, place) for place, table in samples.inputs])
        return Samples(rows, self._labels(samples.inputs, self.classes), samples.splits)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "fitted": self.fitted}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        fitted = state_dict["fitted"]
        classes = classes_after(self._files[0], fitted["classes"], self.classes, self.predicting)
        self._learn({**fitted, "classes": classes})

    @property
    def _named(self) -> list[str | None]:
        """Columns that training knows, and the target."""
        return [self.target, *self.columns.numeric, *self.columns.categorical]

    def _read(self, files: Sequence[Path], named: Collection[str | None]) -> tuple[list[Part], list[str]]:
        """Every file and its columns, and the names of those of the first file that are its index."""
        parts: list[Part] = []
        index: list[str] = []
        ids: list[pa.ChunkedArray] = []
        for path in files:
            table, left_out = read_table(path, self._layout, [self.id, *named, *(parts[0][1] if parts else ())])
            if not num_rows(table):
                raise ValueError(f"{path} has columns, but no rows")
            index = index if parts else left_out
            if self.id is not None:
                if self.id not in table:
                    raise ValueError(f"{path} has no column {self.id}, which data.id names; it has {some(list(table))}")
                ids.append(table.pop(self.id))
                if not table:
                    raise ValueError(f"{path} has no column beside {self.id}, which data.id names")
            parts.append((path, table))
        self.names = joined(ids) if ids else None
        return parts, index

    def _learn(self, fitted: Fitted | dict[str, Any]) -> None:
        self.classes: list[str] = fitted["classes"]
        columns = fitted["columns"]
        self.columns = columns if isinstance(columns, Columns) else Columns(**columns)
        self.num_classes = len(self.classes)
        self.in_features = self.columns.in_features
        self.cardinalities = self.columns.cardinalities

    def _labels(self, parts: Sequence[Part], classes: Sequence[str]) -> Tensor:
        """Labels of all rows, −1 where unknown, ``[M]``."""
        return torch.cat([labels_of(table, self.target, classes) for _, table in parts])

    def _split(self, target: Tensor, own: int, classes: Sequence[str]) -> dict[Split, Tensor]:
        """The three splits of labels ``[M]``, of which the first ``own`` are of the file that is to be split."""
        counts = target[:own].add(1).bincount(minlength=len(classes) + 1)[1:]
        needed = 3 if len(target) == own else 2
        rare = [label for label, count in zip(classes, counts.tolist(), strict=True) if 0 < count < needed]
        if rare and (target[:own] >= 0).all():
            raise ValueError(
                f"{self._files[0]}: {self.target} has labels of fewer than {needed} rows, {some(rare)}, which cannot "
                "be in training, validation and test: merge them with others, or empty those cells; if nearly every "
                "row has its own, leave the target out"
            )
        try:
            train, rest = stratified_split(target, self.held_out, np.arange(own))
            if len(target) > own:
                val, test = rest, np.arange(own, len(target))
            else:
                val, test = stratified_split(target, 0.5, rest)
        except ValueError as error:
            raise ValueError(
                f"{self._files[0]}: held_out {self.held_out} of {own} rows cannot be set aside, as each split needs "
                "rows of every class: add rows, or choose another held_out"
            ) from error
        parts = (torch.from_numpy(part) for part in (train, val, test))
        return dict(zip(get_args(Split), parts, strict=True))
