"""A bar over all runs of a table, which also moves while a long one trains."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from lightning_renyicl.runs.folder import RunFolder
from lightning_renyicl.tables.training import Run, read_yaml


class Progress:
    """Runs done, the epochs that others have trained, and the time left.

    Args:
        title: printed before the bar.
        done: number of runs that are done.
        waiting: those that are not.
    """

    def __init__(self, title: str, done: int, waiting: Sequence[Run]) -> None:
        self._done = done
        self._waiting = set(waiting)
        self._bar = tqdm(
            total=done + len(waiting),
            initial=self._count(),
            desc=title,
            bar_format="{l_bar}{bar}| {n:.1f}/{total} runs [{elapsed}<{remaining}]",
        )

    def look(self) -> None:
        """Takes in what the runs have logged since."""
        before, self._bar.n = self._bar.n, max(self._bar.n, self._count())
        # a log of a night's runs gets a line for a tenth of a run, not for a second
        if sys.stderr.isatty() or round(before, 1) != round(self._bar.n, 1):
            self._bar.refresh()

    def finish(self, run: Run) -> None:
        """Counts a run that is not waited for any more."""
        self._waiting.discard(run)
        self._done += 1
        self.look()

    def write(self, text: str) -> None:
        """Prints lines above the bar."""
        self._bar.write(text)

    def close(self) -> None:
        """Leaves the bar as it stands."""
        self._bar.close()

    def _count(self) -> float:
        return self._done + sum(trained(run.folder) for run in self._waiting)


def trained(folder: Path) -> float:
    """The share of its steps or epochs that a run has trained, in [0, 1), from the last line of ``metrics.csv``."""
    config = RunFolder(folder).config
    try:
        with (folder / "metrics.csv").open("rb") as stream:
            header = stream.readline()
            stream.seek(max(len(header), stream.seek(0, 2) - 4096))
            lines = stream.read().splitlines()
        trainer = read_yaml(config)["trainer"]
        unit, whole = "epoch", trainer["max_epochs"]
        if trainer.get("max_steps", -1) > 0:
            unit, whole = "step", trainer["max_steps"]
        place = header.strip().split(b",").index(unit.encode())
        cells = [line.split(b",")[place] for line in lines[-2:]]
        reached = int([cell for cell in cells if cell][-1])  # the line of a learning rate has none
        return min(max(reached / whole, 0.0), 0.99)
    except (OSError, ValueError, LookupError, TypeError, ZeroDivisionError):
        return 0.0  # nothing logged yet, or a line half written
