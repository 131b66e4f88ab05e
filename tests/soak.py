"""Trainings that are killed at random moments and begun again, held against the same trainings left alone.

``make soak KILLS=30 SEED=0``. Every course is a training of one domain, in one process or two. One kill in two is of
all its processes, the others of one of them, be it the first, another rank or a worker.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

CONFIGS = Path(__file__).resolve().parents[1] / "configs"
COURSES = {
    "table": ["digits_table_hard.yaml", "--trainer.max_epochs=40"],
    "graph": ["digits_graph.yaml", "--trainer.max_epochs=20"],
    "image": ["digits_image_hard.yaml", "--trainer.max_epochs=4"],
    "table, two processes": ["digits_table_hard.yaml", "--trainer.max_epochs=30", "--trainer.devices=2"],
    "image, two processes": ["digits_image_hard.yaml", "--trainer.max_epochs=4", "--trainer.devices=2"],
}
OF_A_TRAINING = ("state_dict", "optimizer_states", "lr_schedulers", "global_step", "epoch")
LEFT = {"config.yaml", "hparams.yaml", "metrics.csv", "result.json", "checkpoints", "checkpoints/last.ckpt"}
PATIENCE = 120.0  # seconds in which the processes that a killed one leaves behind end


def differences(whole: Path, run: Path) -> Iterator[str]:
    """What differs between two finished run folders of the same configuration, a line each.

    Args:
        whole: of the training that was left alone.
        run: of the one that was killed.
    """
    logs = [[*csv.DictReader((folder / "metrics.csv").open(newline=""))] for folder in (whole, run)]
    if logs[0] != logs[1]:
        yield f"metrics.csv: {len(logs[1])} rows for {len(logs[0])}, or other values"
    results = [json.loads((folder / "result.json").read_text()) for folder in (whole, run)]
    yield from (f"result.json: {key}" for key in ("metrics", "epoch", "data") if results[0][key] != results[1][key])
    ends = [torch.load(folder / "checkpoints/last.ckpt", weights_only=True) for folder in (whole, run)]
    for key in OF_A_TRAINING:
        yield from unequal(ends[0][key], ends[1][key], f"last.ckpt: {key}")
    probes = [[state for name, state in end["callbacks"].items() if name.startswith("OnlineProbe")] for end in ends]
    yield from unequal(*probes, "last.ckpt: online probe")
    names = {str(path.relative_to(run)) for path in run.rglob("*") if "tfevents" not in path.name}
    yield from (f"{name} is left behind" for name in sorted(names - LEFT))


def unequal(expected: Any, found: Any, place: str) -> Iterator[str]:
    """Places in nested dictionaries and lists at which two states are not the same to the last bit."""
    if isinstance(expected, torch.Tensor) and isinstance(found, torch.Tensor):
        if not torch.equal(expected, found):
            yield place
    elif isinstance(expected, dict) and isinstance(found, dict) and expected.keys() == found.keys():
        for key in expected:
            yield from unequal(expected[key], found[key], f"{place}.{key}")
    elif isinstance(expected, (list, tuple)) and isinstance(found, (list, tuple)) and len(expected) == len(found):
        for number, pair in enumerate(zip(expected, found, strict=True)):
            yield from unequal(*pair, f"{place}[{number}]")
    elif type(expected) is not type(found) or expected != found:
        yield place


@dataclass
class Course:
    """One training, and what killing it showed.

    Args:
        name: its name in ``COURSES``.
        folder: where it runs.
        chance: draws when and whom a kill meets.
    """

    name: str
    folder: Path
    chance: random.Random
    kills: int = field(default=0, init=False)
    found: list[str] = field(default_factory=list, init=False)

    def start(self, run: str) -> subprocess.Popen[bytes]:
        config, *flags = COURSES[self.name]
        command = [sys.executable, "-m", "lightning_renyicl", "fit", "--config", str(CONFIGS / config), *flags]
        with (self.folder / "output.txt").open("wb") as output:
            return subprocess.Popen(
                [*command, "--trainer.accelerator=cpu", "--trainer.default_root_dir", run],
                cwd=self.folder,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )

    def finish(self, run: str) -> float:
        """Trains to the end, and returns the seconds that this took."""
        start = time.monotonic()
        process = self.start(run)
        if process.wait() != 0:
            self.found.append(f"exit code {process.returncode}: {self.last_line()}")
        return time.monotonic() - start

    def last_line(self) -> str:
        lines = (self.folder / "output.txt").read_text(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else ""

    def kill(self, run: str, within: float) -> bool:
        """Starts, or goes on, and kills; False if the training was over before."""
        process = self.start(run)
        try:
            process.wait(self.chance.uniform(0, within))
        except subprocess.TimeoutExpired:
            living = members(process.pid)
            victims = living if self.chance.random() < 0.5 else [self.chance.choice(living)]
            for victim in victims:
                send(os.kill, victim)
            self.kills += 1
            give_up = time.monotonic() + PATIENCE
            while members(process.pid) and time.monotonic() < give_up:
                process.poll()
                time.sleep(0.1)
            if members(process.pid) and victims != living:
                self.found.append(f"{len(members(process.pid))} processes outlive the killed one by {PATIENCE:.0f} s")
            send(os.killpg, process.pid)
            process.wait()
            return True
        if process.returncode != 0:
            self.found.append(f"exit code {process.returncode}: {self.last_line()}")
        return False

    def check(self, kills: int) -> None:
        """Kills so many times, over one training or several, each held against the one that was left alone."""
        within = self.finish("whole")
        number = 0
        while self.kills < kills and not self.found:
            number += 1
            run = f"killed-{number}"
            while self.kills < kills and self.kill(run, within):
                pass
            self.finish(run)
            if not self.found:
                self.found += differences(self.folder / "whole", self.folder / run)


def members(group: int) -> list[int]:
    """The processes of a process group that are not over."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,pgid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [int(pid) for pid, of, state in rows if int(of) == group and not state.startswith("Z")]


def send(how: Any, target: int) -> None:
    """Kills what may have ended by itself meanwhile."""
    try:
        how(target, signal.SIGKILL)
    except ProcessLookupError:
        return


def main() -> None:
    """Prints a line a course; exit code 1 if there was a difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=30, help="kills over all courses")
    parser.add_argument("--seed", type=int, default=0, help="seed of when and whom a kill meets")
    args = parser.parse_args()
    if args.kills < len(COURSES):
        parser.error(f"--kills is at least {len(COURSES)}, one a course")
    chance = random.Random(args.seed)
    found = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(COURSES):
            place = Path(folder) / str(number)
            place.mkdir()
            course = Course(name, place, chance)
            course.check(args.kills // len(COURSES) + (number < args.kills % len(COURSES)))
            lines = [f"{name}: {course.kills} kills, {len(course.found)} differences", *course.found]
            print("\n  ".join(lines), flush=True)
            found += len(course.found)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
