"""What the first lines of a file say of its encoding and of what stands between its values."""

from __future__ import annotations

import re
from pathlib import Path

SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
FORMS = {
    b"PAR1": "a Parquet file: name it .parquet",
    b"PK\x03\x04": "a zip archive or a spreadsheet: unpack it, or save it as CSV",
    b"\xd0\xcf\x11\xe0": "a spreadsheet: save it as CSV",
    b"\x1f\x8b": "compressed by gzip: name it .gz",
    b"BZh": "compressed by bzip2: name it .bz2",
    b"\xfd7zXZ": "compressed by xz: unpack it",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: name it .zst",
}
"""What files begin with that are no text."""


def check_start(path: Path, start: bytes, delimiter: str, header: bool) -> None:
    """Checks how a file begins.

    Args:
        path: the file, for messages.
        start: its first bytes.
        delimiter: what is to stand between its values.
        header: whether its first line holds names.

    Raises:
        ValueError: a file that is no text, text that is not in UTF-8, or another separator.
    """
    for sign, what in FORMS.items():
        if start.startswith(sign):
            raise ValueError(f"{path} is {what}")
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or start.count(0) > len(start) / 4:
        raise ValueError(f"{path} is in UTF-16, not in UTF-8: save it as UTF-8 (iconv -f UTF-16 -t UTF-8)")
    try:
        text = start.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.end < len(start) - 4:  # not a character that is cut
            line = start[: error.start].count(b"\n") + 1
            raise ValueError(
                f"{path} is not in UTF-8, see line {line}: save it as UTF-8 (if it is in Latin-1 or Windows-1252, "
                "iconv -f WINDOWS-1252 -t UTF-8)"
            ) from error
        text = start[: error.start].decode("utf-8-sig")
    lines = [line for line in text.splitlines()[:3] if line.strip()]
    if not lines:
        return
    if re.fullmatch(r"\"?sep=.\"?", lines[0].strip("\r\n"), re.IGNORECASE):
        mark = lines[0].strip('"')[4]
        tell = "" if mark == delimiter else f", and set delimiter to {mark!r}"
        raise ValueError(f"{path}: its first line, {lines[0]!r}, is for spreadsheets: delete it{tell}")
    if header:
        _check_separator(path, lines, delimiter)


def _check_separator(path: Path, lines: list[str], delimiter: str) -> None:
    """Raises ValueError if other marks stand between the values of the first lines."""
    counts = [line.count(delimiter) for line in lines[:2]]
    for other, name in SEPARATORS.items():
        others = [line.count(other) for line in lines[:2]]
        if other == delimiter or not others[0] or (counts[0] and (len(set(counts)) == 1 or len(set(others)) > 1)):
            continue
        between = SEPARATORS.get(delimiter, repr(delimiter))
        has = "has no" if not counts[0] else "seems to have no"
        decimal = " and decimal to ','" if other == ";" and re.search(r"\d,\d", lines[-1]) else ""
        raise ValueError(f"{path} {has} {between}, but {name} between its values: set delimiter to {other!r}{decimal}")
