"""What runs logged over their steps, as a picture."""

from __future__ import annotations

from pathlib import Path

from lightning_renyicl.tables.scores import Table
from lightning_renyicl.tables.training import Run, Training
from lightning_renyicl.tables.writing.drawing import legend, pyplot, save, say_not_run

SMOOTHING = 50
"""A smoothed curve is the mean over one part in so many of the steps."""


def curves(table: Table, path: Path) -> None:
    """A line of panels a curve for each first part of the rows' labels, a panel for each second part.

    Every panel has a curve of the first seed as it was logged, its moving mean, and what is known, all over the steps.
    """
    import pandas as pd

    plt = pyplot()
    runs = {run.training: run for run in reversed(table.runs) if run.curves.exists()}  # of the first seed
    panels = {label: run_of(table, label, runs) for label in table.spec.rows}
    down = list(dict.fromkeys(label.partition(" / ")[0] for label in panels))
    across = list(dict.fromkeys(label.partition(" / ")[2] for label in panels))
    names = table.spec.curves
    size = (1 + 2.4 * len(across), 1 + 1.6 * len(down) * len(names))
    figure, axes = plt.subplots(
        len(down) * len(names),
        len(across),
        figsize=size,
        sharex=True,
        sharey="row",
        squeeze=False,
        layout="constrained",
    )
    for label, run in panels.items():
        first, _, second = label.partition(" / ")
        metrics = None if run is None else pd.read_csv(run.curves)
        for line, (name, (key, *others)) in enumerate(names.items(), len(names) * down.index(first)):
            axis = axes[line, across.index(second)]
            axis.set_title(second if line == 0 else "", fontsize="medium")
            if second == across[0]:
                axis.set_ylabel(f"{first}\n{name}, {table.spec.unit}", fontsize="small")
            axis.grid(alpha=0.3)
            if run is None or metrics is None:
                say_not_run(axis)
                continue
            absent = {key, *others, *filter(None, [table.spec.known])} - set(metrics)
            if absent:
                raise ValueError(f"{run.curves} has no {', '.join(sorted(absent))}: see curves and known of the table")
            logged = metrics[metrics[key].notna()]
            smooth = logged[[key, *others]].rolling(max(1, len(logged) // SMOOTHING), center=True, min_periods=1).mean()
            axis.plot(logged["step"], logged[key], color="tab:blue", alpha=0.3, linewidth=0.6, label="as logged")
            axis.plot(logged["step"], smooth[key], color="tab:blue", linewidth=1.4, label="moving mean")
            for other in others:
                axis.plot(
                    logged["step"], smooth[other], color="tab:orange", linestyle=":", label=f"moving mean, {other}"
                )
            if table.spec.known:
                axis.step(logged["step"], logged[table.spec.known], color="black", linestyle="--", label="known")
                axis.set_ylim(-0.1 * logged[table.spec.known].max(), 1.5 * logged[table.spec.known].max())
    for axis in axes[-1]:
        axis.set_xlabel("step")
    legend(figure, 4)
    figure.suptitle(f"{table.spec.title}\n(scale {table.scale})", wrap=True)
    save(figure, path)


def run_of(table: Table, label: str, runs: dict[Training, Run]) -> Run | None:
    """The run of a row whose columns all show the same one; None if it has not been made."""
    cells = (table.spec.cell(label, column, table.scale) for column in table.spec.columns)
    trainings = {training for cell in cells if not isinstance(cell, str) for training in cell}
    return next((runs[training] for training in trainings if training in runs), None)
