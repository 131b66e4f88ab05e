"""Which classes a checkpoint, or a configuration that lies beside it, may name."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import yaml

_ROOTS = ("datamodules", "lightning_renyicl", "torch.optim", "lightning.pytorch.callbacks")
"""Packages whose import does nothing but define things."""
OF_RUNS = (
    "datamodules",
    *(
        f"lightning_renyicl.{part}"
        for part in ("encoders", "heads", "lars", "modules", "mutual_information", "objectives", "optim")
    ),
    "torch.optim",
)
"""Where the classes of a run's model and data are defined: what they do when they are made is known."""
OF_EVALUATIONS = (
    *OF_RUNS,
    "lightning_renyicl.evaluation",
    "lightning_renyicl.callbacks.information_error",
    "lightning_renyicl.callbacks.information_estimate",
    "lightning.pytorch.callbacks",
)
"""Where the callbacks of an evaluation are defined, too."""
_CONTAINERS = (Union, UnionType, Annotated, list, tuple, set, dict, Sequence, Iterable, Mapping, Set)
_TEXT = (str, int, float, bool, NoneType, Path, timedelta)
_DEEPEST, _MOST = 40, 5_000_000  # levels, and values in all


@dataclass
class Trust:
    """Refuses what names other classes than those of this project, of ``torch.optim`` and of the user's own command.

    What is read is looked through as jsonargparse reads it afterwards: a class is what ``class_path`` says, but also
    text where a class or a function is expected, and YAML in text where anything may stand.

    Args:
        source: what names the classes, for messages.
        remedy: how a user says that the source is to be trusted.
        packages: where classes that it may name are defined.
        named: what the user names, full paths or bare names.
    """

    source: str
    remedy: str
    packages: tuple[str, ...] = OF_RUNS
    named: Set[str] = frozenset()
    _looked_at: int = field(default=0, init=False)

    def check(self, value: Any, annotation: Any, place: str, depth: int = 0) -> None:
        """Looks through a value and all that is in it.

        Args:
            value: dictionaries, lists, text and numbers.
            annotation: the type that is expected there; None: nothing is known of it.
            place: its key, for messages.
            depth: how deep it lies.

        Raises:
            ValueError: it names a class that it may not name, or is none of these types.
        """
        self._looked_at += 1
        if depth > _DEEPEST or self._looked_at > _MOST:
            raise ValueError(f"{self.source}: {place} is nested too deeply")
        if isinstance(value, str):
            self._check_text(value, annotation, place, depth)
        elif isinstance(value, (list, tuple)):
            for item in value:
                self.check(item, annotation, place, depth + 1)
        elif isinstance(value, dict):
            self._check_dictionary(value, annotation, place, depth)
        elif value is not None and type(value) not in (bool, int, float):
            raise ValueError(f"{self.source}: {place} is a {type(value).__name__}, not text, a number or a list")

    def class_of(self, path: Any, place: str) -> type:
        """The class at a path.

        Raises:
            ValueError: a path that may not be named, or where no class is.
        """
        if isinstance(path, str) and "__" not in path and all(part.isidentifier() for part in path.split(".")):
            module, _, name = path.rpartition(".")
            if _within(path, _ROOTS) or path in self.named:
                with suppress(ImportError, ValueError):
                    import_module(module)
            found = getattr(sys.modules.get(module), name, None)
            ours = _within(getattr(found, "__module__", None) or "", self.packages) and _within(path, _ROOTS)
            if isinstance(found, type) and (ours or not self.named.isdisjoint((path, name))):
                return found
        raise ValueError(
            f"{self.source} names {str(path)[:80]!r} for {place}, which is no class of this project that belongs "
            f"there: {self.remedy}"
        )

    def _check_dictionary(self, value: dict[Any, Any], annotation: Any, place: str, depth: int) -> None:
        if "class_path" in value:
            owner = self.class_of(value["class_path"], place)
            unknown = value.keys() - {"class_path", "init_args", "dict_kwargs"}
            if unknown:
                raise ValueError(f"{self.source}: {place} has {str(sorted(map(str, unknown)))[:80]} beside its class")
            for arguments in (value.get("init_args"), value.get("dict_kwargs")):
                if not isinstance(arguments, (dict, NoneType)):
                    raise ValueError(f"{self.source}: the arguments of {place} are no dictionary")
                self._check_arguments(arguments or {}, owner, place, depth)
        elif _is_text(annotation):
            for key, item in value.items():
                self.check(item, annotation, f"{place}.{str(key)[:80]}", depth + 1)
        else:
            records = [leaf for leaf in _leaves(annotation) if is_dataclass(leaf) or is_typeddict(leaf)]
            self._check_arguments(value, records[0] if records else None, place, depth)

    def _check_arguments(self, arguments: dict[Any, Any], owner: type | None, place: str, depth: int) -> None:
        for key, item in arguments.items():
            if not isinstance(key, str) or not key.isidentifier() or key.startswith("__"):
                raise ValueError(f"{self.source}: {place} has an argument named {str(key)[:80]!r}")
            if owner is None or item is None or item != _own_default(owner, key):
                self.check(item, None if owner is None else expected_type(owner, key), f"{place}.{key}", depth + 1)

    def _check_text(self, value: str, annotation: Any, place: str, depth: int) -> None:
        leaves = _leaves(annotation)
        if _is_text(annotation):
            content = _read_yaml(value) if Any in leaves else None
            if isinstance(content, (dict, list)):
                self.check(content, annotation, place, depth + 1)
        elif str not in leaves or "." in value or (value and os.path.exists(value)):
            self.class_of(value, place)  # else a word, which is neither a path to a class nor a file


def expected_type(owner: type, name: str) -> Any:
    """The annotation of a constructor's argument, also of one that it hands on to a base class; None if unknown."""
    if is_dataclass(owner) or is_typeddict(owner):
        return _hints(owner).get(name)
    for base in owner.__mro__:
        constructor = base.__dict__.get("__init__")
        if constructor is None:
            continue
        parameters = inspect.signature(constructor).parameters
        if name in parameters and parameters[name].kind is not inspect.Parameter.VAR_KEYWORD:
            return _hints(constructor).get(name)
        if not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values()):
            return None
    return None


def _own_default(owner: type, name: str) -> str | None:
    """The path of the function that an argument is where none is given; None of others."""
    parameter = None if is_typeddict(owner) else inspect.signature(owner).parameters.get(name)
    default = None if parameter is None else parameter.default
    return f"{default.__module__}.{default.__qualname__}" if inspect.isfunction(default) else None


def names_in(tree: Any) -> Iterator[str]:
    """All text in nested dictionaries and lists that may be a class's name or path."""
    if isinstance(tree, dict):
        for value in tree.values():
            yield from names_in(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from names_in(value)
    elif isinstance(tree, str) and all(part.isidentifier() for part in tree.split(".")):
        yield tree


def _within(path: str, packages: tuple[str, ...]) -> bool:
    return any(path == package or path.startswith(f"{package}.") for package in packages)


def _leaves(annotation: Any) -> list[Any]:
    """What an annotation says may stand there, whatever the containers; nothing of an unknown one."""
    if annotation is None or annotation is Ellipsis:
        return []
    origin = get_origin(annotation)
    if origin is Literal:
        return [str]
    if origin in _CONTAINERS:
        return [leaf for part in get_args(annotation) for leaf in _leaves(part)]
    return [annotation]


def _is_text(annotation: Any) -> bool:
    """Whether an annotation has no place for a class or a function, so that text there is text."""
    leaves = _leaves(annotation)
    return bool(leaves) and all(leaf is Any or (isinstance(leaf, type) and issubclass(leaf, _TEXT)) for leaf in leaves)


def _hints(owner: Any) -> dict[str, Any]:
    try:
        return get_type_hints(owner)
    except (NameError, TypeError):
        return {}


def _read_yaml(text: str) -> Any:
    """What jsonargparse takes text for where anything may stand."""
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
