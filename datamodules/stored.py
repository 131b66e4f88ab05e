"""What a checkpoint holds of the data, and objects of this package from how it says that they were made."""

from __future__ import annotations

import zipfile
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import torch


def read(path: Path) -> dict[str, Any]:
    """What a checkpoint file holds, by the checksums in it unless it is refused.

    Raises:
        ValueError: a file that is damaged, holds code, or is no checkpoint.
        OSError: a file that cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            broken = archive.testzip()
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise ValueError(f"{path} is not a checkpoint, or is damaged: it is not a whole file ({error})") from error
    if broken is not None:
        raise ValueError(f"{path} is not a checkpoint, or is damaged: {broken} in it is not what was written")
    try:
        code = torch.serialization.get_unsafe_globals_in_checkpoint(str(path))
        checkpoint = None if code else torch.load(path, weights_only=True, map_location="cpu", mmap=True)
    except Exception as error:  # whose text advises to load it all the same
        raise ValueError(f"{path} holds more than tensors, numbers and text, which alone are read") from error
    if code:
        raise ValueError(f"{path} holds {code[0]}, which is code, where only tensors, numbers and text are read")
    if not isinstance(checkpoint, dict):
        raise ValueError(f"{path} is not a checkpoint of Lightning")
    return checkpoint


def part(checkpoint: dict[str, Any], name: str, source: object) -> dict[str, Any]:
    """A part of a checkpoint; empty if it isn't there.

    Args:
        checkpoint: what :func:`read` has read.
        name: its key.
        source: the checkpoint, for messages.

    Raises:
        ValueError: a part that is no dictionary.
    """
    found = checkpoint.get(name, {})
    if not isinstance(found, dict):
        raise ValueError(f"{source}: {name} is no dictionary")
    return found


def make(stored: Any, source: object) -> Any:
    """What is stored, with an object in place of every ``{class_path, init_args}``; text stays text.

    Args:
        stored: nested dictionaries and lists.
        source: the checkpoint, for messages.

    Raises:
        ValueError: a class that is not of this package.
    """
    if isinstance(stored, list):
        return [make(item, source) for item in stored]
    if not isinstance(stored, dict):
        return stored
    if "class_path" not in stored:
        return {key: make(value, source) for key, value in stored.items()}
    found = class_at(stored["class_path"], source)
    hints = get_type_hints(found.__init__)
    arguments = {key: make(value, source) for key, value in (stored.get("init_args") or {}).items()}
    # a configuration has lists alone
    return found(**{key: tuple(v) if get_origin(hints.get(key)) is tuple else v for key, v in arguments.items()})


def class_at(path: Any, source: object) -> Any:
    """The class of this package at a path.

    Raises:
        ValueError: there is none.
    """
    package = __name__.partition(".")[0]
    if isinstance(path, str) and path.startswith(f"{package}.") and "__" not in path:
        module, _, name = path.rpartition(".")
        try:
            found = getattr(import_module(module), name)
        except (ImportError, AttributeError):
            found = None
        if isinstance(found, type) and found.__module__.startswith(f"{package}."):
            return found
    raise ValueError(f"{source} names {str(path)[:80]!r}, which is no class of {package}: it is not taken")
