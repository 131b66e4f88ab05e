"""Where a run lives, and whether it is new, to be continued or finished."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_COSMETIC = ("default_root_dir", "enable_progress_bar", "enable_model_summary", "profiler")
MACHINE_KEYS = ("accelerator", "devices", "num_nodes", "strategy")
"""Keys of the trainer that say where something runs, not what."""
_NAMED = ("CIFAR10", "CIFAR100", "STL10", "ImageNet", "ImageNet100", "TUDataset", "CovType", "Higgs")
"""Data whose root says where it lies, and not which it is."""
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
            own = yaml.safe_load(self.config.read_text())
        except FileNotFoundError:
            return True
        except yaml.YAMLError as error:
            raise ValueError(f"{self.config} is not readable YAML; delete or mend it: {error}") from error
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


def flatten(tree: Any, prefix: str = "") -> dict[str, Any]:
    """Nested dictionaries as one, with dotted keys."""
    if not isinstance(tree, dict) or (prefix and not tree):
        return {prefix: tree}
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= flatten(value, f"{prefix}.{key}" if prefix else str(key))
    return flat


def comparable(config: dict[str, Any]) -> dict[str, Any]:
    """A resolved configuration without what doesn't change the run: where it lies and runs, how it was asked for."""
    kept = {key: value for key, value in config.items() if key not in ("config", "ckpt_path", "fresh")}
    if isinstance(kept.get("trainer"), dict):
        left_out = _COSMETIC + MACHINE_KEYS
        kept["trainer"] = {key: value for key, value in kept["trainer"].items() if key not in left_out}
    data = kept.get("data")
    if isinstance(data, dict) and isinstance(data.get("init_args"), dict):
        arguments = {key: value for key, value in data["init_args"].items() if key != "num_workers"}
        if str(data.get("class_path")).rpartition(".")[2] in _NAMED:
            arguments.pop("root", None)
        elif isinstance(arguments.get("root"), str):
            arguments["root"] = str(Path(arguments["root"]).expanduser().absolute())
        kept["data"] = {**data, "init_args": arguments}
    named: dict[str, Any] = without_modules(kept)
    return named


def without_modules(tree: Any) -> Any:
    """A configuration that names our classes by package alone: a class stays the same wherever its file moves."""
    if isinstance(tree, list):
        return [without_modules(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    return {
        key: _without_module(value) if key == "class_path" else without_modules(value) for key, value in tree.items()
    }


def _without_module(path: Any) -> Any:
    package, *rest = str(path).split(".")
    return f"{package}.{rest[-1]}" if rest and package in ("datamodules", "lightning_renyicl") else path


def differing_keys(folder: RunFolder, config: dict[str, Any]) -> str:
    """The keys in which a folder's configuration differs from ``config``, the first few of them."""
    stored = yaml.safe_load(folder.config.read_text())
    own, asked = (comparable(c) if isinstance(c, dict) else {} for c in (stored, config))
    return changed_keys(own, asked)


def changed_keys(before: Any, after: Any, most: int = 3) -> str:
    """The dotted keys that only one of two configurations has or that differ in value, the first few of them."""
    one, other = flatten(before), flatten(after)
    keys = sorted(
        key for key in one.keys() | other.keys() if key not in one or key not in other or one[key] != other[key]
    )
    return ", ".join(keys[:most]) + (" …" if len(keys) > most else "")


def default_path(configs: Iterable[str | Path], seed: int) -> Path:
    """``runs/<stems of the configuration files, joined by +>/seed<seed>``."""
    stems = "+".join(Path(config).stem for config in configs)
    return Path("runs") / (stems or "no-config") / f"seed{seed}"


def find(path: Path, config: dict[str, Any]) -> RunFolder:
    """The first of ``path``, ``path-2``, ``path-3`` … that is free or holds a run of ``config``.

    Raises:
        ValueError: ``path`` holds another one, where the variable ``RENYICL_ONE_FOLDER`` allows no other folder.
    """
    if os.environ.get("RENYICL_ONE_FOLDER") and not RunFolder(path).holds(config):
        keys = differing_keys(RunFolder(path), config)
        raise ValueError(f"{path} holds another configuration ({keys}): move or delete it")
    attempt = 1
    while True:
        folder = RunFolder(path if attempt == 1 else path.with_name(f"{path.name}-{attempt}"))
        if folder.holds(config):
            return folder
        attempt += 1
