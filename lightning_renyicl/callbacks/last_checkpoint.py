"""The checkpoint that a run continues from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO
from lightning.pytorch.callbacks import ModelCheckpoint

from lightning_renyicl.atomic import replacing


class LastCheckpoint(ModelCheckpoint):
    """Saves ``last.ckpt`` after every epoch, beside whatever other checkpoints a user asks for.

    Args:
        path: file of the checkpoint, overwritten each time.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path.parent, path.stem, enable_version_counter=False, save_on_train_epoch_end=True)


class AtomicCheckpointIO(TorchCheckpointIO):
    """Writes a checkpoint beside its place and then moves it there, so that a kill leaves the one of before whole."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None) -> None:
        if "://" in str(path):  # a remote file system has no such move
            super().save_checkpoint(checkpoint, path, storage_options)
            return
        # of one name for all processes: what kills leave behind doesn't add up
        with replacing(Path(path), Path(f"{path}.part")) as partial:
            super().save_checkpoint(checkpoint, partial, storage_options)
