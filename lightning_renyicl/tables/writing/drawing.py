"""What every picture of a table begins and ends with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lightning_renyicl.atomic import replacing

ACROSS = 4
"""Panels side by side."""
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
"""Okabe and Ito's, which colour-blind readers tell apart."""
MARKS = "osD^vPX"


def pyplot() -> Any:
    """matplotlib's, without a display; imported when something is drawn."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    return plt


def say_not_run(axis: Any) -> None:
    """Writes that nothing was run into the middle of a panel."""
    axis.text(0.5, 0.5, "not run", ha="center", va="center", transform=axis.transAxes)


def legend(figure: Any, across: int) -> None:
    """A legend below the panels of what they have, each once."""
    axes = figure.axes
    handles = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    if handles:
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=across)


def save(figure: Any, path: Path) -> None:
    """Writes a figure whole or not at all, and closes it."""
    with replacing(path) as partial:
        figure.savefig(partial, dpi=110)
    pyplot().close(figure)
