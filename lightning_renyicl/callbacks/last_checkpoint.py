"""The checkpoint that a run continues from."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint

from lightning_renyicl.atomic import replacing
from lightning_renyicl.checkpoints import before, read_checkpoint


class LastCheckpoint(ModelCheckpoint):
    """Saves ``last.ckpt`` after every epoch, beside whatever other checkpoints a user asks for.

    Until training has ended the one before is kept, for the case that the last is damaged.

    Args:
        path: file of the checkpoint, overwritten each time.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path.parent, path.stem, enable_version_counter=False, save_on_train_epoch_end=True)
        self._path = path

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.is_global_zero:
            before(self._path).unlink(missing_ok=True)


class AtomicCheckpointIO(TorchCheckpointIO):
    """Writes a checkpoint beside its place and then moves it there, so that a kill leaves the one of before whole.

    A file whose checksums are wrong is not loaded.

    Args:
        keeps: the checkpoint of which the one before is kept, too.
    """

    def __init__(self, keeps: Path | None = None) -> None:
        super().__init__()
        self._keeps = None if keeps is None else keeps.resolve()

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None) -> None:
        if "://" in str(path):  # a remote file system has no such move
            super().save_checkpoint(checkpoint, path, storage_options)
            return
        place = Path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        # of one name for all processes: what kills leave behind doesn't add up
        with replacing(place, Path(f"{place}.part")) as partial:
            with partial.open("wb") as file:
                try:
                    torch.save(checkpoint, file)
                except RuntimeError as error:  # torch's end of a file that could not be written
                    raise (error.__context__ if isinstance(error.__context__, OSError) else error) from None
                file.flush()
                os.fsync(file.fileno())  # before the name is its own: a machine that loses power has one of the two
            if place.resolve() == self._keeps and place.exists():
                place.replace(before(place))

    def load_checkpoint(self, path: Any, map_location: Any = "cpu", weights_only: bool | None = None) -> dict[str, Any]:
        if "://" in str(path):
            return super().load_checkpoint(path, map_location, weights_only)
        return read_checkpoint(Path(path), map_location=map_location)
