"""A table as a picture: the paper's numbers against ours."""

from __future__ import annotations

import math
from pathlib import Path

from lightning_renyicl.tables.scores import Table
from lightning_renyicl.tables.writing.drawing import ACROSS, legend, pyplot, save, say_not_run


def picture(table: Table, path: Path) -> None:
    """A panel a column: the paper's number of every row as a diamond, ours as a dot with its standard deviation."""
    plt = pyplot()
    names = [name for name, line in table.spec.rows.items() if not line.difference]
    columns = list(table.spec.columns)
    across = min(ACROSS, len(columns))
    down = math.ceil(len(columns) / across)
    size = (1.5 + 2.8 * across, 1.3 + down * (0.8 + 0.32 * len(names)))
    figure, axes = plt.subplots(down, across, figsize=size, sharey=True, squeeze=False, layout="constrained")
    for axis, column in zip(axes.flat, columns, strict=False):
        cells = [table.cells[name, column] for name in names]
        printed = [(float(cell.paper), y) for y, cell in enumerate(cells) if cell.paper]
        if printed:
            axis.plot(*zip(*printed, strict=True), "D", color="tab:gray", fillstyle="none", label="paper")
        ours = [(cell.score.mean, y, cell.score.std) for y, cell in enumerate(cells) if cell.score]
        if ours:
            means, places, stds = zip(*ours, strict=True)
            bars = [0.0 if math.isnan(std) else std for std in stds]
            axis.errorbar(means, places, xerr=bars, fmt="o", color="tab:blue", capsize=3, label="ours")
        if not printed and not ours:
            say_not_run(axis)
        axis.set(title=column, yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5))
        axis.margins(x=0.15)
        axis.locator_params(axis="x", nbins=4)
        axis.grid(axis="x", alpha=0.3)
    for axis in axes.flat[len(columns) :]:
        axis.set_visible(False)
    legend(figure, 2)
    figure.suptitle(f"{table.spec.title}\n(scale {table.scale}, {table.spec.units})", wrap=True)
    save(figure, path)
