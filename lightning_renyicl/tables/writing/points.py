"""Two columns of a table against each other, as a picture."""

from __future__ import annotations

import math
from pathlib import Path

from lightning_renyicl.tables.scores import Table
from lightning_renyicl.tables.writing.drawing import COLOURS, MARKS, pyplot, save, say_not_run


def points(table: Table, path: Path) -> None:
    """A panel for each first part of the rows' labels, a colour for each second part, a mark for each third.

    A row is a point where both columns have a score, with the standard deviations of both.
    """
    plt = pyplot()
    from matplotlib.lines import Line2D

    across, up = table.spec.points
    labels = [(*label.split(" / "), "", "")[:3] for label in table.spec.rows]
    panels, kinds, variants = (list(dict.fromkeys(part)) for part in zip(*labels, strict=True))
    colours = {kind: COLOURS[number % len(COLOURS)] for number, kind in enumerate(kinds)}
    marks = {variant: MARKS[number % len(MARKS)] for number, variant in enumerate(variants)}
    size = (1 + 3.4 * len(panels), 4.2)
    figure, axes = plt.subplots(1, len(panels), figsize=size, squeeze=False, layout="constrained")
    for row, (panel, kind, variant) in zip(table.spec.rows, labels, strict=True):
        x, y = (table.cells[row, column].score for column in (across, up))
        if x and y:
            bars = [0.0 if math.isnan(score.std) else score.std for score in (x, y)]
            style = {"fmt": marks[variant], "color": colours[kind], "capsize": 3, "markersize": 7}
            axes[0, panels.index(panel)].errorbar(x.mean, y.mean, xerr=bars[0], yerr=bars[1], **style)
    for axis, panel in zip(axes.flat, panels, strict=True):
        axis.set(title=panel, xlabel=f"{across}, {table.spec.unit_of(across)}")
        axis.grid(alpha=0.3)
        if not axis.containers:
            say_not_run(axis)
    axes[0, 0].set_ylabel(f"{up}, {table.spec.unit_of(up)}")
    handles = [Line2D([], [], color=colour, linewidth=4, label=kind) for kind, colour in colours.items()]
    handles += [Line2D([], [], color="gray", marker=mark, linestyle="", label=name) for name, mark in marks.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    figure.suptitle(f"{table.spec.title}\n(scale {table.scale})", wrap=True)
    save(figure, path)
