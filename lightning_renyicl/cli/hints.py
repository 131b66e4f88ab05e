"""What a user most likely meant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

_PRECISIONS = ("fp16", "float16", "half", "bf16", "bfloat16", "fp32", "float32", "amp")


def with_hint(line: str, options: Iterable[str] = ()) -> str:
    """An error's line, and behind it the nearest names of what is misspelt, if there are any.

    Args:
        line: the error, in one line.
        options: flags that the parser knows.
    """
    hint = _of_class(line) or _of_flag(line, list(options)) or _of_value(line)
    return f"{line.rstrip('!.')}; {hint}" if hint else line


def nearest(name: str, among: Iterable[str], cutoff: float = 0.5) -> list[str]:
    """The three names that look most like one, whatever their case, or fewer; the nearest first."""
    known = {each.lower(): each for each in among}
    return [known[each] for each in get_close_matches(name.lower(), known, 3, cutoff)]


def classes() -> set[str]:
    """Names of this project's classes that configurations may name without their module."""
    import datamodules
    import datamodules.augmentations
    from lightning_renyicl import callbacks, encoders, evaluation, heads, modules, objectives

    packages = (callbacks, datamodules, datamodules.augmentations, encoders, evaluation, modules, objectives)
    own = {
        name for name, value in vars(heads).items() if isinstance(value, type) and value.__module__ == heads.__name__
    }
    return own.union(*(package.__all__ for package in packages))


def _of_class(line: str) -> str | None:
    found = re.search(r"no class that fits here is named ([\w.]+)", line)
    if found is None or "." in found[1]:
        return None
    known = classes()
    if found[1] in known:
        return f"{found[1]} is a class for another place"
    names = nearest(found[1], known)
    return f"did you mean {', '.join(names)}?" if names else None


def _of_flag(line: str, options: list[str]) -> str | None:
    if found := re.search(r"unrecognized arguments: (\S+)", line):
        given = found[1].partition("=")[0]
        if not given.startswith("-"):
            return f"--config {given} if it is a configuration" if given.endswith((".yaml", ".yml")) else None
        names = nearest(given, (option for option in options if not option.endswith((".help", "+"))), 0.6)
        return f"did you mean {', '.join(names)}?" if names else None
    if re.search(r"Option '\w+' is not accepted", line):
        names = sorted(name.removeprefix("--") for name in options if re.fullmatch(r"--[a-z]\w*", name))
        taken = [name for name in names if name not in ("help", "config", "print_config")]
        return f"it takes {', '.join(taken)}" if taken else None
    return None


def _of_value(line: str) -> str | None:
    if line.startswith("trainer.precision:") and line.endswith(tuple(f"given: {name}" for name in _PRECISIONS)):
        return "mixed precision is bf16-mixed or 16-mixed"
    if re.search(r"No supported gpu backend found|CUDAAccelerator. can not run on your system", line):
        return "trainer.accelerator cpu, or auto"
    return None
