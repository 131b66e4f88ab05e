"""How the values of a file are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from datamodules.limits import memory_limit

MISSING = ("?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>")
"""What stands for a missing value in text, beside nothing at all."""


@dataclass(frozen=True)
class Layout:
    r"""How the values of a file are written; what is of text holds for text in Parquet too, except for its form.

    Args:
        header: whether the first line of a text file holds names; else columns are ``column_1``, ``column_2`` …
        delimiter: what stands between values of a text file; None goes by its name. ``\t`` is a tab.
        decimal: what stands before the decimals of a number.
        thousands: what stands between groups of its digits; None: nothing.
        missing: texts that stand for a missing value; None: those of ``MISSING``. Nothing always does.
        max_gib: GiB that a file may take when it is unpacked; None: half of this machine's memory.

    Raises:
        ValueError: a mark that is no single character, or the same one for decimals and thousands.
    """

    header: bool = True
    delimiter: str | None = None
    decimal: str = "."
    thousands: str | None = None
    missing: Sequence[str] | None = None
    max_gib: float | None = None

    def __post_init__(self) -> None:
        if self.delimiter == r"\t":
            object.__setattr__(self, "delimiter", "\t")
        for name in ("delimiter", "decimal", "thousands"):
            mark = getattr(self, name)
            if mark is not None and len(mark) != 1:
                raise ValueError(f"{name} must be one character, got {mark!r}")
        if self.decimal == self.thousands:
            raise ValueError(f"decimal and thousands must be different, got {self.decimal!r} for both")
        if self.max_gib is not None and not self.max_gib > 0:
            raise ValueError(f"max_gib must be above 0, got {self.max_gib}")

    @property
    def marks(self) -> list[str]:
        """All texts that stand for a missing value."""
        return ["", *(MISSING if self.missing is None else self.missing)]

    @property
    def limit(self) -> int:
        """Bytes that a file may take when it is unpacked."""
        return memory_limit() if self.max_gib is None else int(self.max_gib * 2**30)


def too_large(place: object, size: float, limit: int) -> ValueError:
    """The error for a file that takes ``size`` bytes, at least, when it is unpacked."""
    return ValueError(
        f"{place} takes {size / 2**30:,.2f} GiB or more when it is unpacked, for which max_gib allows "
        f"{limit / 2**30:,.2f}: is it the right file? A larger max_gib reads it"
    )
