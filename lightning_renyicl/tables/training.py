"""A training that cells ask for, and what its folder says of each of its seeds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lightning_renyicl import configuration
from lightning_renyicl.lock import locked
from lightning_renyicl.provenance import changed_files
from lightning_renyicl.runs.comparison import MACHINE_KEYS, changed_keys
from lightning_renyicl.runs.folder import RunFolder

OF_THE_MACHINE = ("--data.root", *(f"--trainer.{key}" for key in MACHINE_KEYS))
"""Flags that say where something runs, not what."""


@dataclass(frozen=True)
class Training:
    """Configurations that are trained once for each seed.

    Attributes:
        table: whose folder holds it.
        scale: smoke, small or paper.
        name: the stems of its configurations, joined by +, without those of the scale.
        configs: files, later ones win.
        split: test or val.
        timed_on: file that replaces the data when a step is timed.
    """

    table: str
    scale: str
    name: str
    configs: tuple[str, ...]
    split: str
    timed_on: str | None = None


@dataclass(frozen=True)
class Run:
    """One seed of a training, whose folder is ``<root>/<table>/<scale>/<training>/seed<seed>``."""

    training: Training
    seed: int
    root: Path
    flags: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Configuration, checkpoint, log and result."""
        return self.root / self.training.table / self.training.scale / self.training.name / f"seed{self.seed}"

    @property
    def lock(self) -> Path:
        """The lock file, held by the process that makes the run."""
        return self.folder.with_name(f"{self.folder.name}.lock")

    @property
    def log(self) -> Path:
        """What the commands print."""
        return self.folder / "log.txt"

    @property
    def failure(self) -> Path:
        """Why the last try ended early; gone when the next one starts."""
        return self.folder / "failed.txt"

    @property
    def request(self) -> Path:
        """What was asked for when the run began."""
        return self.folder / "cell.json"

    @property
    def fitted(self) -> Path:
        """What ``fit`` leaves when it is done."""
        return self.folder / "result.json"

    @property
    def curves(self) -> Path:
        """What it logged, a line a step."""
        return self.folder / "metrics.csv"

    @property
    def result(self) -> Path:
        """The file with the score that the table prints."""
        return self.folder / "test" / "result.json" if self.training.split == "test" else self.fitted

    @property
    def replay(self) -> Path:
        """What the run logs when it is made tiny, by the code that made the result; of the first seed."""
        return self.folder / "replay.json"

    @property
    def outdated(self) -> Path:
        """The differences of a replay by later code, a line each; there only if it differs."""
        return self.folder / "outdated.txt"

    def asks_for(self) -> dict[str, Any]:
        """The contents of the configurations, and the flags that change a result."""
        flags = [flag for flag in self.given() if not flag.startswith(OF_THE_MACHINE)]
        return {"configs": {path: read_yaml(Path(path)) for path in self.training.configs}, "flags": flags}

    def machine_flags(self) -> list[str]:
        """The flags that go to the commands, without the folder of data that an overlay has replaced by other data."""
        overlays = [read_yaml(Path(path)) or {} for path in self.training.configs[1:]]
        replaced = any("class_path" in (overlay.get("data") or {}) for overlay in overlays)
        return [flag for flag in self.given() if not (replaced and flag.startswith("--data.root"))]

    def given(self) -> list[str]:
        """The flags, each with its value."""
        return re.split(r" (?=--)", " ".join(self.flags)) if self.flags else []

    def differences(self) -> list[str]:
        """What the table asks of the training now and didn't when the run began."""
        return self.changes()[0]

    def changes(self) -> tuple[list[str], list[str]]:
        """What it asks now and didn't then: of the training, and, if nothing of that, of a test's evaluation."""
        try:
            then = json.loads(self.request.read_text())
            configs, flags = configuration.with_current_names(dict(then["configs"])), list(then["flags"])
        except FileNotFoundError:
            begun = RunFolder(self.folder).config.exists() or self.fitted.exists()
            return (["not started by this table"] if begun else []), []
        except (ValueError, LookupError, TypeError):
            return [f"{self.request} is damaged"], []
        now = self.asks_for()
        found = [f"{path} is gone" for path, content in now["configs"].items() if content is None]
        if list(configs) != list(now["configs"]):
            found.append(f"configurations {' '.join(configs)}")
        pairs = {
            path: (configs[path], new)
            for path, new in now["configs"].items()
            if path in configs and new is not None and configs[path] != new
        }
        for path, pair in pairs.items():
            if keys := changed_keys(*map(without_evaluation, pair)):
                found.append(f"{path}: {keys}")
        if flags != now["flags"]:
            found.append(f"flags {' '.join(flags) or 'none'}")
        if found or self.training.split == "val":
            return found, []
        return [], [f"{path}: {keys}" for path, pair in pairs.items() if (keys := changed_keys(*pair))]


@dataclass(frozen=True)
class Status:
    """What a run's folder says.

    Attributes:
        state: ``done``, ``stale`` (done, but of something else than is asked for now), ``damaged`` (a result that
            cannot be read), ``running``, ``failed``, ``stopped`` (to be continued) or ``missing``.
        reasons: why a run is stale, damaged or failed.
        trained: whether a stale run's training is what is asked for and its checkpoint is there, so that ``test``
            alone makes it anew.
        result: what ``result.json`` holds; of a done or stale run.
    """

    state: str
    reasons: tuple[str, ...] = ()
    trained: bool = False
    result: dict[str, Any] | None = None


def status(run: Run, held: bool = False) -> Status:
    """The state of a run, from its folder alone.

    Args:
        run: the run.
        held: whether its lock is the caller's own.
    """
    try:
        result = read_result(run.result)
        fitted = read_result(run.fitted)
    except ValueError as error:
        return Status("damaged" if held or not locked(run.lock) else "running", (str(error),))
    if result is not None and fitted is not None:
        training, evaluation = run.changes()
        reasons = [*training, *changed_files(fitted), *outdated(run)]
        if fitted.get("seed", run.seed) != run.seed:
            reasons.append(f"seed {fitted['seed']}")
        result["seconds"] += fitted["seconds"] if run.result != run.fitted else 0
        result["data"], result["epoch"] = fitted.get("data"), fitted.get("epoch")
        trained = bool(evaluation) and not reasons and RunFolder(run.folder).checkpoint.exists()
        reasons += evaluation
        return Status("stale" if reasons else "done", tuple(reasons), trained, result)
    if not held and locked(run.lock):
        return Status("running")
    if run.failure.exists():
        return Status("failed", (run.failure.read_text().rstrip(),))
    return Status("stopped" if run.request.exists() else "missing")


def outdated(run: Run) -> list[str]:
    """That a replay differs, with the first number that does."""
    try:
        first, *others = run.outdated.read_text().splitlines()
    except (FileNotFoundError, ValueError):
        return []
    return [f"replayed today {first}" + (f" and {len(others)} more" if others else "")]


def without_evaluation(content: Any) -> Any:
    """A configuration without the callbacks that do nothing before ``test``."""
    trainer = content.get("trainer") if isinstance(content, dict) else None
    if not isinstance(trainer, dict):
        return content
    trainer = dict(trainer)
    for key in ("callbacks", "callbacks+"):
        if isinstance(trainer.get(key), list) and trainer[key]:
            kept = [callback for callback in trainer.pop(key) if not only_in_test(callback)]
            trainer |= {key: kept} if kept else {}
    return {**content, "trainer": trainer} if trainer else {k: v for k, v in content.items() if k != "trainer"}


def only_in_test(callback: Any) -> bool:
    """Whether what a configuration lists as a callback is an evaluation that does nothing before ``test``."""
    from lightning_renyicl import evaluation  # with torch, which a look at folders doesn't need

    name = str(callback.get("class_path", "")).rpartition(".")[2] if isinstance(callback, dict) else ""
    return bool(getattr(getattr(evaluation, name, None), "only_in_test", False))


def read_result(path: Path) -> dict[str, Any] | None:
    """A finished run's ``result.json``; None if there is none.

    Raises:
        ValueError: a file that is no result.
    """
    try:
        result = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is damaged ({error})") from error
    whole = isinstance(result, dict) and isinstance(result.get("metrics"), dict) and "config" in result
    if not whole or not isinstance(result.get("seconds"), int | float):
        raise ValueError(f"{path} is no result file: it lacks metrics, config or seconds")
    return result


def read_yaml(path: Path) -> Any:
    """A YAML file's content; None if there is no such file.

    Raises:
        ValueError: a file that is not YAML.
    """
    try:
        return _parse(path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        return None


def merge(contents: Iterable[Any]) -> dict[str, Any]:
    """Configurations laid over each other, of which later ones win, as a new dictionary."""
    result: dict[str, Any] = {}
    for content in contents:
        for key, value in content.items():
            below = result.get(key)
            result[key] = merge([below if isinstance(below, dict) else {}, value]) if isinstance(value, dict) else value
    return result


def merged_from(configs: Iterable[str]) -> dict[str, Any]:
    """Configuration files laid over each other."""
    return merge([read_yaml(Path(path)) or {} for path in configs])


@cache
def _parse(path: Path, modified: int) -> Any:
    return configuration.read_yaml(path)
