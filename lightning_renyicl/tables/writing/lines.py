"""The rows of a table that differ in one thing, as lines over that."""

from __future__ import annotations

import math
from pathlib import Path

from lightning_renyicl.tables.scores import Table
from lightning_renyicl.tables.writing.drawing import ACROSS, COLOURS, MARKS, legend, pyplot, save, say_not_run


def lines(table: Table, path: Path) -> None:
    """A panel for each A of the rows, which are called A / B, and in it a line a column over its Bs in order.

    A row's number is a mark with its standard deviation; a column without a number has no mark there.
    """
    plt = pyplot()
    panels: dict[str, list[str]] = {}
    for label in table.spec.rows:
        panel, place = label.split(" / ")
        panels.setdefault(panel, []).append(place)
    across = min(ACROSS, len(panels))
    down = math.ceil(len(panels) / across)
    size = (1 + 2.8 * across, 1.5 + 2.6 * down)
    figure, axes = plt.subplots(down, across, figsize=size, squeeze=False, layout="constrained")
    columns = [name for name, line in table.spec.columns.items() if not line.difference]
    for axis, (panel, places) in zip(axes.flat, panels.items(), strict=False):
        for number, column in enumerate(columns):
            cells = [table.cells[f"{panel} / {place}", column] for place in places]
            scores = [(place, cell.score) for place, cell in enumerate(cells) if cell.score]
            if not scores:
                continue
            x = [place + 0.06 * (number - len(columns) / 2) for place, _ in scores]  # so that bars don't hide others
            bars = [0.0 if math.isnan(score.std) else score.std for _, score in scores]
            style = {"color": COLOURS[number % len(COLOURS)], "marker": MARKS[number % len(MARKS)], "capsize": 2}
            axis.errorbar(x, [score.mean for _, score in scores], yerr=bars, label=column, **style)
        ticks = [place.replace(", ", "\n") for place in places]
        axis.set(title=panel, xticks=range(len(places)), xticklabels=ticks, xlim=(-0.4, len(places) - 0.6))
        axis.grid(alpha=0.3)
        if not axis.containers:
            say_not_run(axis)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    legend(figure, len(columns))
    figure.supylabel(table.spec.unit)
    figure.suptitle(f"{table.spec.title}, over {table.spec.lines}\n(scale {table.scale})", wrap=True)
    save(figure, path)
