"""The arguments of model and data that a checkpoint carries, and what becomes of them on the command line."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import NoneType
from typing import Any

import yaml
from lightning.pytorch import LightningModule

from lightning_renyicl.checkpoints import RUN, check_parts, read_checkpoint
from lightning_renyicl.configuration import read_configuration, section_of, with_current_names
from lightning_renyicl.runs.comparison import flatten
from lightning_renyicl.trust import OF_EVALUATIONS, Trust, names_in

CLASSES = "num_classes"
"""What a checkpoint says in place of the data, whose classes become the checkpoint's only when its state is loaded."""
LINKED = ("in_features", "cardinalities", CLASSES)
"""What the data module says of itself and the module needs."""
WORDS = ("last", "best", "hpc", "registry")
"""What Lightning takes for a checkpoint's path, and which none is."""
REMEDY = "--trust_checkpoint true takes whatever it names, and runs what its author wanted to be run"
FITTED = "fitted"
"""What a data module learnt from training rows, and takes as an argument where a checkpoint has it."""


def save_arguments(instance: Any, section: dict[str, Any], data: Any, stored: dict[str, Any]) -> None:
    """Puts a section's class and arguments among the instance's hyperparameters, which a checkpoint carries.

    Args:
        instance: the module or the data.
        section: its section of the configuration.
        data: the data.
        stored: what a checkpoint says of the data in its place.
    """
    arguments = dict(section.get("init_args") or {})
    taken = arguments_of(type(instance))
    for name in LINKED if isinstance(instance, LightningModule) else (FITTED,):
        if name in taken and hasattr(data, name):
            arguments[name] = stored.get(name, getattr(data, name))
    arguments |= {"_class_path": section["class_path"], "_instantiator": "lightning.pytorch.cli.instantiate_module"}
    instance.save_hyperparameters(arguments)


def arguments_of(kind: type) -> set[str]:
    """Names of a class's arguments, those that it hands on to its base by ``**`` among them."""
    names: set[str] = set()
    for each in kind.__mro__:
        if "__init__" in vars(each):
            parameters = inspect.signature(each.__init__).parameters.values()  # type: ignore[misc]
            names.update(parameter.name for parameter in parameters)
            if all(parameter.kind != parameter.VAR_KEYWORD for parameter in parameters):
                break
    return names


def stored_sections(args: list[str]) -> tuple[dict[str, Any], dict[str, Any], Path | None]:
    """What is stored in the checkpoint that ``--ckpt_path`` names.

    These are the model and data sections, what it says in place of the data, and its run's folder; empty if none is
    named.

    For ``validate`` and ``test`` the run's callbacks come along, so that its protocols report again.

    Raises:
        ValueError: a checkpoint that is damaged, lacks what the command needs or names classes that it may not name.
        OSError: a file that cannot be read.
    """
    values = values_of(args, "--ckpt_path")
    if not values or values[-1] in ("null", *WORDS):
        return {}, {}, None
    path, source = Path(values[-1]), f"--ckpt_path {values[-1]}"
    checkpoint = read_checkpoint(path, source)
    if args[0] == "fit":
        check_parts(checkpoint, source)
    stored = sections_of(checkpoint)
    own = stored["model"]["init_args"] if "model" in stored else {}
    linked = {name: own.pop(name) for name in LINKED if name in own}
    if type(linked.get(CLASSES, 0)) is not int:
        raise ValueError(f"{source}: hyper_parameters.{CLASSES} is no number")
    folder = folder_of(path, checkpoint)
    found, origin = stored_callbacks(checkpoint, path, folder) if args[0] in ("validate", "test") else (None, "")
    if not isinstance(found, (list, dict, NoneType)):
        raise ValueError(f"{origin}: trainer.callbacks is no list")
    if not trusted(args):
        trust = Trust(source, REMEDY, named=named_by_user(args))
        for section, content in stored.items():
            trust.check(content, None, section)
        replace(trust, source=origin, packages=OF_EVALUATIONS).check(found, None, "trainer.callbacks")
    if found:
        stored["trainer"] = {"callbacks": found}
    return stored, {name: value for name, value in linked.items() if name == CLASSES}, folder


def sections_of(checkpoint: dict[str, Any]) -> dict[str, Any]:
    """The sections ``model`` and ``data`` of the configuration that a checkpoint of the command carries."""
    keys = {"model": "hyper_parameters", "data": "datamodule_hyper_parameters"}
    sections = {name: section_of(checkpoint.get(key, {})) for name, key in keys.items()}
    return {name: section for name, section in sections.items() if "class_path" in section}


def data_of_pretraining(args: list[str]) -> dict[str, Any]:
    """The data section of the checkpoint that ``--model.checkpoint`` names, from which a training with labels begins.

    Raises:
        ValueError: a checkpoint that is damaged, or names classes that it may not name.
        OSError: a file that cannot be read.
    """
    values = values_of(args, "--model.checkpoint") + values_of(args, "--model.init_args.checkpoint")
    if not values or args[0] != "fit":
        return {}
    source = f"--model.checkpoint {values[-1]}"
    section = sections_of(read_checkpoint(Path(values[-1]), source)).get("data")
    if section is None:
        return {}
    if not trusted(args):
        Trust(source, REMEDY, named=named_by_user(args)).check(section, None, "data")
    return {"data": section}


def trusted(args: list[str]) -> bool:
    """Whether a command takes any class that a checkpoint names."""
    return (values_of(args, "--trust_checkpoint") or ["false"])[-1].lower() in ("true", "yes")


def stored_callbacks(checkpoint: dict[str, Any], path: Path, folder: Path | None) -> tuple[Any, str]:
    """The callbacks of the run that saved a checkpoint, and the file that says so.

    Checkpoints of earlier versions don't hold them; then they are those of the run's ``config.yaml``.

    Raises:
        ValueError: a ``config.yaml`` that is damaged, which it names.
    """
    if RUN in checkpoint:
        run = checkpoint[RUN]
        return with_current_names(run.get("callbacks") if isinstance(run, dict) else None), str(path)
    if folder is None:
        return None, str(path)
    trainer = read_configuration(folder / "config.yaml").get("trainer")
    if not isinstance(trainer, (dict, NoneType)):
        raise ValueError(f"{folder / 'config.yaml'}: trainer is no dictionary; mend or delete it")
    return (trainer or {}).get("callbacks"), str(folder / "config.yaml")


def folder_of(path: Path, checkpoint: dict[str, Any]) -> Path | None:
    """The run folder that a checkpoint lies in, or that it names and that is beneath the working folder; else None."""
    for folder in list(path.absolute().parents)[:3]:
        if (folder / "config.yaml").is_file():
            here = Path.cwd()
            return folder.relative_to(here) if folder.is_relative_to(here) else folder  # as people wrote it
    run = checkpoint.get(RUN)
    named = run.get("folder") if isinstance(run, dict) else None
    if isinstance(named, str) and Path(named).resolve().is_relative_to(Path.cwd()):
        return Path(named) if (Path(named) / "config.yaml").is_file() else None
    return None


def named_by_user(args: list[str]) -> set[str]:
    """What the flags and configurations of a command name: classes that it may then find in a checkpoint, too."""
    names: set[str] = set()
    for arg in args:
        value = arg.partition("=")[2] if arg.startswith("-") and "=" in arg else arg
        if os.path.isfile(value) and value.endswith((".yaml", ".yml")):
            names.update(names_in(read_configuration(value)))
        else:
            with suppress(yaml.YAMLError, ValueError, RecursionError):
                names.update(names_in(with_current_names(yaml.safe_load(value))))
    return names


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
