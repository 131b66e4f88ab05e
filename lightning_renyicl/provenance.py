"""Which code and which files a result comes from, and whether they are still the same."""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = ("lightning_renyicl", "datamodules")
# As they are when a process starts: later edits are not what it runs, nor what is forked from it.
LOADED = {file: file.read_bytes() for package in PACKAGES for file in (ROOT / package).rglob("*.py")}


def sources(instances: Iterable[object]) -> dict[str, str]:
    """Digests of the project's files that define the instances' classes and whatever these files use.

    Comments, docstrings and layout don't count.
    """
    waiting = [sys.modules[cls.__module__] for one in instances for cls in type(one).__mro__ if ours(cls.__module__)]
    seen: set[ModuleType] = set()
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        for value in vars(module).values():
            home = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
            if isinstance(home, str) and ours(home) and home in sys.modules:
                waiting.append(sys.modules[home])
    files = {Path(module.__file__) for module in seen if module.__file__}
    return {
        name_of(file): digest_of(LOADED[file]) if file in LOADED else digest_of_code(file) for file in sorted(files)
    }


def name_of(file: Path) -> str:
    """A file's path within the project; of a file elsewhere its whole path."""
    return str(file.relative_to(ROOT) if file.is_relative_to(ROOT) else file)


def ours(module: str) -> bool:
    """Whether a module belongs to the project."""
    return module.partition(".")[0] in PACKAGES


@cache
def digest_of_code(file: Path) -> str:
    """SHA-256 of what a Python file does."""
    return digest_of(file.read_bytes())


def digest_of(code: bytes) -> str:
    """SHA-256 of what Python code does; of its bytes while it is no Python."""
    with suppress(SyntaxError):
        code = repr(canonical(ast.parse(code))).encode()
    return hashlib.sha256(code).hexdigest()


def canonical(node: Any) -> Any:
    """A syntax tree as nested lists, without docstrings and what is empty: the same for every Python version."""
    if isinstance(node, list):
        return [canonical(item) for item in node]
    if not isinstance(node, ast.AST):
        return node
    fields = dict(ast.iter_fields(node))
    if documented(fields.get("body")):
        fields["body"] = fields["body"][1:]
    children = ((name, canonical(child)) for name, child in fields.items())
    return [type(node).__name__, *([name, child] for name, child in children if child is not None and child != [])]


def documented(body: Any) -> bool:
    """Whether a module, class or function begins with a docstring."""
    first = body[0] if isinstance(body, list) and body else None
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)


def fingerprints(files: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Size, time of change and SHA-256 of data files; of a folder the names and sizes beneath it.

    A file within the working folder is named from there, so that results can be read elsewhere.
    """
    here = Path.cwd()
    return {
        str(file.relative_to(here) if file.is_relative_to(here) else file): {
            "size": size(file),
            "mtime_ns": file.stat().st_mtime_ns,
            "sha256": digest(file),
        }
        for file in files
        if file.exists()
    }


def size(path: Path) -> int:
    """Bytes of a file or of all files beneath a folder."""
    return path.stat().st_size if path.is_file() else sum(f.stat().st_size for f in path.rglob("*") if f.is_file())


@cache
def digest(path: Path) -> str:
    """SHA-256 of a file's content, or of the names and sizes of the files beneath a folder."""
    if path.is_file():
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    lines = (f"{f.relative_to(path)} {f.stat().st_size}" for f in sorted(path.rglob("*")) if f.is_file())
    return hashlib.sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()


def changed_sources(result: dict[str, Any]) -> list[str]:
    """The files of code that are not those of a result any more."""
    return [
        f"{name} has changed"
        for name, then in result.get("sources", {}).items()
        if not (ROOT / name).exists() or digest_of_code(ROOT / name) != then
    ]


def changed_files(result: dict[str, Any]) -> list[str]:
    """The data files that are not those of a result any more; files that are not on this machine don't count.

    A file of the same size and time of change is taken for the same, others are read.
    """
    changed = []
    for name, then in (result.get("data") or {}).get("files", {}).items():
        path = Path(name)
        if not path.exists():
            continue
        touched = path.is_dir() or path.stat().st_mtime_ns != then["mtime_ns"]
        if size(path) != then["size"] or (touched and digest(path) != then["sha256"]):
            changed.append(f"{name} has changed")
    return changed
