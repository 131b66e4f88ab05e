"""Tables in files, read as they are: CSV and TSV, which may be compressed, and Parquet."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    import pyarrow as pa

MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>")
"""What stands for a missing value in text."""
SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}


def read_table(path: Path, header: bool = True, delimiter: str | None = None) -> dict[str, pa.ChunkedArray]:
    """The columns of a table, in the file's order. Those of text files are text, without the blanks around values.

    Args:
        path: ``.parquet`` or ``.pq``, else text: ``.tsv`` and ``.tab`` have tabs, others commas between values. Text
            may be compressed: ``.gz``, ``.bz2``, ``.zst``, ``.lz4``.
        header: whether the first line of a text file holds names; else columns are ``column_1``, ``column_2`` …
        delimiter: what stands between values of a text file, whatever its name.

    Raises:
        ValueError: a file that is damaged, empty or no such table; lines of different length, by number; names given
            twice.
        OSError: a file that cannot be read.
    """
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "no such file"
        raise FileNotFoundError(f"{path}: {what}")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".parquet", ".pq"):
        table = _read_parquet(path)
    else:
        tabs = any(suffix in (".tsv", ".tab") for suffix in suffixes)
        table = _read_text(path, header, delimiter or ("\t" if tabs else ","))
    names = [str(name).strip() for name in table.column_names]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{path} has several columns of the same name: {', '.join(twice)}")
    if not table.num_rows:
        raise ValueError(f"{path} has columns, but no rows")
    return dict(zip(names, table.columns, strict=True))


def read_numbers(path: Path, columns: int) -> Tensor:
    """A text file of numbers alone, commas between them and no line of names, as float32, ``[M, columns]``.

    Raises:
        ValueError: a file that is damaged or has another number of columns, a value that is no number or infinite.
        OSError: a file that cannot be read.
    """
    import pyarrow as pa
    from pyarrow import csv

    names = [f"column {number}" for number in range(1, columns + 1)]
    types = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float32()), null_values=[])
    try:
        try:
            table = csv.read_csv(path, csv.ReadOptions(column_names=names), convert_options=types)
        except pa.ArrowInvalid:  # one thread is slower, but its error knows the row
            table = csv.read_csv(path, csv.ReadOptions(column_names=names, use_threads=False), convert_options=types)
    except pa.ArrowException as error:
        raise ValueError(f"{path} is no table of {columns} numbers or damaged: {_reason(error, names)}") from error
    numbers = torch.empty(table.num_rows, columns)
    for number, name in enumerate(names):
        numbers.numpy()[:, number] = table[name].to_numpy()
        table = table.drop_columns(name)  # for the memory
    broken = (~numbers.isfinite()).nonzero()
    if len(broken):
        row, column = broken[0].tolist()
        raise ValueError(f"{path}, row {row + 1}: {names[column]} is {numbers[row, column].item()}")
    return numbers


def num_rows(table: Mapping[str, pa.ChunkedArray]) -> int:
    """Rows of a table."""
    return len(next(iter(table.values())))


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.read_table(path, partitioning=None)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} is no Parquet file or damaged: {_reason(error)}") from error


def _read_text(path: Path, header: bool, delimiter: str) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    layout = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    names: list[str] = []
    try:
        names = csv.open_csv(path, csv.ReadOptions(use_threads=False), layout).schema.names
        if not header:
            names = [f"column_{number}" for number in range(1, len(names) + 1)]
        elif len(names) == 1 and not _is_number(names[0]):
            _complain_of_separator(path, names[0], delimiter)
        elif all(_is_number(name) for name in names):
            raise ValueError(f"{path}: the first line has numbers for names: say header false")
        # as text, since types would be guessed from the first lines, and others may not fit
        as_text = csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), null_values=MISSING, strings_can_be_null=True
        )
        # by one thread: only then an error knows its line
        lines = csv.ReadOptions(column_names=None if header else names, use_threads=False)
        table = csv.read_csv(path, lines, layout, as_text)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} is no table of text or damaged: {_reason(error, names)}") from error
    return pa.table([_stripped(column) for column in table.columns], names=table.column_names)


def _stripped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text without blanks around it; what is nothing else is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_null(column.type):
        return column.cast(pa.string())
    text = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.is_in(text, pa.array(MISSING)), pa.scalar(None, pa.string()), text)


def _complain_of_separator(path: Path, line: str, delimiter: str) -> None:
    """Raises ValueError if the first line, which the delimiter leaves whole, has another one in it."""
    for other, name in SEPARATORS.items():
        if other in line:
            between = SEPARATORS.get(delimiter, repr(delimiter))
            raise ValueError(f"{path} has no {between}, but {name} between its values: say delimiter {other!r}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _reason(error: Exception, names: Sequence[str] = ()) -> str:
    """The first line of Arrow's message, which counts columns from 0, with the name of the column."""
    line = str(error).partition("\n")[0]
    return re.sub(r"In CSV column #(\d+)", lambda match: f"In {names[int(match[1])]}" if names else match[0], line)
