"""Values of a column: as numbers, and as texts of which every value has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from datamodules.text_form import text_form

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

ODD = r"[.eE+]|^-0$|^\s|\s$|^(?i:true)$"
"""Texts that may have another form. ``false`` has an e."""


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is one of text."""
    import pyarrow as pa

    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def text_of(column: pa.ChunkedArray, decimals: bool = True) -> pa.ChunkedArray:
    """Values as text, null where missing, one text for one value: see :func:`~datamodules.text_form.text_form`.

    Args:
        column: values of any type.
        decimals: whether 0.1 and "0.10" are the same, unless the column has both "0.1" and "0.10", as versions and
            sections are numbered.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    text = pc.cast(column, pa.string())
    if pa.types.is_integer(column.type) or not pc.any(pc.match_substring_regex(text, ODD)).as_py():
        return text
    written = text.drop_null().unique()
    forms = [text_form(value, decimals=False) for value in written.to_pylist()]
    if decimals:
        short = [text_form(form) for form in forms]
        forms = short if len(set(short)) == len(set(forms)) else forms
    return _replaced(text, written, forms)


def joined(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Columns one below the other, as text if they are of several types."""
    import pyarrow as pa

    if len({column.type for column in columns}) > 1:
        columns = [text_of(column) for column in columns]
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)


def places_in(column: pa.ChunkedArray, known: Sequence[str | None]) -> pa.ChunkedArray:
    """The place of every value among known ones, null where it is none of them; None is a missing value.

    Known ones may be written in any way, as earlier versions kept them.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    text = text_of(column, decimals=False)
    places = []
    for decimals in (False, True):
        forms = [None if value is None else text_form(value, decimals) for value in known]
        places.append(pc.index_in(text, pa.array(forms, pa.string())))
        written = text.drop_null().unique()
        text = _replaced(text, written, [text_form(value) for value in written.to_pylist()])
    return pc.coalesce(*places)


def _replaced(text: pa.ChunkedArray, written: pa.Array, forms: Sequence[str]) -> pa.ChunkedArray:
    """Text in which every written value has its form."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.take(pa.array(forms, pa.string()), pc.index_in(text, written, skip_nulls=True))


def all_numbers(text: pa.ChunkedArray) -> bool:
    """Whether all values of a column of text are numbers, those that are missing apart."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        pc.cast(text, pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def floats_of(column: pa.ChunkedArray, name: str, place: object) -> NDArray[np.float64]:
    """Values of a numeric column, NaN where missing, ``[M]``.

    Raises:
        ValueError: a value that is no number, or infinite.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        numbers = pc.cast(column, pa.float64())
    except pa.ArrowInvalid:
        for row, value in enumerate(column):
            try:
                pc.cast(value, pa.float64())
            except pa.ArrowInvalid as error:
                raise ValueError(f"{place}, row {row + 1}: {name} is {value.as_py()!r}, no number") from error
        raise
    values: NDArray[np.float64] = numbers.fill_null(np.nan).to_numpy().copy()
    if np.isinf(values).any():
        row = int(np.isinf(values).argmax())
        raise ValueError(f"{place}, row {row + 1}: {name} is {column[row].as_py()}, infinite or too large")
    return values
