"""Where a run lives, and whether it is new, to be continued or finished."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lightning_renyicl.configuration import read_yaml
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
    def latest(self) -> Path | None:
        """The newest checkpoint, which an unfinished run continues from; None before there is one."""
        found = [path for path in (self.checkpoint, *self.path.glob(_REQUEUE)) if path.exists()]
        return max(found, key=lambda path: path.stat().st_mtime_ns, default=None)

    @property
    def metrics(self) -> dict[str, float | None] | None:
        """The scores of a finished run; None of an unfinished one."""
        result = self.path / "result.json"
        if not result.exists():
            return None
        try:
            scores: dict[str, float | None] = json.loads(result.read_text())["metrics"]
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ValueError(f"{result} is not a result file ({error}); delete it to run again") from error
        return scores

    def holds(self, config: dict[str, Any]) -> bool:
        """Whether this folder is free, or was made by the same configuration."""
        try:
            own = read_yaml(self.config)
        except FileNotFoundError:
            return True
        return isinstance(own, dict) and comparable(own) == comparable(config)

    def write_error(self, text: str, started: bool) -> None:
        """Leaves the traceback of a failure in ``error.log``; a run that made no step leaves the folder free."""
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / "error.log").write_text(text)
        left = (*self.path.glob("result.json*"), *self.path.glob("embeddings*.parquet"))  # by an earlier call
        if not started and self.latest is None and not left:
            self.config.unlink(missing_ok=True)

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
