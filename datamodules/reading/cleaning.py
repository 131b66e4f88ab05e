"""Text columns of any file in one form: no blanks around values, missing ones missing, numbers with a point."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from datamodules.reading.layout import Layout
from datamodules.reading.values import is_text

if TYPE_CHECKING:
    import pyarrow as pa

WITH_POINT = r"^[+-]?[0-9]*\.[0-9]+([eE][+-]?[0-9]+)?$"
MOSTLY = 0.9
"""A column of which this fraction are numbers is meant to be one of numbers."""


def cleaned(column: pa.ChunkedArray, layout: Layout, name: str, place: object) -> tuple[pa.ChunkedArray, list[str]]:
    """A column whose text is in one form, and the texts in it that stood for a missing value.

    Raises:
        ValueError: numbers of which some have a point and others another decimal mark.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind) and is_text(kind.value_type):
        column, marks = cleaned(column.cast(kind.value_type), layout, name, place)
        return column.dictionary_encode(), marks
    if not is_text(kind):
        return column, []
    text = pc.utf8_trim_whitespace(column.cast(pa.string()) if pa.types.is_string_view(kind) else column)
    missing = pc.is_in(text, pa.array(layout.marks, text.type))
    marks = [mark for mark in text.filter(missing).unique().to_pylist() if mark]
    text = pc.if_else(missing, pa.scalar(None, text.type), text)
    return _with_point(text, layout, name, place), marks


def _with_point(text: pa.ChunkedArray, layout: Layout, name: str, place: object) -> pa.ChunkedArray:
    """Text whose numbers are written with a decimal point and nothing between their digits."""
    import pyarrow.compute as pc

    if layout.decimal == "." and layout.thousands is None:
        return text
    decimal, thousands = re.escape(layout.decimal), re.escape(layout.thousands or "")
    groups = rf"[0-9]{{1,3}}({thousands}[0-9]{{2,3}})*{thousands}[0-9]{{3}}|" if thousands else ""
    own = pc.match_substring_regex(text, rf"^[+-]?({groups}[0-9]+|)({decimal}[0-9]+)?([eE][+-]?[0-9]+)?$")
    own = pc.and_(own, pc.match_substring_regex(text, r"[0-9]"))
    plain = pc.replace_substring(text, layout.thousands, "") if layout.thousands else text
    plain = pc.if_else(own, pc.replace_substring(plain, layout.decimal, "."), text)
    if layout.decimal == ".":
        return plain
    other = pc.and_(pc.match_substring_regex(text, WITH_POINT), pc.invert(own))
    if pc.any(other).as_py() and pc.mean(pc.or_(own, other)).as_py() >= MOSTLY:
        row = pc.index(other, True).as_py()
        raise ValueError(
            f"{place}, row {row + 1}: {name} is {text[row].as_py()!r}, which has a point where decimal is "
            f"{layout.decimal!r}: write all numbers of a file in one way"
        )
    return plain
