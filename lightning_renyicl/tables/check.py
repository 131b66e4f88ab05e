"""``make check-results``: whether results still are what today's code would give."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lightning_renyicl.runs.cores import cores
from lightning_renyicl.tables import spec as specs
from lightning_renyicl.tables.arguments import Parser, positive
from lightning_renyicl.tables.running import command
from lightning_renyicl.tables.running.replay import Replay, differences, mark, read_replay
from lightning_renyicl.tables.running.worker import explain, without_slurm
from lightning_renyicl.tables.training import Run, merged_from, read_result

MOST = 4
"""Lines that are printed of one result."""


def parser() -> argparse.ArgumentParser:
    """The arguments; make's variables of the same names in capitals."""
    parsed = Parser(prog="python -m lightning_renyicl.tables.check", description=__doc__, allow_abbrev=False)
    parsed.add_argument("table", nargs="?", help="the table whose results are replayed; without one, all tables")
    parsed.add_argument(
        "--sample", type=positive, help="only so many, of as many kinds of data and protocols as can be"
    )
    parsed.add_argument("--runs", type=Path, default=Path("results/runs"), help="folder of the runs")
    parsed.add_argument("--jobs", type=positive, default=cores(), help="replays at a time; default: one a core")
    parsed.add_argument("--record", action="store_true", help="give results that have no replay one of today's code")
    return parsed


def main(arguments: list[str] | None = None) -> int:
    """Replays results and prints what differs; the exit code is 1 if anything does, 2 after a mistake."""
    options = parser().parse_args(arguments)
    try:
        tables = specs.names() if options.table is None else [options.table]
        found = list(results(tables, options.runs))
        if not found:
            raise ValueError(f"{options.runs} has no result of {options.table or 'any table'}")
        chosen = found if options.sample is None else cover(found, options.sample)
        return check(chosen, options.jobs, options.record)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def results(tables: Iterable[str], root: Path) -> Iterator[Run]:
    """The first seed's run of every training of tables that has a result, each once, where its data is here."""
    seen = set()
    absent: Counter[str] = Counter()
    for name in tables:
        spec = specs.load(name)
        for training in (training for scale in specs.SCALES for training in spec.trainings(scale)):
            run = Run(training, 0, root)
            result = read_result(run.fitted)
            if run.folder in seen or result is None or not run.result.exists():
                continue
            seen.add(run.folder)
            missing = [file for file in (result.get("data") or {}).get("files", {}) if not Path(file).exists()]
            if missing:
                absent[missing[0]] += 1
            else:
                yield run
    for file, number in absent.items():
        print(f"{number} not replayed: {file} is not here")


def cover(runs: list[Run], most: int) -> list[Run]:
    """Some of the runs, each the first that shows the most kinds of data, networks and protocols not shown before."""
    kinds = {run: set(classes(merged_from(run.training.configs))) for run in runs}
    chosen: list[Run] = []
    for _ in range(min(most, len(runs))):
        shown = {kind for run in chosen for kind in kinds[run]}
        chosen.append(max((run for run in runs if run not in chosen), key=lambda run: len(kinds[run] - shown)))
    return chosen


def classes(content: Any) -> Iterator[str]:
    """Every class that a configuration names."""
    if isinstance(content, dict):
        if "class_path" in content:
            yield str(content["class_path"])
        content = list(content.values())
    for each in content if isinstance(content, list) else ():
        yield from classes(each)


def check(runs: list[Run], jobs: int, record: bool) -> int:
    """Replays runs and marks those that differ."""
    command.prepare(threads=1)
    counts: Counter[str] = Counter()
    with ThreadPoolExecutor(jobs) as pool, tqdm(total=len(runs), desc="replays", unit="") as bar:
        for run, state, lines in pool.map(lambda run: (run, *verdict(run, record)), runs):
            counts[state] += 1
            bar.update()
            if state in ("differs", "failed", "unknown"):
                bar.write(f"{run.folder.parent}: {state}")
                shown = (
                    lines
                    if state == "failed" or len(lines) <= MOST
                    else [*lines[:MOST], f"and {len(lines) - MOST} more"]
                )
                for line in shown:
                    bar.write(f"  {line}")
    print(", ".join(f"{number} {state}" for state, number in sorted(counts.items())))
    return 1 if counts["differs"] or counts["failed"] or counts["unknown"] else 0


def verdict(run: Run, record: bool) -> tuple[str, list[str]]:
    """``same``, ``differs``, ``failed``, ``recorded``, ``unknown`` or ``reconfigured``, and lines that say more."""
    before = read_replay(run.replay)
    if run.differences():
        return "reconfigured", []  # a table says so itself
    if before is None and not record:
        return "unknown", ["it has no replay: RECORD=1 makes one if the result is known to be of this code"]
    with tempfile.TemporaryDirectory() as name:
        log, output = Path(name) / "log.txt", Path(name) / "replay.json"
        child = command.start(Replay(run, run.replay if before is None else output), log, without_slurm())
        try:
            code = command.wait(child)
        except BaseException:
            command.kill(child)
            raise
        if code:
            return "failed", explain(code, "the replay", log).splitlines()
        if before is None:
            return "recorded", []
        after = read_replay(output)
    lines = ["it left no numbers"] if after is None else differences(before, after)
    mark(run, lines)
    return ("differs" if lines else "same"), lines


if __name__ == "__main__":
    sys.exit(main())
