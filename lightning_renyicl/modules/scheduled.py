"""Optimizer and schedule, which every contrastive module counts in optimizer steps, and when a training is given up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from lightning_renyicl.modules.checks import check_scheduler
from lightning_renyicl.modules.divergence import Divergence
from lightning_renyicl.modules.stored import StoredModule

OptimizerFactory = Callable[[Iterable], Optimizer]
SchedulerFactory = Callable[[Optimizer, int, int], LRScheduler]


class ScheduledModule(StoredModule):
    """A module that makes one optimizer of its parameters, with a schedule over the optimizer steps of the training.

    A subclass tells ``divergence`` of every loss; a training that has diverged ends with its epoch.

    Args:
        optimizer: builds the optimizer from the parameters.
        scheduler: builds the schedule from optimizer, total steps and steps an epoch; None keeps the rate.

    Raises:
        ValueError: a schedule of torch.
    """

    total_steps: int

    def __init__(self, optimizer: OptimizerFactory, scheduler: SchedulerFactory | None) -> None:
        super().__init__()
        check_scheduler(scheduler)
        self._optimizer = optimizer
        self._scheduler = scheduler
        self.counts_steps = scheduler is not None
        """Whether anything depends on the length of the training."""
        self.divergence = Divergence()

    def configure_optimizers(self) -> Any:
        optimizer = self._optimizer(self.trained())
        # A hook of the optimizer itself runs once for each step that happened: not for micro-batches of an accumulated
        # gradient, and not for a step that the gradient scaler skipped (but for fused optimizers, which skip inside).
        optimizer.register_step_post_hook(lambda *_: self.after_step())
        if self.counts_steps:
            self.trainer.fit_loop.setup_data()  # with max_steps alone nothing else has counted the batches yet
            self.total_steps = self._total_steps()
        if self._scheduler is None:
            return optimizer
        scheduler = self._scheduler(optimizer, self.total_steps, self._steps_per_epoch())
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

    def trained(self) -> list[Any]:
        """What the optimizer is made of: parameters, or groups of them."""
        return [p for p in self.parameters() if p.requires_grad]

    def after_step(self) -> None:
        """Runs once for each step that the optimizer took."""

    def learned(self) -> list[Tensor]:
        """What must stay finite."""
        return list(self.parameters())

    def on_train_epoch_start(self) -> None:
        self.divergence.start()

    def on_train_epoch_end(self) -> None:
        """Stops a run that has diverged before its checkpoint replaces the last good one."""
        self.divergence.check(self.trainer.current_epoch + 1, self.learned())

    def epochs_done(self) -> float:
        """Epochs that the training has behind it, optimizer steps by steps an epoch; 0 without a trainer.

        Whole epochs where the number of batches is unknown, as that of an iterable data set.
        """
        if self._trainer is None:
            return 0.0
        if math.isinf(self.trainer.num_training_batches):
            return float(self.trainer.current_epoch)
        return self.trainer.global_step / self._steps_per_epoch()

    def _steps_per_epoch(self) -> int:
        return math.ceil(self.trainer.num_training_batches / self.trainer.accumulate_grad_batches)

    def _total_steps(self) -> int:
        total_steps = self.trainer.estimated_stepping_batches
        if math.isinf(total_steps):
            raise ValueError("schedules need the length of the training: set trainer.max_epochs or trainer.max_steps")
        return int(total_steps)
