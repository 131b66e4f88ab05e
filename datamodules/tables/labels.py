"""Labels in a column of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from datamodules.labels import some, sorted_labels
from datamodules.reading.values import places_in, text_of
from datamodules.tables.files import num_rows

if TYPE_CHECKING:
    import pyarrow as pa

MOST_FRACTIONS = 100
"""A column of numbers that are not whole and so many different ones is no column of labels."""


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
            raise ValueError(f"{place} has no column {target}, which is the target; it has {some(list(table), 10)}")
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
    return sorted_labels({label for labels in found for label in labels} - {None})


def labels_of(table: Mapping[str, pa.ChunkedArray], target: str | None, classes: Sequence[str]) -> Tensor:
    """The class of every row of a table, −1 where it is unknown, ``[M]``."""
    if target is None or target not in table:
        return torch.full((num_rows(table),), -1)
    return torch.from_numpy(places_in(table[target], classes).fill_null(-1).to_numpy().astype("int64"))


def is_fraction(label: str) -> bool:
    """Whether a label is a number that is not whole."""
    try:
        return not float(label).is_integer()
    except ValueError:
        return False
