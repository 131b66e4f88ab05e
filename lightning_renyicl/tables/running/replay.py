"""A run made tiny, whose numbers tell whether a result still is what today's code would give."""

from __future__ import annotations

import json
import math
import platform
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lightning_renyicl.atomic import write_text
from lightning_renyicl.tables.running import command
from lightning_renyicl.tables.training import Run, merged_from

EPOCHS = 8
STEPS = 16
"""So many that, after a warm-up of an epoch, one lies within the last tenth of the schedule."""
RATE = 0.01
"""Share of the learning rate: with all of it rounding grows to 0.2 in 16 steps, as far as real changes of the code."""
EXACT = 1e-6
"""On one kind of processor replays of the same code were equal to the last bit, 161 of 161."""
FIRST, GROWTH, MOST = 4e-5, 5.0, 0.1
"""Across kinds (1 and 2 threads, oneDNN with SSE4.1 and AVX2, torch with and without AVX2) losses were at most 1e-5,
3e-5, 3e-4, 1e-3 and 8e-3 apart in the first five steps and 0.05 in later ones, and accuracies 0.06."""
SCHEDULES = ("learning_rate", "train/momentum")
"""What rounding doesn't reach."""


@dataclass(frozen=True)
class Replay:
    """The commands of a run with its own configurations, on the CPU, in a few small steps and on a few samples.

    The run has 16 steps in 8 epochs (in as many as it has, if those are fewer), so that the whole schedule, the
    momentum's whole course, validation in the middle and at the end, saving, loading and every protocol take part.
    What counts epochs of the training shrinks with it. Steps are a hundredth as long, so that rounding stays rounding
    on processors of all kinds.

    Attributes:
        run: what is replayed.
        output: file that its numbers are written to, see :class:`ReplayRecorder`.
    """

    run: Run
    output: Path

    def __call__(self) -> None:
        """Runs the commands in this process.

        Raises:
            SystemExit: one of them failed.
        """
        import torch

        from lightning_renyicl.callbacks.result_json import commit, versions

        torch.set_num_threads(1)  # sums are added up in the same order wherever it runs

        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            parts: dict[str, list[float]] = {}
            for arguments, part in self.commands(folder):
                command.call(arguments)
                parts |= json.loads(part.read_text())
        made = {"commit": commit(), "arithmetic": arithmetic(), "versions": versions(), "values": parts}
        write_text(self.output, json.dumps(made, indent=1) + "\n")

    def commands(self, folder: Path) -> Iterator[tuple[list[str], Path]]:
        """What is called, in order, and the file that each call leaves its numbers in."""
        asked = merged_from(self.run.training.configs)
        trainer = asked.get("trainer") or {}
        epochs = trainer.get("max_epochs") or EPOCHS
        epochs = epochs if epochs > 0 else EPOCHS  # a training that counts steps
        tiny = min(epochs, EPOCHS)
        batches = limit(trainer.get("limit_train_batches"), math.ceil(STEPS / tiny))
        shrunk = folder / "shrunk.yaml"
        write_text(shrunk, json.dumps({"model": smaller(asked.get("model"), tiny / epochs) or {}}))
        common = [f"--config={path}" for path in (*self.run.training.configs, shrunk)] + self.run.machine_flags()
        common += [f"--seed_everything={self.run.seed}", f"--trainer.default_root_dir={folder / 'run'}"]
        common += ["--trainer.accelerator=cpu", "--trainer.devices=1", "--trainer.logger=false"]
        common += ["--trainer.log_every_n_steps=1", f"--trainer.max_epochs={tiny}"]
        common += [f"--trainer.check_val_every_n_epoch={max(1, tiny // 2)}", "--trainer.val_check_interval=1.0"]
        common += [f"--trainer.limit_{split}_batches=2" for split in ("val", "test")]
        common += [f"--trainer.limit_train_batches={batches}", "--trainer.callbacks+=ReplayRecorder"]
        for part in ("fit", "test")[: 1 + (self.run.training.split == "test")]:
            path = folder / f"{part}.json"
            load = [f"--ckpt_path={folder / 'run/checkpoints/last.ckpt'}"] if part == "test" else []
            yield [part, *common, *load, f"--trainer.callbacks.path={path}"], path


def limit(own: Any, most: int) -> int:
    """The number of batches of an epoch: at most a configuration's own, if that is a number of batches."""
    return min(own, most) if isinstance(own, int) and own > 0 else most


def smaller(section: Any, factor: float) -> Any:
    """What a section says of epochs of the training, ``warmup_epochs`` for instance, and of its learning rate, smaller.

    Args:
        section: section of a configuration.
        factor: what epochs are multiplied by; at least 1 is left of them.
    """
    if not isinstance(section, dict):
        return None
    found = {}
    for key, value in section.items():
        if key == "lr":
            found[key] = RATE * float(value)
        elif key.endswith("_epochs") and isinstance(value, int | float):
            found[key] = max(1, round(value * factor)) if value else value
        elif below := smaller(value, factor):
            found[key] = below
    return found


def arithmetic() -> str:
    """What decides on the last digits: torch and the kind of processor."""
    import torch

    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    model = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine()
    )
    return f"torch {torch.__version__.partition('+')[0]}, {torch.backends.cpu.get_cpu_capability()}, {model}"


@dataclass(frozen=True)
class Recorded:
    """A replay's numbers.

    Attributes:
        values: numbers by name, in the order of time.
        arithmetic: torch and the processor that they were computed with.
    """

    values: dict[str, list[float]]
    arithmetic: str = ""


def read_replay(path: Path) -> Recorded | None:
    """The numbers of a replay; None if there is none.

    Raises:
        ValueError: a file that is none.
    """
    try:
        content = json.loads(path.read_text())
        return Recorded(dict(content["values"]), str(content["arithmetic"]))
    except FileNotFoundError:
        return None
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"{path} is not a replay ({error}): delete it") from error


def differences(before: Recorded, now: Recorded) -> list[str]:
    """A line for each name whose numbers differ by more than rounding: the first that does, or that it is gone.

    Names that only ``now`` has are no difference: nothing of the result has changed.
    """
    lines = []
    same = before.arithmetic == now.arithmetic
    for name, then in before.values.items():
        values = now.values.get(name)
        if values is None or len(values) != len(then):
            lines.append(f"{name} {'is gone' if values is None else f'has {len(values)} values, not {len(then)}'}")
            continue
        pairs = zip(then, values, strict=True)
        off = [step for step, pair in enumerate(pairs) if differ(*pair, tolerance(name, step, same))]
        if off:
            place = f", value {off[0] + 1} of {len(then)}," if len(then) > 1 else ""
            lines.append(f"{name}{place} is {values[off[0]]:.6g}, was {then[off[0]]:.6g}")
    return lines


def tolerance(name: str, step: int, same: bool) -> float:
    """How far the number of a step, counted from 0, may be off by rounding, both absolutely and relatively.

    Args:
        name: name of the number.
        step: place in the order of time.
        same: whether both numbers are of the same kind of processor.
    """
    if same or name in SCHEDULES:
        return EXACT
    return min(MOST, FIRST * GROWTH**step) if name.startswith("train/") else MOST


def mark(run: Run, lines: list[str], own: bool = True) -> None:
    """Says in the folder of every seed of a run's training that has a result that it is outdated; nowhere if none is.

    Args:
        run: run of the first seed, whose replay was compared.
        lines: the differences.
        own: whether the run's own result is meant too; not after it has been made anew.
    """
    for folder in run.folder.parent.glob("seed*"):
        other = replace(run, seed=int(folder.name.removeprefix("seed"))) if folder.name[4:].isdigit() else run
        if not other.result.exists() or (other == run and not own):
            continue
        if lines:
            write_text(other.outdated, "\n".join(lines) + "\n")
        else:
            other.outdated.unlink(missing_ok=True)


def differ(one: float, other: float, tolerance: float) -> bool:
    """Whether two numbers are further apart than a tolerance; NaN equals NaN."""
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) != math.isnan(other)
    return not math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)
