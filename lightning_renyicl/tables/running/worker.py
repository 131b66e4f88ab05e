"""One run from start to end: the commands, its folder, and what is left when it fails."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lightning_renyicl.atomic import old_name, write_text
from lightning_renyicl.lock import lock
from lightning_renyicl.runs.folder import RunFolder
from lightning_renyicl.tables.running import command
from lightning_renyicl.tables.running.replay import Replay, differences, mark, read_replay
from lightning_renyicl.tables.training import Run, Status, read_result, status

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

TAIL = 12  # lines of a log that explain a failure


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    Attributes:
        run: the run.
        state: ``finished`` now, ``done`` before, ``failed``, ``stopped``, or ``busy``: another process has it.
        message: why it failed, or what else there is to say.
    """

    run: Run
    state: str
    message: str = ""


class Stopped(Exception):
    """The worker was told to stop."""


class Worker:
    """Executes runs, each in the thread that calls it.

    Args:
        rerun_stale: run again what is done but stale; what it left before is kept under another name.
    """

    POLL = 1.0  # seconds between looks at a lock that another process holds

    def __init__(self, rerun_stale: bool = False) -> None:
        self.rerun_stale = rerun_stale
        self._children: set[ForkServerProcess] = set()
        self._stopping = False
        self._starting = threading.Lock()

    def __call__(self, run: Run, environment: dict[str, str] | None = None, wait: bool = False) -> Outcome:
        """Runs ``fit``, and ``test`` if the table reports it, unless that has been done.

        Args:
            run: the run.
            environment: variables for the commands.
            wait: wait for another process that has the run, and take what it made of it.
        """
        try:
            while True:
                with lock(run.lock) as descriptor:
                    if descriptor is not None:
                        return self._execute(run, descriptor, environment or {}, wait)
                if not wait or self._stopping:
                    return Outcome(run, "busy")
                time.sleep(self.POLL)
        except Stopped:
            return Outcome(run, "stopped")
        except (OSError, ValueError) as error:  # OSError: a full disk, a folder that cannot be written
            return Outcome(run, "failed", str(error))
        except Exception as error:  # of one run: the others go on
            return Outcome(run, "failed", f"{type(error).__name__}: {error}")

    def _execute(self, run: Run, descriptor: int, environment: dict[str, str], waited: bool) -> Outcome:
        before = status(run, held=True)
        if before.state == "done" or (before.state == "stale" and not self.rerun_stale):
            return Outcome(run, "done")
        if waited and before.state == "failed":
            return Outcome(run, "failed", before.reasons[0])
        try:
            kept = self._prepare(run, before)
            self._work(run, descriptor, {**without_slurm(), **environment})
        except ValueError as error:
            with suppress(OSError):
                run.folder.mkdir(parents=True, exist_ok=True)
                run.failure.write_text(f"{error}\n")
            raise
        return Outcome(run, "finished", f"what was there before is {kept}" if kept else "")

    def stop(self) -> None:
        """Kills what runs and starts nothing more."""
        with self._starting:
            self._stopping = True
            for child in self._children:
                command.kill(child)

    def _prepare(self, run: Run, before: Status) -> Path | None:
        """Leaves a folder that holds this run's own beginning or nothing; returns where what else was there went."""
        asked = run.asks_for()
        for path, content in asked["configs"].items():
            if content is None:
                raise ValueError(f"{path} does not exist")
        training, evaluation = run.changes()
        kept = None
        if before.trained:
            kept = set_aside(run.result.parent)
        elif (
            before.state == "stale"
            or training
            or (not run.fitted.exists() and (evaluation or RunFolder(run.folder).begun_with_other_data()))
        ):
            kept = set_aside(run.folder)
        for result in {run.result, run.fitted}:
            try:
                read_result(result)
            except ValueError:
                result.replace(result.with_suffix(".damaged"))
        run.folder.mkdir(parents=True, exist_ok=True)
        for past in (run.failure, run.outdated):
            past.unlink(missing_ok=True)
        write_text(run.request, json.dumps(asked, indent=1) + "\n")
        return kept

    def _work(self, run: Run, descriptor: int, environment: dict[str, str]) -> None:
        fresh = False
        before = read_replay(run.replay)
        for arguments, result in commands(run):
            if fresh:
                result.unlink(missing_ok=True)
            if result.exists():
                continue
            fresh = True
            # by the very process that has made the result, and so by the same code
            replay = Replay(run, run.replay) if run.seed == 0 and result == run.result else None
            work = command.Commands(arguments, replay)
            code = self._call(work, run.log, descriptor, environment)
            if code or not result.exists():
                raise ValueError(explain(code, arguments[0], run.log))
        after = read_replay(run.replay)
        if before is not None and after is not None and (lines := differences(before, after)):
            mark(run, lines, own=False)

    def _call(self, work: command.Commands, log: Path, descriptor: int, environment: dict[str, str]) -> int:
        with self._starting:
            if self._stopping:
                raise Stopped
            child = command.start(work, log, environment, descriptor)
            self._children.add(child)
        code = command.wait(child)
        with self._starting:
            self._children.discard(child)
            if self._stopping:
                raise Stopped
        return code


def commands(run: Run) -> Iterator[tuple[list[str], Path]]:
    """What makes a run, in order, and the file that each leaves when it is done."""
    configs = [f"--config={path}" for path in run.training.configs]
    common = [*run.machine_flags(), f"--seed_everything={run.seed}", f"--trainer.default_root_dir={run.folder}"]
    common.append("--fixed_folder=true")  # a table looks for its results in one place
    yield ["fit", *configs, *common], run.fitted
    if run.result != run.fitted:
        folder = RunFolder(run.folder)
        # what was trained, whatever has become of the configurations since; their evaluation, if that alone is another
        trained = [f"--config={folder.config}"] if run.differences() else configs
        yield ["test", *trained, f"--ckpt_path={folder.checkpoint}", *common], run.result


def without_slurm() -> dict[str, str]:
    """This process's variables without those of a Slurm step, in which Lightning would expect a process a device."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}


def set_aside(folder: Path) -> Path | None:
    """Renames a folder to the first free one of ``-old``, ``-old2``, ``-old3`` and so on, and returns that."""
    old = folder.with_name(old_name(folder.name, lambda name: folder.with_name(name).exists()))
    return folder.rename(old) if folder.exists() else None


def mistake(log: Path) -> str | None:
    """The line with which a command has ended, for want of data say; None if it ended by more than a line."""
    last = log.read_text(errors="replace").rstrip().rpartition("\n")[2]
    return last.removeprefix("error: ") if last.startswith("error: ") else None


def explain(code: int, name: str, log: Path) -> str:
    """How a command ended, and the end of its log, of which a user's mistake is one line."""
    if code < 0:
        sent = signal.Signals(-code).name
        ended = f"was ended by {sent}" + (", which the system sends when memory is short" if sent == "SIGKILL" else "")
    else:
        ended = f"ended with exit code {code}" if code else "left no result"
    if code == 2 and (line := mistake(log)):
        return f"{name} {ended}: {line}"
    lines = log.read_text(errors="replace").rstrip().splitlines()
    return "\n".join([f"{name} {ended}; the end of {log}:", *(f"  {line}" for line in lines[-TAIL:])])
