"""Learning-rate schedules, counted in optimizer steps."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler


class StepSchedule(LRScheduler):
    """Rates that are the optimizer's times a factor of the step, counted from 0."""

    lengths: ClassVar[tuple[str, ...]]
    """Attributes that say how long a training is: those of this one, not of the checkpoint that it goes on from."""

    def factor(self, step: int) -> float:
        """The fraction of the base learning rate at an optimizer step, counted from 0."""
        raise NotImplementedError

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores the step, not the length: a run that is continued for longer follows the longer schedule."""
        super().load_state_dict({**state_dict, **{name: getattr(self, name) for name in self.lengths}})
        for group, rate in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            group["lr"] = rate  # of this length; the optimizer came with that of the other
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def get_lr(self) -> list[float | Tensor]:
        return [base * self.factor(self.last_epoch) for base in self.base_lrs]


class WarmupCosine(StepSchedule):
    """Linear warm-up, then a half cosine to 0, one value for each optimizer step.

    The first of W warm-up steps has 1 / (W + 1) of the rate, the first step after them all of it.

    Args:
        optimizer: optimizer whose learning rates are scaled; given by the module.
        total_steps: optimizer steps of the whole training; given by the module.
        steps_per_epoch: optimizer steps of an epoch; given by the module.
        warmup_epochs: length of the warm-up. A warm-up that leaves no step is cut to half the training, with a warning.

    Raises:
        ValueError: a negative ``warmup_epochs``.
    """

    lengths = ("total_steps", "warmup_steps")

    def __init__(
        self, optimizer: Optimizer, total_steps: int, steps_per_epoch: int, warmup_epochs: float = 0.0
    ) -> None:
        if warmup_epochs < 0:
            raise ValueError(f"warmup_epochs must not be negative, got {warmup_epochs}")
        self.total_steps = max(total_steps, 1)
        self.warmup_steps = round(warmup_epochs * steps_per_epoch)
        if self.warmup_steps >= self.total_steps:
            warnings.warn(
                f"a warm-up of {warmup_epochs} epochs ({self.warmup_steps} steps) leaves none of the "
                f"{self.total_steps} training steps: it is cut to half of them",
                stacklevel=2,
            )
            self.warmup_steps = self.total_steps // 2
        super().__init__(optimizer)

    def factor(self, step: int) -> float:
        if step < self.warmup_steps:
            return (step + 1) / (self.warmup_steps + 1)
        progress = min((step - self.warmup_steps) / (self.total_steps - self.warmup_steps), 1.0)
        return (1.0 + math.cos(math.pi * progress)) / 2.0


class StepDecay(StepSchedule):
    """The rate times ``decay`` once for each milestone that is behind.

    Args:
        optimizer: optimizer whose learning rates are scaled; given by the module.
        total_steps: optimizer steps of the whole training; given by the module.
        steps_per_epoch: optimizer steps of an epoch; given by the module.
        milestones: shares of the training after which the rate falls, in (0, 1); the same for any number of epochs.
        decay: what the rate is multiplied by at each, above 0.

    Raises:
        ValueError: a share or a factor out of range.
    """

    lengths = ("steps",)

    def __init__(
        self,
        optimizer: Optimizer,
        total_steps: int,
        steps_per_epoch: int,
        milestones: Sequence[float] = (0.6, 0.8),
        decay: float = 0.2,
    ) -> None:
        if not all(0 < share < 1 for share in milestones):
            raise ValueError(f"milestones are shares of the training in (0, 1), got {list(milestones)}")
        if decay <= 0:
            raise ValueError(f"decay must be above 0, got {decay}")
        self.steps = [round(share * total_steps) for share in milestones]
        self.decay = decay
        super().__init__(optimizer)

    def factor(self, step: int) -> float:
        return self.decay ** sum(step >= milestone for milestone in self.steps)
