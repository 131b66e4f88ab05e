"""What every run has without being told: loggers, a checkpoint an epoch, its configuration and its result."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from lightning.fabric.plugins import CheckpointIO
from lightning.pytorch import Callback, LightningDataModule, LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint, LearningRateMonitor
from lightning.pytorch.cli import SaveConfigCallback
from lightning.pytorch.loggers import TensorBoardLogger

from datamodules.base import InMemoryDataModule
from lightning_renyicl.atomic import write_text
from lightning_renyicl.callbacks import AtomicCheckpointIO, EmbeddingWriter, LastCheckpoint, ResultJson
from lightning_renyicl.evaluation import Baselines, FrozenFeatures, RawColumns
from lightning_renyicl.runs.folder import RunFolder
from lightning_renyicl.runs.logger import ContinuedCSVLogger
from lightning_renyicl.runs.stored_configuration import FITTED, RUN


class RunConfig(SaveConfigCallback):
    """Writes the resolved configuration into the run folder."""

    def save_config(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        folder = Path(trainer.default_root_dir)
        folder.mkdir(parents=True, exist_ok=True)
        # as a configuration to run again, not as this call: nothing is deleted, loaded or kept from elsewhere by it
        config = self.config.clone()
        config.fresh, config.fixed_folder, config.trust_checkpoint, config.ckpt_path = False, False, False, None
        if FITTED in (config.data.get("init_args") or {}):
            config.data.init_args[FITTED] = None
        # whole or not at all: half a configuration would pass for another one
        write_text(folder / "config.yaml", self.parser.dump(config, skip_unset=False))

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Leaves what evaluations of the checkpoint need of its run, wherever it is copied to."""
        checkpoint[RUN] = {"folder": str(trainer.default_root_dir), "callbacks": self._callbacks}

    @cached_property
    def _callbacks(self) -> Any:
        return yaml.safe_load(self.parser.dump(self.config, skip_unset=False))["trainer"]["callbacks"]


def add_defaults(trainer: Any, subcommand: str, folder: RunFolder, data: LightningDataModule) -> list[Callback]:
    """Fills in what the trainer's configuration leaves open, and returns the callbacks that no configuration names.

    Args:
        trainer: the section ``trainer`` with its classes instantiated; changed in place.
        subcommand: fit, validate, test or predict.
        folder: the run folder.
        data: the run's data.
    """
    named = trainer.callbacks if isinstance(trainer.callbacks, list) else [trainer.callbacks]
    own = [each for each in named if each is not None]
    callbacks: list[Callback] = [Baselines()] if asks_for_baselines(own, subcommand, data) else []
    callbacks.append(ResultJson())
    if subcommand == "fit":
        if trainer.logger in (None, True):
            path = str(folder.path)
            trainer.logger = [ContinuedCSVLogger(path), TensorBoardLogger(path, name="", version="")]
        if trainer.logger and not trainer.fast_dev_run:
            callbacks.append(LearningRateMonitor("step"))
        if trainer.enable_checkpointing is not False and not trainer.fast_dev_run:
            callbacks.append(LastCheckpoint(folder.checkpoint))
            trainer.plugins = with_checkpoint_io(trainer.plugins, folder.checkpoint)
        return callbacks
    trainer.logger = trainer.logger or False
    trainer.callbacks = [each for each in own if not isinstance(each, Checkpoint)]
    trainer.enable_checkpointing = False
    if subcommand == "predict":
        callbacks.append(EmbeddingWriter())
    return callbacks


def asks_for_baselines(own: list[Callback], subcommand: str, data: LightningDataModule) -> bool:
    """Whether what is scored is to be compared with doing nothing.

    That is where protocols run on frozen features, and where a user's own data is scored in any way.
    """
    if not isinstance(data, InMemoryDataModule) or subcommand not in ("fit", "test"):
        return False
    if any(isinstance(each, Baselines | RawColumns) for each in own):
        return False  # which asks for it itself, or compares already
    frozen = any(isinstance(each, FrozenFeatures) for each in own)
    scored = frozen or any(getattr(each, "scores_in_validation", False) for each in own)
    return scored if data.OWN else frozen and subcommand == "test"


def with_checkpoint_io(plugins: Any, kept: Path) -> list[Any]:
    """The trainer's plugins, with ours for checkpoints unless the user has another."""
    own = plugins if isinstance(plugins, list) else [] if plugins is None else [plugins]
    return own if any(isinstance(each, CheckpointIO) for each in own) else [*own, AtomicCheckpointIO(kept)]
