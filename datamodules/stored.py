"""Objects of this package from how a checkpoint says that they were made."""

from __future__ import annotations

from importlib import import_module
from typing import Any, get_origin, get_type_hints


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
