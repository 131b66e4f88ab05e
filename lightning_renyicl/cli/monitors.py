"""Callbacks that watch a quantity by a name which nothing is logged under."""

from __future__ import annotations

import re

from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.utilities import rank_zero_warn

_MISSED = re.compile(
    r"(?P<stopping>Early stopping) conditioned on metric `(?P<stop>.*?)` which is not available"
    r"|ModelCheckpoint\(monitor='(?P<save>.*?)'\)` could not find the monitored key"
)


def missed_name(error: Exception, trainer: Trainer | None) -> ValueError | None:
    """What a user can do about an error of Lightning that a monitored name is missing; None of other errors."""
    found = _MISSED.search(str(error))
    if found is None or trainer is None:
        return None
    who = "EarlyStopping" if found["stopping"] else "ModelCheckpoint"
    return ValueError(_missing(who, found["stop"] or found["save"], trainer))


def warn_of_missed_names(trainer: Trainer) -> None:
    """Names the callbacks that did nothing for want of what they monitor, where Lightning lets that pass."""
    if not trainer.callback_metrics:  # of a run that was loaded after its last epoch
        return
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        if isinstance(callback, ModelCheckpoint) and not callback.best_model_path:
            missed = "no checkpoint was saved by it"
        elif isinstance(callback, EarlyStopping):
            missed = "nothing was stopped by it"
        else:
            continue
        if callback.monitor not in (None, "epoch", "step", *trainer.callback_metrics):
            rank_zero_warn(f"{_missing(type(callback).__name__, str(callback.monitor), trainer)}; {missed}")


def _missing(who: str, name: str, trainer: Trainer) -> str:
    names = ", ".join(sorted(trainer.callback_metrics)) or "none"
    return f"nothing was logged as {name!r}, the monitor of {who}; there are {names}"
