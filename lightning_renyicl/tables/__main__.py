"""``python -m lightning_renyicl.tables``: what ``make tables`` and ``make tableN`` run."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from lightning_renyicl.runs.cores import cores
from lightning_renyicl.tables import spec as specs
from lightning_renyicl.tables.arguments import Parser, positive
from lightning_renyicl.tables.check import check
from lightning_renyicl.tables.running.cost import estimate
from lightning_renyicl.tables.running.launch import Job, executor_of, on_cluster, on_this_machine
from lightning_renyicl.tables.running.progress import Progress
from lightning_renyicl.tables.running.worker import Worker
from lightning_renyicl.tables.scores import collect
from lightning_renyicl.tables.spec import Spec
from lightning_renyicl.tables.training import Run, Training, status
from lightning_renyicl.tables.writing.files import keep_fuller, write


def parser() -> argparse.ArgumentParser:
    """The arguments; make's variables of the same names in capitals."""
    parsed = Parser(prog="python -m lightning_renyicl.tables", description=__doc__, allow_abbrev=False)
    parsed.add_argument("table", nargs="?", help="the table to fill; without one, all are listed with their state")
    parsed.add_argument("--scale", choices=specs.SCALES, default="small", help="default: small")
    parsed.add_argument("--jobs", type=positive, help="runs at a time, 1 (on a cluster all); they share cores and GPUs")
    parsed.add_argument(
        "--column", default="", help="only make runs of columns of this label, or of this part of it, such as CIFAR-10"
    )
    parsed.add_argument("--dry", action="store_true", help="only list the runs and estimate their hours")
    parsed.add_argument("--rerun", choices=["stale"], help="run again what is done but stale")
    parsed.add_argument("--runs", type=Path, default=Path("runs"), help="folder of the runs")
    parsed.add_argument("--results", type=Path, default=Path("results"), help="folder of the rendered tables")
    parsed.add_argument(
        "--launcher", choices=["process", "slurm", "local"], default="process", help="slurm, local: submitit"
    )
    parsed.add_argument("--partition", help="Slurm partition")
    parsed.add_argument("--gpus", type=int, default=1, help="GPUs of a job")
    parsed.add_argument("--cpus", type=positive, default=4, help="cores of a job")
    parsed.add_argument("--minutes", type=positive, default=24 * 60, help="time of a job; longer runs go on in another")
    parsed.add_argument("--flags", default="", help="more flags of fit and test, such as --data.root=FOLDER")
    return parsed


RESERVED = ("--config", "--seed_everything", "--trainer.default_root_dir", "--ckpt_path", "--fresh", "--fixed_folder")


def flags_of(options: argparse.Namespace) -> tuple[str, ...]:
    """The flags for the commands.

    Raises:
        ValueError: one that the runner sets itself.
    """
    flags = tuple(shlex.split(options.flags))
    for flag in flags:
        if flag.startswith(RESERVED) or flag == "-c":
            raise ValueError(f"FLAGS cannot have {flag}: the table sets it")
    return flags


def main(arguments: list[str] | None = None) -> int:
    """Runs what is missing of a table and renders it; the exit code is 1 if a run failed, 2 after a mistake."""
    options = parser().parse_args(arguments)
    try:
        if options.table is None:
            return overview(options)
        spec = specs.load(options.table)
        runs = runs_of(spec, options)
        if options.rerun:
            replay(runs, options)
        finished = ("done",) if options.rerun else ("done", "stale")
        waiting = [run for run in runs if status(run).state not in finished]
        if options.dry:
            with interruptible():
                return estimate(waiting)
        return fill(spec, options, len(runs) - len(waiting), waiting)
    except KeyboardInterrupt:
        jobs = "" if options.launcher == "process" else "; jobs that were submitted go on"
        print(f"\ninterrupted; the same command goes on{jobs}", file=sys.stderr)
        return 130
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def runs_of(spec: Spec, options: argparse.Namespace) -> list[Run]:
    """All runs of a table, those of the first seed first."""
    flags = flags_of(options)
    trainings = spec.trainings(options.scale, options.column)
    return [
        Run(training, seed, options.runs, flags) for seed in range(spec.seeds[options.scale]) for training in trainings
    ]


def replay(runs: list[Run], options: argparse.Namespace) -> None:
    """Looks whether those of the first seed that are done still are what today's code gives, and marks what isn't."""
    done = [run for run in runs if run.seed == 0 and run.replay.exists() and status(run).state == "done"]
    if done:
        with interruptible():
            check(done, options.jobs or cores(), record=False)


def overview(options: argparse.Namespace) -> int:
    """Every table and how many of its cells are done, failed, missing and not run, at one scale."""
    lines: list[tuple[str, ...]] = [("table", "done", "failed", "missing", "not run", f"scale {options.scale}")]
    for name in specs.names():
        spec = specs.load(name)
        states = {run: status(run).state for run in runs_of(spec, options)}
        counts = Counter(
            state_of(spec.cell(row, column, options.scale), states) for row in spec.rows for column in spec.columns
        )
        stale = f" ({counts['stale']} stale)" if counts["stale"] else ""
        numbers = [str(counts[state]) for state in ("failed", "missing", "not run")]
        lines.append((name, f"{counts['done'] + counts['stale']}{stale}", *numbers, spec.title))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    return 0


def state_of(cell: tuple[Training, ...] | str, states: dict[Run, str]) -> str:
    """The state of a cell: that of its seeds together."""
    if isinstance(cell, str):
        return "not run"
    own = {state for run, state in states.items() if run.training in cell}
    if own & {"failed", "damaged"}:
        return "failed"
    if own <= {"done", "stale"}:
        return "stale" if "stale" in own else "done"
    return "missing"


def fill(spec: Spec, options: argparse.Namespace, done: int, waiting: list[Run]) -> int:
    """Makes the runs that a table waits for, then renders it."""
    states = make(f"{spec.name}-{options.scale}", options, done, waiting) if waiting else Counter()
    table = collect(spec, options.scale, options.runs, flags_of(options))
    kept = keep_fuller(table, options.results)
    files = write(table, options.results)
    print(f"\n{files[0].read_text()}")
    print(f"saved {', '.join(map(str, files))}")
    if kept:
        print(kept, file=sys.stderr)
    if states["failed"]:
        print(f"{states['failed']} of {len(waiting)} runs failed; the same command tries them again", file=sys.stderr)
    if states["busy"]:
        print(f"{states['busy']} runs are another process's; the same command shows them later", file=sys.stderr)
    return 1 if states["failed"] or states["busy"] else 0


def make(title: str, options: argparse.Namespace, done: int, waiting: list[Run]) -> Counter[str]:
    """Makes runs and tells of each that didn't go well; returns the number of runs by what became of them."""
    again = options.rerun is not None
    if options.launcher == "process":
        make_one = partial(on_this_machine, Worker(again), waiting, options.jobs or 1)
    else:
        resources = (options.partition, options.gpus, options.cpus, options.minutes)
        executor = executor_of(options.launcher, title, options.runs, options.jobs or len(waiting), *resources)
        make_one = partial(on_cluster, executor, [Job(run, again) for run in waiting])
    progress = Progress(title, done, waiting)
    outcomes = make_one(progress.look)
    states: Counter[str] = Counter()
    with interruptible(), closing(progress), closing(outcomes):
        for outcome in outcomes:
            progress.finish(outcome.run)
            states[outcome.state] += 1
            if outcome.message or outcome.state == "busy":
                progress.write(f"{outcome.state}: {outcome.run.folder}: {outcome.message or 'another process has it'}")
    return states


@contextmanager
def interruptible() -> Iterator[None]:
    """Takes SIGTERM, and SIGHUP unless it is ignored, for an interrupt from the keyboard."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signals = [signal.SIGTERM] + [signal.SIGHUP] * (signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN)
    before = {each: signal.signal(each, interrupt) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


if __name__ == "__main__":
    sys.exit(main())
