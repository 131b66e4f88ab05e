"""The checkpoint that a run continues from, whatever else the trainer does."""

from __future__ import annotations

import pytest
import torch
from lightning.pytorch import Callback

from lightning_renyicl.callbacks import LastCheckpoint


class Saved(Callback):
    """The optimizer steps that the checkpoint has when an epoch begins, and that the trainer has made."""

    def __init__(self, path):
        self.path, self.steps = path, []

    def on_train_epoch_start(self, trainer, pl_module):
        if trainer.global_step:
            self.steps.append((torch.load(self.path, weights_only=True)["global_step"], trainer.global_step))


@pytest.mark.parametrize("validation", [{"check_val_every_n_epoch": 2}, {"limit_val_batches": 0}], ids=["some", "none"])
def test_every_epoch_is_saved_validated_or_not(tmp_path, make, quiet_trainer, validation):
    path = tmp_path / "last.ckpt"
    saved = Saved(path)
    callbacks = [LastCheckpoint(path), saved]
    trainer = quiet_trainer(max_epochs=4, enable_checkpointing=True, callbacks=callbacks, **validation)
    trainer.fit(*make())
    steps = trainer.global_step // 4
    assert saved.steps == [(steps, steps), (2 * steps, 2 * steps), (3 * steps, 3 * steps)]
    assert torch.load(path, weights_only=True)["global_step"] == 4 * steps
