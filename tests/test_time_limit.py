"""Whether a training was cut off, at and before each of its ends."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import pytest
from lightning.pytorch.callbacks import Timer

from lightning_renyicl.time_limit import out_of_time


@pytest.mark.parametrize(
    ("max_epochs", "max_steps", "out"),
    [(3, -1, False), (4, -1, True), (-1, 30, False), (-1, 31, True), (4, 30, False), (-1, -1, True), (None, -1, False)],
)
@pytest.mark.parametrize("seconds", [0, 3600])
def test_out_of_time(max_epochs, max_steps, out, seconds):
    """After 3 epochs of 10 steps; without a timer or within its time nothing is cut off."""
    timer = Timer(timedelta(seconds=seconds))
    timer.on_train_start(None, None)
    trainer = SimpleNamespace(
        max_epochs=max_epochs, max_steps=max_steps, current_epoch=3, global_step=30, callbacks=[timer]
    )
    assert out_of_time(trainer) == (out and not seconds)
    trainer.callbacks = []
    assert not out_of_time(trainer)
