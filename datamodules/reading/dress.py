"""Text that is meant as numbers, amounts, dates or times, but isn't written so that it can be used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from datamodules.labels import some
from datamodules.reading.cleaning import MOSTLY

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

MANY = 10
"""So many different numbers, more than there are other texts, are meant to be numbers."""
NUMBERS, DATES, TIMES, AMOUNTS, DECIMALS, THOUSANDS, NEGATIVES, QUANTITIES, RATIOS = (
    *("numbers", "dates", "times", "amounts"),
    *("numbers with a decimal comma", "numbers with marks between thousands"),
    *("negative numbers written otherwise", "numbers with a unit", "ratios"),
)
MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
CURRENCY = "(?:[$€£¥₹₽]|USD|EUR|GBP|CHF|JPY|CNY|INR)"
AMOUNT = r"[0-9][0-9.,' ]*"
PATTERNS = {
    NUMBERS: r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?",
    DATES: rf"(\d{{4}}[./-]\d{{1,2}}[./-]\d{{1,2}}|\d{{1,2}}[./-]\d{{1,2}}[./-](\d{{4}}|\d\d))([ T,].*)?"
    rf"|\d{{4}}[/-](0[1-9]|1[0-2])|([a-z]{{3,9}},? )?\d{{1,2}}[ -]{MONTH}[ .,-]*\d{{2,4}}( .*)?"
    rf"|{MONTH} (\d{{1,2}},? )?\d{{4}}( .*)?|{MONTH}-\d{{2,4}}|\d{{4}}-?W\d\d(-?\d)?",
    TIMES: r"\d{1,3}:\d\d(:\d\d([.,]\d+)?)?( ?[ap]\.?m\.?)?|\d+ days?( .*)?",
    AMOUNTS: rf"[+-]? ?{CURRENCY} ?[+-]?{AMOUNT}|[+-]?{AMOUNT}({CURRENCY}|[%‰])",
    THOUSANDS: "[+-]?[0-9]{1,3}([,.'’ \u00a0\u202f][0-9]{2,3})*[,.'’ \u00a0\u202f][0-9]{3}([.,][0-9]+)?",
    DECIMALS: "[+-]?[0-9]+,[0-9]+(e[+-]?[0-9]+)?",
    NEGATIVES: "[\u2212\u2013] ?[0-9]+([.,][0-9]+)?|[(] ?[0-9]+([.,][0-9]+)? ?[)]|[0-9]+([.,][0-9]+)? ?-",
    QUANTITIES: r"[+-]?[0-9]+([.,][0-9]+)? ?(°[CFK]?|[\"']{1,2}|[a-zµμ]{1,3}([/²³][a-z0-9]*)?)",
    RATIOS: "[0-9]+ ?[/:] ?[0-9]+",
}
"""What the kinds look like; a text is of the first that it fits."""
FEW = (QUANTITIES, RATIOS)
"""Kinds that a category may look like, as "4WD" and "2/4" do, unless there are ``MANY`` of them."""
NOTHING = r"[-–—.?*/]+|n\.? ?[ad]\.?|#.*|none|nil|null|nan|missing|unknown|\(null\)|<null>|not available|not applicable"
"""Texts that usually stand for no value."""


def dress_of(column: pa.ChunkedArray) -> str | None:
    """What a column of text that aren't all numbers is really of, and how to mend it; None if it is of categories.

    Args:
        column: text, null where missing.
    """
    import pyarrow.compute as pc

    found = column.drop_null().value_counts()
    texts, counts = found.field("values"), found.field("counts").to_numpy(zero_copy_only=False)
    masks: dict[str, NDArray[np.bool_]] = {}
    some_kind = np.zeros(len(texts), bool)
    for kind, pattern in PATTERNS.items():
        fits = pc.match_substring_regex(texts, rf"^(?i:{pattern})$").to_numpy(zero_copy_only=False).astype(bool)
        fits &= kind not in FEW or (fits & ~some_kind).sum() >= MANY
        masks[kind] = fits & ~some_kind
        some_kind |= fits
    empty = pc.match_substring_regex(texts, rf"^(?i:{NOTHING})$").to_numpy(zero_copy_only=False).astype(bool)
    rows = counts[~empty | some_kind].sum()
    many = some_kind.sum() >= MANY and some_kind.sum() > (~some_kind).sum()
    if not some_kind.any() or (counts[some_kind].sum() < MOSTLY * rows and not many):
        return None
    sizes = {kind: int(counts[mask].sum()) for kind, mask in masks.items() if kind != NUMBERS and mask.any()}
    kind = max(sizes, key=lambda name: sizes[name]) if sizes else NUMBERS
    if kind == THOUSANDS and masks[DECIMALS].any():
        kind = DECIMALS  # of which some have three digits
    examples = texts.filter(masks[kind])[:3].to_pylist()
    others = ~some_kind
    but = f", but also {some([repr(text) for text in texts.filter(others)[:4].to_pylist()])}" if others.any() else ""
    like = "" if kind == NUMBERS else f" such as {', '.join(map(repr, examples))}"
    return f"{kind}{like}{but}: {_advice(kind, examples[0], bool(others.any()))}"


def _advice(kind: str, example: str, others: bool) -> str:
    """What to do with a column."""
    marks = [mark for mark in re.findall(r"[^0-9+-]", example) if mark not in "eE"]
    mend = {
        NUMBERS: "mend it",
        DATES: "make numbers of them",
        TIMES: "make numbers of them",
        AMOUNTS: "leave out what stands beside the numbers",
        DECIMALS: "set decimal to ','",
        NEGATIVES: "write them with '-' in front",
        QUANTITIES: "leave out what stands beside the numbers",
        RATIOS: "make numbers of them",
    }
    if kind == THOUSANDS:
        decimal = f" and decimal to {marks[-1]!r}" if marks[-1] == "," != marks[0] else ""
        mend[THOUSANDS] = f"set thousands to {marks[0]!r}{decimal}"
    listed = "list what stands for no value in missing, " if others else ""
    return f"{listed}{mend[kind]}"
