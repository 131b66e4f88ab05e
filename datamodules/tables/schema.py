"""Which columns of a table are numbers and which are categories, and what is learnt of them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from datamodules.labels import some
from datamodules.reading.dress import dress_of
from datamodules.reading.index_columns import counts_rows
from datamodules.reading.values import floats_of, is_text, text_of
from datamodules.tables.columns import Columns

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

NAMES = 0.5
"""A column of text with this fraction of different values has names, not categories."""
FEW = 100
"""Rows with so many different values or less have categories anyway."""


def fit_columns(
    table: Mapping[str, pa.ChunkedArray],
    train: NDArray[np.int64],
    categorical: Collection[str],
    impute: bool,
    place: object,
) -> Columns:
    """Learns how to encode a table from its training rows.

    Columns of numbers, and of text that are all numbers, are numeric; truth values and other text are categorical.
    A column that counts the rows is warned of.

    Args:
        table: the features.
        train: training rows.
        categorical: columns that are categorical whatever they hold.
        impute: whether values may be missing.
        place: the file, for messages.

    Raises:
        ValueError: no columns, or such that are no feature: dates, nested or unknown types, names, without a value,
            numbers that are not written as such, and values that are missing, infinite or too large.
    """
    if not table:
        raise ValueError(f"{place} has no columns for features")
    unknown = [name for name in categorical if name not in table]
    if unknown:
        raise ValueError(f"{place} has no columns {some(unknown)}, which are to be categorical")
    missing = [name for name, column in table.items() if column.null_count or _has_nan(column)]
    if missing and not impute:
        raise ValueError(f"{place} has missing values in {some(missing)}: set impute to true, or drop them")
    columns = Columns([], [], [], [], [], [], impute)
    for name, column in table.items():
        _check_type(column, name, place)
        if name in categorical or not _is_numeric(column, name, place):
            values = text_of(column).take(train).unique().to_pylist()
            if set(values) == {None}:
                raise ValueError(f"{place}: {name} has no value in any training row: drop it")
            if name not in categorical and len(values) > max(FEW, NAMES * len(train)):
                raise ValueError(
                    f"{place}: {name} has {len(values):,} different values in {len(train):,} training rows: drop it, "
                    "or name it among categorical"
                )
            columns.categorical.append(name)
            columns.categories.append(sorted(values, key=lambda value: (value is None, value or "")))
            continue
        everything = floats_of(column, name, place)
        if counts_rows(everything):
            log.warning("%s: %s counts the rows: drop it, unless it says something of them", place, name)
        numbers = everything[train]
        known = numbers[~np.isnan(numbers)]
        if not len(known):
            raise ValueError(f"{place}: {name} has no value in any training row: drop it")
        with np.errstate(over="ignore", invalid="ignore"):
            mean, deviation = float(known.mean()), float(known.std())
        if not np.isfinite(deviation):
            raise ValueError(f"{place}: {name} has values up to {np.abs(known).max():g}, too large to standardise")
        if known.min() == known.max():  # for which these may be off by rounding
            mean, deviation = float(known[0]), 1.0
        columns.numeric.append(name)
        columns.means.append(mean)
        columns.deviations.append(deviation)
        if len(known) < len(numbers):
            columns.indicators.append(name)
    return columns


def _has_nan(column: pa.ChunkedArray) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_nan(column)).as_py())


def _check_type(column: pa.ChunkedArray, name: str, place: object) -> None:
    """Raises ValueError for a column that is neither of numbers nor of categories."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_temporal(kind):
        raise ValueError(f"{place}: {name} has dates or times: make numbers of them, or drop it")
    fine = (
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_decimal,
        pa.types.is_boolean,
        is_text,
        pa.types.is_null,
    )
    if not any(is_of(kind) for is_of in fine):
        raise ValueError(f"{place}: {name} has values of type {kind}, neither numbers nor categories: drop it")


def _is_numeric(column: pa.ChunkedArray, name: str, place: object) -> bool:
    """Whether a column holds numbers, perhaps as text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_null(column.type) or pa.types.is_boolean(column.type) or pa.types.is_dictionary(column.type):
        return False
    if not is_text(column.type):
        return True
    text = column.drop_null()
    if not len(text):
        return False
    try:
        pc.cast(text, pa.float64())
    except pa.ArrowInvalid:
        dress = dress_of(text)
        if dress:
            raise ValueError(f"{place}: {name} has {dress}, drop it, or name it among categorical") from None
        return False
    return True
