"""A CSV log that a resumed run continues."""

from __future__ import annotations

import csv
from argparse import Namespace
from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import Logger
from lightning.pytorch.utilities import rank_zero_only, rank_zero_warn
from torch import Tensor

from lightning_renyicl.atomic import replacing

Row = dict[str, Any]


class ContinuedCSVLogger(Logger):
    """Writes ``metrics.csv`` directly into ``folder``, keeping what a run wrote before.

    Its rows are kept up to the step at which the resumed run logs first, so that a run that was killed after its last
    checkpoint leaves one curve without repeated steps. Rows are added at the file's end, and whatever changes the lines
    above takes the file's place in one move. So a kill costs the last line at most, which is then left out.

    Args:
        folder: run folder, in which ``metrics.csv`` is written.

    Raises:
        ValueError: a file there that is no such log.
    """

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._path = Path(folder) / "metrics.csv"
        self._rows: list[Row] = []  # that are not in the file
        self._columns: list[str] = []  # of the file
        self._earlier = read_rows(self._path) if rank_zero_only.rank == 0 else []  # type: ignore[attr-defined]

    @property
    def name(self) -> str:
        return ""

    @property
    def version(self) -> str:
        return ""

    @property
    def save_dir(self) -> str:
        """The run folder."""
        return str(self._path.parent)

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Takes down a row, which :meth:`save` writes."""
        if step is None:
            step = self._rows[-1]["step"] + 1 if self._rows else 0
        if not self._columns:
            self._begin([row for row in self._earlier if int(row["step"]) < step])
        values = {name: value.item() if isinstance(value, Tensor) else value for name, value in metrics.items()}
        self._rows.append({**values, "step": step})

    @rank_zero_only
    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kwargs: Any) -> None:
        """Does nothing: the run folder has ``config.yaml``."""

    @rank_zero_only
    def save(self) -> None:
        """Writes the rows that are not in the file yet."""
        if not self._rows:
            return
        columns = sorted({*self._columns, *(name for row in self._rows for name in row)})
        if columns != self._columns:
            self._write([*read_rows(self._path), *self._rows], columns)
        else:
            with self._path.open("a", encoding="utf-8", newline="") as file:
                file.write(lines(self._rows, columns))
        self._rows = []

    @rank_zero_only
    def finalize(self, status: str) -> None:
        self.save()

    def _begin(self, rows: list[Row]) -> None:
        """Leaves in the file what a resumed run goes on from."""
        self._earlier = []
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if rows:
            self._write(rows, list(rows[0]))
        else:
            self._path.unlink(missing_ok=True)

    def _write(self, rows: list[Row], columns: list[str]) -> None:
        header = dict(zip(columns, columns, strict=True))
        with replacing(self._path) as partial:
            partial.write_text(lines([header, *rows], columns), encoding="utf-8", newline="")
        self._columns = columns


def lines(rows: Iterable[Row], columns: list[str]) -> str:
    """Lines of a CSV file."""
    text = StringIO()
    csv.DictWriter(text, columns).writerows(rows)
    return text.getvalue()


def read_rows(path: Path) -> list[Row]:
    """The rows of a log, without a last line that was cut; none if there is no file.

    Raises:
        ValueError: a file that is no log.
    """
    try:
        text = path.read_bytes().decode()
        whole, end, cut = text.rpartition("\n")
        rows = list(csv.DictReader(StringIO(whole + end, newline="")))
        if any(None in row or None in row.values() or not row["step"].isdigit() for row in rows):
            raise ValueError("a line doesn't have the header's columns")
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, csv.Error) as error:
        raise ValueError(f"{path} is no log of a run ({error}); move or delete it") from error
    if cut:
        rank_zero_warn(f"the last line of {path} was cut, by a kill or a full disk, and is left out")
    return rows
