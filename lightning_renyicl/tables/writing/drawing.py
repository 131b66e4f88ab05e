"""What every picture of a table begins and ends with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lightning_renyicl.atomic import replacing


def pyplot() -> Any:
    """matplotlib's, without a display; imported when something is drawn."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    return plt


def say_not_run(axis: Any) -> None:
    """Writes that nothing was run into the middle of a panel."""
    axis.text(0.5, 0.5, "not run", ha="center", va="center", transform=axis.transAxes)


def save(figure: Any, path: Path) -> None:
    """Writes a figure whole or not at all, and closes it."""
    with replacing(path) as partial:
        figure.savefig(partial, dpi=110)
    pyplot().close(figure)
