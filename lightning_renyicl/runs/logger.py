"""A CSV log that a resumed run continues."""

from __future__ import annotations

import csv
from argparse import Namespace
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.loggers.logger import rank_zero_experiment
from lightning.pytorch.utilities import rank_zero_only


class ContinuedCSVLogger(CSVLogger):
    """Lightning's CSVLogger, writing ``metrics.csv`` directly into ``folder`` and keeping what a run wrote before.

    Lightning's deletes the file of before. This one keeps its rows up to the step at which the resumed run logs first,
    so that a run that was killed after its last checkpoint leaves one curve without repeated steps.

    Args:
        folder: run folder, in which ``metrics.csv`` is written.
    """

    def __init__(self, folder: str) -> None:
        super().__init__(save_dir=folder, name="", version="")
        self._path = Path(folder) / "metrics.csv"
        self._earlier: list[dict[str, Any]] = []
        if self._path.exists():
            with self._path.open(newline="") as file:
                self._earlier = list(csv.DictReader(file))

    @property
    @rank_zero_experiment
    def experiment(self) -> Any:
        """The writer, whose construction deletes the file of before: its rows go back at once."""
        new = self._experiment is None
        writer = super().experiment
        if new:
            self._write(writer, self._earlier)
        return writer

    @rank_zero_only
    def log_metrics(self, metrics: Any, step: int | None = None) -> None:
        if self._earlier and step is not None:
            rows, self._earlier = [row for row in self._earlier if int(row["step"]) < step], []
            self._path.unlink(missing_ok=True)
            self._write(self.experiment, rows)
        super().log_metrics(metrics, step)

    @staticmethod
    def _write(writer: Any, rows: list[dict[str, Any]]) -> None:
        writer.metrics = list(rows)
        writer.save()

    @rank_zero_only
    def log_hyperparams(self, params: dict[str, Any] | Namespace | None = None) -> None:
        """Does nothing: the run folder has ``config.yaml``."""
