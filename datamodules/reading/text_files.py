"""Tables in text: CSV and TSV, which may be compressed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from datamodules.reading.layout import Layout, too_large
from datamodules.reading.metered import Metered
from datamodules.reading.start_of_text import check_start

if TYPE_CHECKING:
    import pyarrow as pa

VALUE = 16
"""Bytes that a value takes beside its text: its place in a column, and as a number of a row."""
ENCODING = "it is not in UTF-8, but perhaps in Latin-1 or Windows-1252: save it as UTF-8"


def read_text(path: Path, layout: Layout, delimiter: str) -> pa.Table:
    """The columns of a text file, as text.

    Raises:
        ValueError: a file that is damaged, empty, too large or no such table.
    """
    import pyarrow as pa
    from pyarrow import csv

    def check(size: int, values: int) -> None:
        if size + VALUE * values > layout.limit:
            raise too_large(path, size + VALUE * values, layout.limit)

    between = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    names: list[str] = []
    try:
        with pa.input_stream(path) as stream:
            check_start(path, stream.read(2**16), delimiter, layout.header)
        with Metered(path, delimiter, check) as file:
            names = csv.open_csv(file, csv.ReadOptions(use_threads=False), between).schema.names
        if not layout.header:
            names = [f"column_{number}" for number in range(1, len(names) + 1)]
        elif all(_is_number(name) for name in names):
            raise ValueError(f"{path}: the first line has numbers for names: set header to false")
        # as text, since types would be guessed from the first lines, and others may not fit
        as_text = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
        # by one thread: only then an error knows its line
        lines = csv.ReadOptions(column_names=None if layout.header else names, use_threads=False)
        with Metered(path, delimiter, check) as file:
            table = csv.read_csv(file, lines, between, as_text)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} is no table of text or damaged: {reason(error, names)}") from error
    except UnicodeDecodeError as error:  # of names
        raise ValueError(f"{path} is no table of text: {ENCODING}") from error
    return table


def reason(error: Exception, names: Sequence[str] = ()) -> str:
    """The first line of Arrow's message, which counts columns from 0, with the name of the column."""
    line = str(error).partition("\n")[0]
    line = re.sub(r"In CSV column #(\d+)", lambda match: f"In {names[int(match[1])]}" if names else match[0], line)
    if "straddling" in line:
        return "a line or a value is longer than 1 MiB, perhaps since a quotation mark isn't closed"
    return f"{line}; {ENCODING}" if "UTF8" in line else line


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
