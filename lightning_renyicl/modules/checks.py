"""What these modules refuse of their trainer and their schedule."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.callbacks import BatchSizeFinder, GradientAccumulationScheduler, LearningRateFinder
from lightning.pytorch.strategies import DeepSpeedStrategy, FSDPStrategy, ModelParallelStrategy

from lightning_renyicl.encoders import Backbone
from lightning_renyicl.objectives import Objective

REFUSED: dict[type[Callback], str] = {
    BatchSizeFinder: (
        "BatchSizeFinder changes the batch size, and with it the objective and the schedule, and doesn't stop at the "
        "number of samples: try sizes by --data.batch_size"
    ),
    GradientAccumulationScheduler: (
        "schedules need one number of batches a step: trainer.accumulate_grad_batches in place of "
        "GradientAccumulationScheduler"
    ),
    LearningRateFinder: (
        "LearningRateFinder sets an attribute that these modules don't have: try rates by --model.optimizer.lr"
    ),
}
"""Lightning's callbacks that schedules, optimizers or data don't work with, and what to do instead."""


def check_trainer(trainer: Trainer, stage: str) -> None:
    """Raises ValueError for what schedules, optimizers or data don't work with.

    Args:
        trainer: the trainer.
        stage: fit, validate, test or predict.
    """
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        for refused, why in REFUSED.items():
            if isinstance(callback, refused):
                raise ValueError(why)
    if stage != "fit":
        return
    if trainer.accumulate_grad_batches < 1:
        raise ValueError("trainer.accumulate_grad_batches must be at least 1")
    if trainer.limit_train_batches == 0:
        raise ValueError("no batch to train on: trainer.limit_train_batches leaves none")
    if trainer.overfit_batches:  # type: ignore[attr-defined]
        raise ValueError(
            "trainer.overfit_batches cannot take these loaders apart: limit_train_batches with max_epochs does it"
        )
    if isinstance(trainer.strategy, (FSDPStrategy, DeepSpeedStrategy, ModelParallelStrategy)):
        raise ValueError(
            f"{type(trainer.strategy).__name__} cuts weights into pieces, of which momentum encoder and LARS know "
            "nothing: trainer.strategy ddp"
        )


def check_scheduler(factory: Any) -> None:
    """Raises ValueError for a schedule of torch, which would take the numbers of steps for arguments of its own."""
    parts = (factory.func, *factory.args) if isinstance(factory, partial) else (factory,)
    for part in parts:
        if isinstance(part, type) and part.__module__.startswith("torch."):
            raise ValueError(
                f"model.scheduler is made from optimizer, total_steps and steps_per_epoch, which {part.__name__} "
                "doesn't take: WarmupCosine, a class of yours, or null"
            )


def check_objective(objective: Objective, backbone: Backbone, momentum: float | None, mixes: bool) -> None:
    """Raises ValueError for an objective without the momentum encoder or the kind of samples that it needs.

    Args:
        objective: the objective.
        backbone: the encoder, whose embeddings of samples' parts it may read.
        momentum: coefficient of the momentum encoder; None: there is none.
        mixes: whether samples can be mixed.
    """
    name = type(objective).__name__
    if momentum is None and objective.needs_momentum:
        raise ValueError(f"{name} needs a momentum encoder: give model.momentum, such as 0.99")
    if objective.reads_parts and type(backbone).with_parts is Backbone.with_parts:
        raise ValueError(f"{name} needs embeddings of what samples are made of, which {type(backbone).__name__} lacks")
    if objective.mixing is not None and not mixes:
        raise ValueError(f"{name} mixes samples by weighted sums, which images and rows have and graphs don't")


def check_views(trainer: Trainer, objective: Objective) -> None:
    """Raises ValueError if the data has fewer views than the objective compares."""
    views = getattr(trainer.datamodule, "views", None)  # type: ignore[attr-defined]
    if views is not None and len(views) < objective.views:
        raise ValueError(
            f"{type(objective).__name__} compares at least {objective.views} views, and data.views has {len(views)}"
        )


def check_average(dtype: Any) -> None:
    """Raises ValueError for half precision, in which a momentum encoder doesn't move."""
    if dtype in (torch.float16, torch.bfloat16):
        raise ValueError(
            f"the momentum encoder's average stands still in {dtype}: use a mixed precision or momentum null"
        )
