"""The arguments of model and data that a checkpoint carries, and what becomes of them on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import torch
from lightning.pytorch import LightningModule

from lightning_renyicl.configuration import read_configuration, with_current_names
from lightning_renyicl.runs.comparison import flatten

LINKED = ("in_features", "cardinalities")
"""What the data module says of itself and the module needs."""
FITTED = "fitted"
"""What a data module learnt from training rows, and takes as an argument where a checkpoint has it."""


def save_arguments(instance: Any, section: dict[str, Any], data: Any) -> None:
    """Puts a section's class and arguments among the instance's hyperparameters, which a checkpoint carries."""
    arguments = dict(section.get("init_args") or {})
    parameters = inspect.signature(type(instance)).parameters
    for name in LINKED if isinstance(instance, LightningModule) else (FITTED,):
        if name in parameters:
            arguments[name] = getattr(data, name)
    arguments |= {"_class_path": section["class_path"], "_instantiator": "lightning.pytorch.cli.instantiate_module"}
    instance.save_hyperparameters(arguments)


def stored_sections(args: list[str]) -> dict[str, Any]:
    """The model and data sections stored in the checkpoint that ``--ckpt_path`` names; empty if none is named.

    For ``validate`` and ``test`` the run's callbacks come along, so that its protocols report again.
    """
    values = values_of(args, "--ckpt_path")
    if not values or values[-1] in ("null", "last", "best", "hpc", "registry"):
        return {}
    if not Path(values[-1]).is_file():
        what = "is a folder" if Path(values[-1]).is_dir() else "no such file"
        raise FileNotFoundError(f"--ckpt_path {values[-1]}: {what}")
    if not is_zipfile(values[-1]):
        raise ValueError(f"--ckpt_path {values[-1]} is not a checkpoint")
    try:
        checkpoint = torch.load(values[-1], weights_only=True, map_location="cpu", mmap=True)
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"--ckpt_path {values[-1]} is not a checkpoint that loads safely: {reason}") from error
    if not isinstance(checkpoint, dict) or "pytorch-lightning_version" not in checkpoint:
        raise ValueError(f"--ckpt_path {values[-1]} is not a checkpoint of Lightning")
    stored: dict[str, Any] = {}
    for section, key in (("model", "hyper_parameters"), ("data", "datamodule_hyper_parameters")):
        arguments = dict(checkpoint.get(key, {}))
        arguments.pop("_instantiator", None)
        if section == "model":
            for name in LINKED:
                arguments.pop(name, None)
        if "_class_path" in arguments:
            stored[section] = {"class_path": arguments.pop("_class_path"), "init_args": arguments}
    run = Path(values[-1]).parent.parent / "config.yaml"
    if args[0] in ("validate", "test") and run.exists():
        stored["trainer"] = {"callbacks": read_configuration(run)["trainer"]["callbacks"]}
    sections: dict[str, Any] = with_current_names(stored)
    return sections


def values_of(args: list[str], flag: str) -> list[str]:
    """What the command line gives a flag, in order."""
    pairs = [arg.split("=", 1) if "=" in arg else [arg, after] for arg, after in pairwise([*args, ""])]
    return [value for name, value in pairs if name == flag]


def differences(stored: dict[str, Any], config: dict[str, Any]) -> Iterator[str]:
    """A line for each value in which the resolved configuration differs from the checkpoint's."""
    before, now = flatten(stored), flatten(config)
    for key, value in before.items():
        if key in now and now[key] != value:
            yield f"{key} is {now[key]!r}; the checkpoint has {value!r}"
