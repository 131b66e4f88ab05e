"""What a contrastive module refuses of its trainer."""

from __future__ import annotations

from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import GradientAccumulationScheduler, LearningRateFinder
from lightning.pytorch.strategies import DeepSpeedStrategy, FSDPStrategy, ModelParallelStrategy


def check_trainer(trainer: Trainer) -> None:
    """Raises ValueError for what schedules, optimizers or data don't work with."""
    if trainer.accumulate_grad_batches < 1:
        raise ValueError("trainer.accumulate_grad_batches must be at least 1")
    if trainer.limit_train_batches == 0:
        raise ValueError("no batch to train on: trainer.limit_train_batches leaves none")
    if trainer.overfit_batches:  # type: ignore[attr-defined]
        raise ValueError(
            "trainer.overfit_batches cannot take these loaders apart: limit_train_batches with max_epochs does it"
        )
    if any(isinstance(callback, GradientAccumulationScheduler) for callback in trainer.callbacks):  # type: ignore[attr-defined]
        raise ValueError(
            "schedules need one number of batches a step: trainer.accumulate_grad_batches in place of "
            "GradientAccumulationScheduler"
        )
    if any(isinstance(callback, LearningRateFinder) for callback in trainer.callbacks):  # type: ignore[attr-defined]
        raise ValueError(
            "LearningRateFinder sets an attribute that these modules don't have: try rates by --model.optimizer.lr"
        )
    if isinstance(trainer.strategy, (FSDPStrategy, DeepSpeedStrategy, ModelParallelStrategy)):
        raise ValueError(
            f"{type(trainer.strategy).__name__} cuts weights into pieces, of which momentum encoder and LARS know "
            "nothing: trainer.strategy ddp"
        )
