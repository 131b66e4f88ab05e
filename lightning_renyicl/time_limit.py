"""Whether a training was cut off by its time limit."""

from __future__ import annotations

from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import Timer


def out_of_time(trainer: Trainer) -> bool:
    """Whether ``max_time`` has ended a training before its last epoch, so that it is to be continued."""
    epochs = trainer.max_epochs or 0
    timers = [callback for callback in trainer.callbacks if isinstance(callback, Timer)]  # type: ignore[attr-defined]
    passed = any((timer.time_remaining() or 1.0) <= 0 for timer in timers)
    return passed and not 0 <= epochs <= trainer.current_epoch
