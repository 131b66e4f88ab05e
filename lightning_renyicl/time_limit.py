"""Whether a training was cut off by its time limit."""

from __future__ import annotations

from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import Timer


def out_of_time(trainer: Trainer) -> bool:
    """Whether ``max_time`` has ended a training before its last step or epoch, so that it is to be continued."""
    limits = ((trainer.max_epochs or 0, trainer.current_epoch), (trainer.max_steps, trainer.global_step))
    timers = [callback for callback in trainer.callbacks if isinstance(callback, Timer)]  # type: ignore[attr-defined]
    passed = any((timer.time_remaining() or 1.0) <= 0 for timer in timers)
    return passed and not any(0 <= most <= reached for most, reached in limits)
