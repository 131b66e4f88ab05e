"""Checkpoint files: whole or refused, by one line that names the file."""

from __future__ import annotations

import json
import zipfile
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import torch

TO_GO_ON = ("state_dict", "optimizer_states", "lr_schedulers", "loops", "callbacks")
"""What a training needs to go on where it stopped."""
KINDS = {
    "state_dict": dict,
    "hyper_parameters": dict,
    "datamodule_hyper_parameters": dict,
    "callbacks": dict,
    "loops": dict,
    "optimizer_states": list,
    "lr_schedulers": list,
}
"""The types of a checkpoint's parts."""
RUN = "run"
"""Where a checkpoint keeps the run's folder, callbacks, seed, commit and versions, and digests of its data's files."""
_NESTED = ("hyper_parameters", "datamodule_hyper_parameters", RUN)


def before(path: Path) -> Path:
    """Where the checkpoint that another took the place of is kept."""
    return path.with_name(f"{path.name}.before")


def damage(path: Path) -> str | None:
    """What is wrong with a checkpoint file, by the checksums that torch stores in it and does not look at; or None.

    A file is read once as long as the system says the same of it: a run that goes on asks several times.

    Raises:
        OSError: a file that cannot be read.
    """
    found = path.stat()
    return _damage(path, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


@cache
def _damage(path: Path, *_: int) -> str | None:
    try:
        with zipfile.ZipFile(path) as archive:
            broken = archive.testzip()
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        return f"it is not a whole file ({error})"
    return None if broken is None else f"{broken} in it is not what was written"


def read_checkpoint(path: Path, called: str | None = None, map_location: Any = "cpu") -> dict[str, Any]:
    """A checkpoint of plain types and tensors.

    Args:
        path: the file.
        called: how messages call it; None: by its path.
        map_location: device of its tensors.

    Raises:
        ValueError: a file that is damaged, holds other types, or is not a checkpoint of Lightning with its weights.
        OSError: a file that cannot be read.
    """
    called = called or str(path)
    if not path.is_file():
        raise FileNotFoundError(f"{called}: {'is a folder' if path.is_dir() else 'no such file'}")
    if reason := damage(path):
        raise ValueError(f"{called} is not a checkpoint, or is damaged: {reason}")
    try:
        checkpoint = torch.load(path, weights_only=True, map_location=map_location, mmap=True)
    except Exception as error:
        raise ValueError(f"{called} is not a checkpoint that loads safely: {culprit(error)}") from error
    if not isinstance(checkpoint, dict) or "pytorch-lightning_version" not in checkpoint:
        raise ValueError(f"{called} is not a checkpoint of Lightning")
    if "state_dict" not in checkpoint:
        raise ValueError(f"{called} has no state_dict, and so no weights")
    for part, kind in KINDS.items():
        _check_kind(checkpoint.get(part, kind()), kind, f"{called}: {part}")
    for name, state in checkpoint.get("callbacks", {}).items():
        _check_kind(state, dict, f"{called}: callbacks.{name}")
    for part in _NESTED:
        try:
            json.dumps(checkpoint.get(part), skipkeys=True, default=str)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{called}: {part} refers to itself, or is nested too deeply") from error
    data = str(checkpoint.get("datamodule_hyper_parameters", {}).get("_class_path")).rpartition(".")[2]
    _check_kind(checkpoint.get(data, {}), dict, f"{called}: {data}")
    return checkpoint


def _check_kind(value: Any, kind: type, place: str) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"{place} is no {'dictionary' if kind is dict else kind.__name__}")


def check_parts(checkpoint: dict[str, Any], called: str) -> None:
    """Refuses a checkpoint that lacks parts, from which a training would start anew where they are missing.

    Args:
        checkpoint: what :func:`read_checkpoint` has read.
        called: how messages call it.

    Raises:
        ValueError: the parts that are missing or empty.
    """
    refuse_without([part for part in TO_GO_ON if part not in checkpoint], called)
    fit_loop, optimizers = checkpoint["loops"].get("fit_loop"), checkpoint["optimizer_states"]
    schedules, scheduled = checkpoint["lr_schedulers"], checkpoint.get("hyper_parameters", {}).get("scheduler")
    empty = [f"callbacks.{name}" for name, state in checkpoint["callbacks"].items() if not state]
    if not isinstance(fit_loop, dict) or not fit_loop:
        empty.append("loops.fit_loop")
    if not optimizers or not all(isinstance(each, dict) and each.get("param_groups") for each in optimizers):
        empty.append("optimizer_states")
    if (scheduled and not schedules) or not all(isinstance(each, dict) and each for each in schedules):
        empty.append("lr_schedulers")
    refuse_without(empty, called)


def refuse_without(lacking: list[str], called: str) -> None:
    """Raises ValueError if a checkpoint lacks any part.

    Args:
        lacking: names of the parts.
        called: how the message calls the checkpoint.
    """
    if lacking:
        raise ValueError(
            f"{called} has no {', '.join(lacking)}: it is of weights alone, or incomplete, and a training cannot go on "
            "from it"
        )


def culprit(error: Exception) -> str:
    """What a file holds that is not loaded, without torch's advice to load it all the same."""
    text = str(error)
    for before in ("Unsupported global: GLOBAL ", "Unsupported class ", "Trying to load unsupported GLOBAL "):
        if before in text:
            name = text.partition(before)[2].split()[0]
            return f"it holds {name}, which is code, where only tensors, numbers and text are read"
    return text.partition("\n")[0]
