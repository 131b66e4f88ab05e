"""Files of configurations, those of earlier versions among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_PROTOCOLS = (
    "KNN",
    "RBFSVM",
    "FrozenFeatures",
    "GradientBoosting",
    "LinearSGD",
    "OnlineProbe",
    "PseudoInverse",
    "RawColumns",
)
MOVED = {
    **{f"lightning_renyicl.callbacks.{name}": f"lightning_renyicl.evaluation.{name}" for name in _PROTOCOLS},
    "lightning_renyicl.csv_logger.ContinuedCSVLogger": "lightning_renyicl.runs.logger.ContinuedCSVLogger",
    "datamodules.InformationStaircase": "datamodules.StepwisePairs",
}
"""Classes that were elsewhere when configurations, checkpoints and results were written: old path to new path."""
RENAMED = {"val_share": "val_fraction", "kept": "subgraph_ratio"}
"""Arguments that had another name then."""
_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


def with_current_names(tree: Any) -> Any:
    """Nested dictionaries and lists with every moved class by its present path, every argument by its present name."""
    if isinstance(tree, dict):
        return {RENAMED.get(key, key): with_current_names(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [with_current_names(value) for value in tree]
    return MOVED.get(tree, tree) if isinstance(tree, str) else tree


def section_of(stored: dict[str, Any]) -> dict[str, Any]:
    """The section of a configuration that a checkpoint carries as hyperparameters, by present names.

    Args:
        stored: the hyperparameters, of a module or of data.

    Returns:
        ``init_args`` and, where the command wrote them, ``class_path``.
    """
    arguments = with_current_names(dict(stored))
    arguments.pop("_instantiator", None)
    named = {"class_path": arguments.pop("_class_path")} if "_class_path" in arguments else {}
    return {**named, "init_args": arguments}


def read_yaml(file: str | Path) -> Any:
    """The content of a YAML file, with classes and arguments by their present names.

    Raises:
        ValueError: a file that is not YAML, or whose YAML refers to itself, which it names.
        OSError: a file that cannot be read.
    """
    try:
        return with_current_names(yaml.load(Path(file).read_text(encoding="utf-8"), _LOADER))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} is not YAML; mend or delete it: {error}") from error
    except RecursionError:  # whose traceback is of a thousand lines
        raise ValueError(f"{file} refers to itself, or is nested too deeply; mend or delete it") from None


def read_configuration(file: str | Path) -> dict[str, Any]:
    """A configuration as it stands in its file, with classes and arguments by their present names.

    Raises:
        ValueError: a file that is no YAML dictionary, which it names.
        OSError: a file that cannot be read.
    """
    config = read_yaml(file)
    if not isinstance(config, dict):
        what = "empty" if config is None else "not a configuration"
        raise ValueError(f"{file} is {what}: expected keys such as trainer, model and data")
    return config
