"""Tables of numbers alone, in text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from datamodules.reading.metered import Metered
from datamodules.reading.text_files import reason

if TYPE_CHECKING:
    import pyarrow as pa


def read_numbers(path: Path, columns: int, rows: int) -> Tensor:
    """A text file of numbers alone, commas between them and no line of names, as float32, ``[M, columns]``.

    Args:
        path: the file, compressed or not.
        columns: numbers in a row.
        rows: most rows that it may have.

    Raises:
        ValueError: a file that is damaged or has more rows or another number of columns, a value that is no number
            or infinite.
        OSError: a file that cannot be read.
    """
    import pyarrow as pa
    from pyarrow import csv

    names = [f"column {number}" for number in range(1, columns + 1)]
    types = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float32()), null_values=[])

    def check(size: int, values: int) -> None:
        if values > columns * (rows + 1):
            raise ValueError(f"{path} has more than {rows:,} rows of {columns} numbers: it is another file")

    def read(use_threads: bool) -> pa.Table:
        with Metered(path, ",", check) as file:
            layout = csv.ReadOptions(column_names=names, use_threads=use_threads)
            return csv.read_csv(file, layout, convert_options=types)

    try:
        try:
            table = read(use_threads=True)
        except pa.ArrowInvalid:  # one thread is slower, but its error knows the row
            table = read(use_threads=False)
    except pa.ArrowException as error:
        raise ValueError(f"{path} is no table of {columns} numbers or damaged: {reason(error, names)}") from error
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
