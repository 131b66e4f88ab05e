"""The rows of a table that differ in one thing, as lines over that."""

from __future__ import annotations

import math
from pathlib import Path

from lightning_renyicl.tables.scores import Table
from lightning_renyicl.tables.writing.drawing import ACROSS, COLOURS, MARKS, legend, pyplot, save, say_not_run


def lines(table: Table, path: Path) -> None:
    """A panel for each A of the rows, which are called A / B, and in it a line a column over the Bs in order.

    A row's number is a mark with its standard deviation; a column without a number has no mark there.
    """
    plt = pyplot()
    parts = [label.split(" / ") for label in table.spec.rows]
    panels, places = (list(dict.fromkeys(part)) for part in zip(*parts, strict=True))
    across = min(ACROSS, len(panels))
    down = math.ceil(len(panels) / across)
    size = (1 + 2.8 * across, 1.5 + 2.3 * down)
    figure, axes = plt.subplots(down, across, figsize=size, sharex=True, squeeze=False, layout="constrained")
    columns = [name for name, line in table.spec.columns.items() if not line.difference]
    for axis, panel in zip(axes.flat, panels, strict=False):
        for number, column in enumerate(columns):
            cells = {place: table.cells.get((f"{panel} / {place}", column)) for place in places}
            scores = [(places.index(place), cell.score) for place, cell in cells.items() if cell and cell.score]
            if not scores:
                continue
            x = [place + 0.06 * (number - len(columns) / 2) for place, _ in scores]  # so that bars don't hide others
            bars = [0.0 if math.isnan(score.std) else score.std for _, score in scores]
            style = {"color": COLOURS[number % len(COLOURS)], "marker": MARKS[number % len(MARKS)], "capsize": 2}
            axis.errorbar(x, [score.mean for _, score in scores], yerr=bars, label=column, **style)
        axis.set(title=panel, xticks=range(len(places)), xticklabels=places)
        axis.grid(alpha=0.3)
        if not axis.containers:
            say_not_run(axis)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    legend(figure, len(columns))
    figure.supxlabel(table.spec.lines)
    figure.supylabel(table.spec.unit)
    figure.suptitle(f"{table.spec.title}\n(scale {table.scale})", wrap=True)
    save(figure, path)
