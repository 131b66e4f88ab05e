"""When two configurations are those of one run."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from lightning_renyicl.configuration import read_yaml

_OF_THE_CALL = ("config", "ckpt_path", "fresh", "fixed_folder", "trust_checkpoint")
_COSMETIC = ("default_root_dir", "enable_progress_bar", "enable_model_summary", "profiler")
MACHINE_KEYS = ("accelerator", "devices", "num_nodes", "strategy")
"""Keys of the trainer that say where something runs, not what."""


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
    kept = {key: value for key, value in config.items() if key not in _OF_THE_CALL}
    if isinstance(kept.get("trainer"), dict):
        left_out = _COSMETIC + MACHINE_KEYS
        kept["trainer"] = {key: value for key, value in kept["trainer"].items() if key not in left_out}
    data = kept.get("data")
    if isinstance(data, dict) and isinstance(data.get("init_args"), dict):
        arguments = {key: value for key, value in data["init_args"].items() if key not in ("num_workers", "fitted")}
        if root_is_a_place(str(data.get("class_path"))):
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


def root_is_a_place(class_path: str) -> bool:
    """Whether a data module's ``root`` says where its data lies, and not which data it is: ``ROOT_IS_A_PLACE``."""
    module, _, name = class_path.rpartition(".")
    try:
        return bool(getattr(getattr(import_module(module), name), "ROOT_IS_A_PLACE", False))
    except (ImportError, AttributeError, ValueError):  # of a class that is not there any more nothing is known
        return False


def differing_keys(file: Path, config: dict[str, Any]) -> str:
    """The keys in which a stored configuration differs from ``config``, the first few of them."""
    stored = read_yaml(file)
    own, asked = (comparable(c) if isinstance(c, dict) else {} for c in (stored, config))
    return changed_keys(own, asked)


def changed_keys(before: Any, after: Any, most: int = 3) -> str:
    """The dotted keys that only one of two configurations has or that differ in value, the first few of them."""
    one, other = flatten(before), flatten(after)
    keys = sorted(
        key for key in one.keys() | other.keys() if key not in one or key not in other or one[key] != other[key]
    )
    return ", ".join(keys[:most]) + (" …" if len(keys) > most else "")
