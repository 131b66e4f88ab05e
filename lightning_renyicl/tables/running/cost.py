"""What a table would cost, before it starts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from lightning_renyicl.runs.cores import cores
from lightning_renyicl.tables.running import command
from lightning_renyicl.tables.running.progress import trained
from lightning_renyicl.tables.running.worker import explain, mistake, without_slurm
from lightning_renyicl.tables.training import Run, Training, merged_from


def estimate(runs: Sequence[Run]) -> int:
    """Prints the runs that are to be made and their hours of training, one after the other, on this machine.

    Every configuration is timed for a few steps, on made-up data of the same shape where the table names some.

    Args:
        runs: those that are missing.

    Returns:
        The exit code: 1 if a configuration cannot be timed. What that is for, its data that is missing say, is printed
        once.
    """
    command.prepare(cores())
    seconds: dict[str, float | str] = {}
    untimed: dict[str, str] = {}  # reasons, and the first training that each kept from being timed
    by_training: dict[Training, list[Run]] = {}
    for run in runs:
        by_training.setdefault(run.training, []).append(run)
    total, unknown = 0.0, 0
    for training, own in by_training.items():
        configs = training.configs if training.timed_on is None else (*training.configs, training.timed_on)
        key = costs_of(configs)
        if key not in seconds:
            flags = Run(replace(training, configs=configs), 0, own[0].root, own[0].flags).machine_flags()
            seconds[key] = time_steps(configs, flags)
        each = seconds[key]
        if isinstance(each, str):
            unknown += len(own)
            first = untimed.setdefault(each, training.name)
            print(f"{training.name}: {len(own)} runs, not timed: {each if first == training.name else f'as {first}'}")
            continue
        hours = sum(1 - trained(run.folder) for run in own) * each / 3600
        total += hours
        print(f"{training.name}: {len(own)} runs of {each / 3600:.2f} hours, {hours:.2f} hours")
    missing = f", and {unknown} runs that could not be timed" if unknown else ""
    print(f"{len(runs)} runs to make: {total:.1f} hours of training on this machine, one after the other{missing}")
    print("evaluation at the end of a run is not counted")
    return 1 if unknown else 0


def costs_of(configs: Iterable[str]) -> str:
    """What decides on the cost of a training: its configuration, in which one bound on a critic costs as any other."""
    from lightning_renyicl import objectives

    merged = merged_from(configs)
    arguments = (merged.get("model") or {}).get("init_args") or {}
    name = str((arguments.get("objective") or {}).get("class_path", "")).rpartition(".")[2]
    if isinstance(bound := getattr(objectives, name, None), type) and issubclass(bound, objectives.CosineCritic):
        arguments["objective"] = None
    return json.dumps(merged, sort_keys=True)


def time_steps(configs: tuple[str, ...], flags: list[str]) -> float | str:
    """Seconds of a whole run, from a few steps of it; if it doesn't start, why, as of a data set that is missing."""
    print(f"timing {' '.join(configs)} …", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log, result = folder / "log.txt", folder / "cost.json"
        arguments = ["fit", *(f"--config={path}" for path in configs), *flags]
        arguments += [f"--trainer.default_root_dir={folder / 'run'}", "--trainer.logger=false"]
        arguments += ["--trainer.callbacks+=StepTimer", f"--trainer.callbacks.path={result}"]
        child = command.start(command.Commands(arguments), log, without_slurm())
        try:
            code = command.wait(child)
        except BaseException:
            command.kill(child)
            raise
        if code or not result.exists():
            data = str((merged_from(configs).get("data") or {}).get("class_path", "data"))
            line = mistake(log) if code == 2 else None
            return f"{data.rpartition('.')[2]}: {line}" if line else explain(code, " ".join(configs), log)
        cost = json.loads(result.read_text())
    print(f"  {cost['steps']:,} steps of {cost['step_seconds']:.3g} s")
    return float(cost["seconds"])
