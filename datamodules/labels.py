"""Labels of any kind as numbers of classes."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from datamodules.columns import text_of
from datamodules.table_files import num_rows

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)
MOST_FRACTIONS = 100
"""A column of numbers that are not whole and so many different ones is no column of labels."""


def in_order(labels: set[Any]) -> list[Any]:
    """Labels sorted, as numbers if all of them are."""
    try:
        numbers = {label: float(label) for label in labels}
    except ValueError:
        return sorted(labels)
    return sorted(labels, key=lambda label: (math.isnan(numbers[label]), numbers[label], str(label)))


def numbers_of(labels: Sequence[Any], classes: Sequence[Any]) -> Tensor:
    """The place of every label among the classes, −1 for others and for None, ``[M]``; 1 and "1" are the same."""
    numbers = {str(label): number for number, label in enumerate(classes)}
    return torch.tensor([-1 if label is None else numbers.get(str(label), -1) for label in labels])


def classes_after(place: object, trained: list[str], own: list[str]) -> list[str]:
    """The classes that count with a checkpoint: the training's, so that a class keeps its number.

    But the data's own if the training had none, or if the data has none of the training's.

    Args:
        place: of the data, for messages.
        trained: classes of the checkpoint.
        own: classes of the data.
    """
    if not own or {str(name) for name in own} & {str(name) for name in trained}:
        return trained
    if trained:
        log.warning("%s has none of the training's labels (%s): its own count", place, some(trained))
    return own


def warn_of_unknown(place: object, labels: Iterable[Any], classes: Sequence[Any]) -> None:
    """Warns of labels that are none of the classes, unless there are no classes."""
    known = {str(name) for name in classes}
    strange = in_order({str(label) for label in labels if label is not None} - known) if classes else []
    if strange:
        log.warning("%s has labels that are none of the training's and count as unknown: %s", place, some(strange))


def some(names: Sequence[Any]) -> str:
    """The first of many names."""
    return ", ".join(map(str, names[:3])) + (" …" if len(names) > 3 else "")


def find_classes(parts: Sequence[tuple[object, Mapping[str, pa.ChunkedArray]]], target: str) -> list[str]:
    """The different labels in tables, in order.

    Args:
        parts: a file and its columns each.
        target: the column of labels.

    Raises:
        ValueError: a table without this column, fewer than two labels, or numbers that are no labels.
    """
    for place, table in parts:
        if target not in table:
            raise ValueError(f"{place} has no column {target}, which is the target; it has {', '.join(table)}")
    classes = labels_in([table for _, table in parts], target)
    place = parts[0][0]
    if len(classes) < 2:
        found = f"has the same label {classes[0]!r} in all rows" if classes else "has no label"
        raise ValueError(f"{place}: {target} {found}: leave the target out")
    if len(classes) > MOST_FRACTIONS and any(is_fraction(label) for label in classes):
        raise ValueError(f"{place}: {target} has {len(classes):,} different numbers, no labels: leave the target out")
    return classes


def labels_in(tables: Iterable[Mapping[str, pa.ChunkedArray]], target: str | None) -> list[str]:
    """The different labels in tables, in order; a table may have no column of them."""
    found = (text_of(table[target]).unique().to_pylist() for table in tables if target is not None and target in table)
    return in_order({label for labels in found for label in labels} - {None})


def labels_of(table: Mapping[str, pa.ChunkedArray], target: str | None, classes: Sequence[str]) -> Tensor:
    """The class of every row of a table, −1 where it is unknown, ``[M]``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if target is None or target not in table:
        return torch.full((num_rows(table),), -1)
    known = pc.index_in(text_of(table[target]), pa.array(classes, pa.string()))
    return torch.from_numpy(known.fill_null(-1).to_numpy().astype("int64"))


def is_fraction(label: str) -> bool:
    """Whether a label is a number that is not whole."""
    try:
        return not float(label).is_integer()
    except ValueError:
        return False
