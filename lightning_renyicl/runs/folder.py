"""Where a run lives, and whether it is new, to be continued or finished."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lightning.pytorch.utilities import rank_zero_warn

from lightning_renyicl.atomic import write_text
from lightning_renyicl.checkpoints import RUN, before, damage, read_checkpoint
from lightning_renyicl.configuration import read_yaml
from lightning_renyicl.provenance import changed_files
from lightning_renyicl.runs.comparison import comparable, differing_keys

_REQUEUE = "hpc_ckpt_*.ckpt"
"""Checkpoints that Lightning saves when a cluster is about to stop a job."""
_WRITTEN = (
    "config.yaml",
    "metrics.csv",
    "hparams.yaml",
    "events.out.tfevents.*",
    "result.json*",
    "error.log",
    _REQUEUE,
)


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run: ``config.yaml``, ``metrics.csv``, ``checkpoints/``, ``result.json``."""

    path: Path

    @property
    def config(self) -> Path:
        """The resolved configuration, written when the run starts."""
        return self.path / "config.yaml"

    @property
    def checkpoint(self) -> Path:
        """The checkpoint of the last whole epoch."""
        return self.path / "checkpoints" / "last.ckpt"

    @property
    def checkpoints(self) -> list[Path]:
        """What an unfinished run may continue from, the newest first."""
        found = [self.checkpoint, before(self.checkpoint), *self.path.glob(_REQUEUE)]
        return sorted((path for path in found if path.exists()), key=lambda path: -path.stat().st_mtime_ns)

    def latest(self) -> Path | None:
        """The newest checkpoint that is whole, which an unfinished run continues from; None before there is one.

        Raises:
            ValueError: no checkpoint that is there is whole.
        """
        reasons: list[str] = []
        for path in self.checkpoints:
            reason = damage(path)
            if reason is None:
                if reasons:
                    rank_zero_warn(f"{'; '.join(reasons)}: {path.name} is used in its place")
                return path
            reasons.append(f"{path} is damaged: {reason}")
        if reasons:
            raise ValueError(f"{'; '.join(reasons)}: --fresh true starts over")
        return None

    @property
    def result(self) -> dict[str, Any] | None:
        """What ``result.json`` of a finished run holds; None of an unfinished one.

        Raises:
            ValueError: a file that is no result, which it names.
        """
        file = self.path / "result.json"
        if not file.exists():
            return None
        try:
            result = json.loads(file.read_text(encoding="utf-8"))
            what = None if isinstance(result, dict) and isinstance(result.get("metrics"), dict) else "no metrics in it"
        except (ValueError, RecursionError) as error:  # of JSON or of UTF-8
            what = str(error)
        if what is not None:
            raise ValueError(f"{file} is not a result file ({what}); delete it to run again")
        return dict(result)

    def check_data(self, record: dict[str, Any], file: Path, state: str) -> None:
        """Refuses to take a run for finished, or to go on with it, whose data files have changed since.

        Args:
            record: what a result or a checkpoint says of the data.
            file: where it says so, for messages.
            state: how the run is called there, such as "finished".

        Raises:
            ValueError: the files that have, or a record that says something else of them.
        """
        try:
            changed = changed_files(record)
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError(f"{file} is damaged (data.files); delete it to run again") from error
        if changed:
            raise ValueError(
                f"{self.path} is {state}, but {', '.join(changed[:3])} since: --fresh true trains again, and another "
                "--trainer.default_root_dir keeps both"
            )

    def begun_with_other_data(self) -> bool:
        """Whether data files have changed since an unfinished run's newest checkpoint.

        Raises:
            ValueError: no checkpoint that is there is whole.
        """
        latest = self.latest()
        try:
            return latest is not None and bool(changed_files(read_checkpoint(latest).get(RUN) or {}))
        except (LookupError, TypeError, AttributeError):
            return False  # of a checkpoint that says something else, which is refused when it is gone on from

    def holds(self, config: dict[str, Any]) -> bool:
        """Whether this folder is free, or was made by the same configuration."""
        try:
            own = read_yaml(self.config)
        except FileNotFoundError:
            return True
        return isinstance(own, dict) and comparable(own) == comparable(config)

    def write_error(self, text: str, started: bool) -> None:
        """Leaves the traceback of a failure in ``error.log``; a run that made no step leaves the folder free.

        Where nothing can be written, that is not what failed: nothing is left then.
        """
        left = (*self.path.glob("result.json*"), *self.path.glob("embeddings*.parquet"))  # by an earlier call
        with suppress(OSError):
            if not started and not self.checkpoints and not left:
                self.config.unlink(missing_ok=True)
            self.path.mkdir(parents=True, exist_ok=True)
            write_text(self.path / "error.log", text)

    def make(self) -> None:
        """Makes the folder, unless it is there.

        Raises:
            OSError: it cannot be made, or not be written.
        """
        with of_a_folder(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            if not os.access(self.path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    def forget_error(self) -> None:
        """Deletes the traceback of an earlier try."""
        (self.path / "error.log").unlink(missing_ok=True)

    def clear(self) -> None:
        """Deletes what a run writes, and nothing else that lies in its folder."""
        if not self.config.exists():
            return
        shutil.rmtree(self.checkpoint.parent, ignore_errors=True)
        for pattern in _WRITTEN:
            for path in self.path.glob(pattern):
                path.unlink(missing_ok=True)


@contextmanager
def of_a_folder(path: Path) -> Iterator[None]:
    """Names the run folder, and the argument that is for another, in what the system says of a file there."""
    try:
        yield
    except OSError as error:
        if error.strerror is None:
            raise
        text = f"{error.strerror} (another --trainer.default_root_dir?)"
        raise OSError(error.errno, text, str(path)) from error


def default_path(configs: Iterable[str | Path], seed: int) -> Path:
    """``runs/<stems of the configuration files, joined by +>/seed<seed>``."""
    stems = "+".join(Path(config).stem for config in configs)
    return Path("runs") / (stems or "no-config") / f"seed{seed}"


def find(path: Path, config: dict[str, Any], fixed: bool = False) -> RunFolder:
    """The first of ``path``, ``path-2``, ``path-3`` … that is free or holds a run of ``config``.

    Args:
        path: the folder that is asked for.
        config: the resolved configuration.
        fixed: whether no other folder will do.

    Raises:
        ValueError: ``path`` holds another configuration, where no other folder will do.
    """
    if fixed and not RunFolder(path).holds(config):
        keys = differing_keys(RunFolder(path).config, config)
        raise ValueError(f"{path} holds another configuration ({keys}): move or delete it")
    attempt = 1
    while True:
        folder = RunFolder(path if attempt == 1 else path.with_name(f"{path.name}-{attempt}"))
        if folder.holds(config):
            return folder
        attempt += 1
