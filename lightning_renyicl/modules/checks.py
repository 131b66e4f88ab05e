"""What these modules refuse of their trainer."""

from __future__ import annotations

from lightning.pytorch import Callback, Trainer
from lightning.pytorch.callbacks import BatchSizeFinder, GradientAccumulationScheduler, LearningRateFinder
from lightning.pytorch.strategies import DeepSpeedStrategy, FSDPStrategy, ModelParallelStrategy

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
