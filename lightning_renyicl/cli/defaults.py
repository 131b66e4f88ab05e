"""What every run has without being told: loggers, a checkpoint an epoch, its configuration and its result."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import torch
import yaml
from lightning.fabric.plugins import CheckpointIO
from lightning.pytorch import Callback, LightningDataModule, LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint, LearningRateMonitor
from lightning.pytorch.cli import SaveConfigCallback
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.trainer.states import TrainerFn
from lightning.pytorch.utilities.model_helpers import is_overridden

from datamodules.base import InMemoryDataModule
from lightning_renyicl.atomic import write_text
from lightning_renyicl.callbacks import AtomicCheckpointIO, EmbeddingWriter, EndAtOnce, LastCheckpoint, ResultJson
from lightning_renyicl.callbacks.result_json import commit, versions
from lightning_renyicl.checkpoints import RUN, refuse_without
from lightning_renyicl.evaluation import Baselines, FrozenFeatures, RawColumns
from lightning_renyicl.provenance import fingerprints
from lightning_renyicl.runs.folder import RunFolder
from lightning_renyicl.runs.logger import ContinuedCSVLogger
from lightning_renyicl.runs.stored_configuration import FITTED


class RunConfig(SaveConfigCallback):
    """Writes the resolved configuration into the run folder."""

    _data: dict[str, Any] | None = None

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
        """Leaves what evaluations of the checkpoint need of its run, wherever it is copied to, and where it is from."""
        if self._data is None and trainer.is_global_zero:  # which alone writes; a folder is read once
            self._data = {"files": fingerprints(getattr(trainer.datamodule, "files", []))}  # type: ignore[attr-defined]
        folder = str(trainer.default_root_dir)
        checkpoint[RUN] = {
            "folder": folder,
            "callbacks": self._callbacks,
            "data": self._data,
            "seed": torch.initial_seed(),
            "commit": commit(),
            "versions": versions(),
        }

    def on_load_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Refuses to go on from a checkpoint that lacks the state of a callback or of data which its run had, too."""
        if trainer.state.fn != TrainerFn.FITTING:
            return
        run, data = checkpoint.get(RUN), trainer.datamodule  # type: ignore[attr-defined]
        sections = run.get("callbacks") if isinstance(run, dict) else None
        had = {_name(each) for each in listed(sections)}
        if isinstance(run, dict):
            had.add(ResultJson.__name__)
        lacking = [
            f"callbacks.{name}"
            for each in trainer.callbacks  # type: ignore[attr-defined]
            if (name := type(each).__name__) in had
            and not any(key.startswith(name) for key in checkpoint["callbacks"])
            and each.state_dict()
        ]
        name = type(data).__name__
        same = _name({"class_path": checkpoint.get("datamodule_hyper_parameters", {}).get("_class_path")}) == name
        if same and name not in checkpoint and data.state_dict():
            lacking.append(name)
        refuse_without(lacking, str(trainer.ckpt_path))

    @cached_property
    def _callbacks(self) -> Any:
        return yaml.safe_load(self.parser.dump(self.config, skip_unset=False))["trainer"]["callbacks"]


def _name(section: Any) -> str | None:
    """The name of a section's class; None of what is no section."""
    path = section.get("class_path") if isinstance(section, dict) else None
    return path.rpartition(".")[2] if isinstance(path, str) else None


def add_defaults(trainer: Any, subcommand: str, folder: RunFolder, data: LightningDataModule) -> list[Callback]:
    """Fills in what the trainer's configuration leaves open, and returns the callbacks that no configuration names.

    Args:
        trainer: the section ``trainer`` with its classes instantiated; changed in place.
        subcommand: fit, validate, test or predict.
        folder: the run folder.
        data: the run's data.

    Raises:
        ValueError: a callback stands twice in the configuration.
    """
    own = listed(trainer.callbacks)
    callbacks: list[Callback] = [Baselines()] if asks_for_baselines(own, subcommand, data) else []
    callbacks.append(ResultJson())
    refuse_twice([*own, *callbacks])
    if subcommand == "fit":
        trainer.enable_model_summary = bool(trainer.enable_model_summary)  # the command says it in a line
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
    callbacks.append(EndAtOnce())
    if subcommand == "predict":
        callbacks.append(EmbeddingWriter())
    return callbacks


def listed(value: Any) -> list[Any]:
    """What a trainer's argument holds that takes none, one or a list of them."""
    return [each for each in (value if isinstance(value, list) else [value]) if each is not None]


def refuse_twice(callbacks: list[Callback]) -> None:
    """Raises ValueError if two callbacks would keep their state in one place of a checkpoint."""
    seen: set[str] = set()
    for each in callbacks:
        if is_overridden("state_dict", each, Callback):
            if each.state_key in seen:
                raise ValueError(f"{type(each).__name__} stands twice in trainer.callbacks: leave one out")
            seen.add(each.state_key)


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
    own = listed(plugins)
    return own if any(isinstance(each, CheckpointIO) for each in own) else [*own, AtomicCheckpointIO(kept)]
