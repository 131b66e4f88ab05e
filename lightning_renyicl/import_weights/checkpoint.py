"""A checkpoint of the command, made of a configuration and of weights from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lightning
import yaml
from jsonargparse import ActionConfigFile
from jsonargparse.typing import NonNegativeInt
from lightning.pytorch import LightningDataModule, LightningModule, Trainer, seed_everything
from torch import nn

from lightning_renyicl.callbacks.result_json import commit, versions
from lightning_renyicl.checkpoints import RUN
from lightning_renyicl.cli.parser import Parser, check_configurations, read_current_names
from lightning_renyicl.import_weights.foreign import load_encoder
from lightning_renyicl.runs.stored_configuration import LINKED, save_arguments


def made_of(configs: Sequence[Path], flags: Sequence[str]) -> tuple[Any, Any, dict[str, Any]]:
    """The module and the data of configurations, and these resolved.

    Args:
        configs: each on top of the one before.
        flags: such as ``--model.backbone.depth=50``.
    """
    check_configurations(map(str, configs))
    read_current_names()
    parser = Parser()
    parser.add_argument("--config", action=ActionConfigFile)
    parser.add_argument("--seed_everything", type=NonNegativeInt, default=0)
    parser.add_lightning_class_args(Trainer, "trainer")
    parser.add_lightning_class_args(LightningModule, "model", subclass_mode=True)
    parser.add_lightning_class_args(LightningDataModule, "data", subclass_mode=True)
    for name in LINKED:
        parser.link_arguments(f"data.{name}", f"model.init_args.{name}", apply_on="instantiate")
    config = parser.parse_args([*(part for path in configs for part in ("--config", str(path))), *flags])
    resolved = yaml.safe_load(parser.dump(config, skip_unset=False, format="yaml"))
    seed_everything(config.seed_everything, verbose=False)
    config.trainer = {}  # which nothing is trained by
    made = parser.instantiate_classes(config)
    for key in ("model", "data"):
        save_arguments(made[key], resolved[key], made.data, {})
    return made.model, made.data, resolved


def checkpoint_of(module: Any, data: Any, resolved: dict[str, Any], weights: Any, place: Path) -> tuple[Any, str]:
    """A checkpoint for ``test``, ``predict`` and fine-tuning, and what the weights' names began with.

    Heads stay as they begin, and the momentum encoder is the encoder.

    Args:
        module: the module.
        data: its data.
        resolved: their configuration.
        weights: tensors by name, those of the encoder among them.
        place: where they come from.

    Raises:
        ValueError: a module without an encoder, or weights of another one.
    """
    if not hasattr(module, "backbone"):
        raise ValueError(f"{type(module).__name__} has no encoder to give weights")
    prefix = load_encoder(module.backbone, weights, place)
    if (target := getattr(module, "momentum_target", None)) is not None:
        target.network.load_state_dict(nn.Sequential(module.backbone, module.projector).state_dict())
    run = {
        "folder": None,
        "callbacks": resolved["trainer"].get("callbacks"),
        "data": {"files": {}},
        "seed": resolved["seed_everything"],
        "commit": commit(),
        "versions": versions(),
        "weights": str(place),
    }
    checkpoint = {
        "epoch": 0,
        "global_step": 0,
        "pytorch-lightning_version": lightning.__version__,
        "state_dict": module.state_dict(),
        "hyper_parameters": dict(module.hparams),
        "datamodule_hyper_parameters": dict(data.hparams),
        RUN: run,
    }
    return checkpoint, prefix
