"""What a checkpoint says of its encoder, and of what the encoder takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from datamodules.base import InMemoryDataModule
from datamodules.stored import class_at
from lightning_renyicl.checkpoints import read_checkpoint
from lightning_renyicl.configuration import with_current_names
from lightning_renyicl.encoders import Backbone
from lightning_renyicl.modules.stored import StoredModule


@dataclass(frozen=True)
class Source:
    """An encoder from a checkpoint of the command, in evaluation mode and float32.

    Attributes:
        path: the checkpoint.
        checkpoint: what is in it.
        backbone: the encoder.
        model: the module's arguments.
        data: the data's arguments.
    """

    path: Path
    checkpoint: dict[str, Any]
    backbone: Backbone
    model: dict[str, Any]
    data: dict[str, Any]

    @cached_property
    def data_class(self) -> type[InMemoryDataModule] | None:
        """The class of the data, if it is one of ``datamodules`` that holds samples."""
        try:
            found = class_at(self.data.get("_class_path"), self.path)
        except ValueError:
            return None
        return found if issubclass(found, InMemoryDataModule) else None

    @property
    def samples(self) -> str | None:
        """What the encoder takes, in a word for people: images, rows or graphs; None: nobody says."""
        return None if self.data_class is None else self.data_class.SAMPLES


def read(path: Path, trust_checkpoint: bool) -> Source:
    """Reads a checkpoint.

    Args:
        path: the file.
        trust_checkpoint: whether to take classes that are not of this project.

    Raises:
        ValueError: a file that is damaged, holds code, was not saved by the command or has no encoder, or that names
            classes which it may not name.
        OSError: a file that cannot be read.
    """
    checkpoint = read_checkpoint(path)
    model, data = (
        with_current_names(dict(checkpoint.get(part, {})))
        for part in ("hyper_parameters", "datamodule_hyper_parameters")
    )
    if "_class_path" not in model:
        raise ValueError(f"{path} doesn't say what it is made of: only checkpoints of the command can be exported")
    plain = {"compile_backbone": False} if "compile_backbone" in model else {}
    try:
        module = StoredModule.of_checkpoint(checkpoint, str(path), trust_checkpoint=trust_checkpoint, **plain)
    except RuntimeError as error:
        raise ValueError(f"{path}: its weights don't fit its model: {' '.join(str(error).split())[:200]}") from error
    backbone = getattr(module, "backbone", None)
    if not isinstance(backbone, Backbone):
        raise ValueError(f"{path} holds {type(module).__name__}, which has no encoder to export")
    return Source(path, checkpoint, backbone.eval().float(), model, data)
