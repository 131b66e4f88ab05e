"""Training by every method."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from lightning.pytorch import Callback, seed_everything

from datamodules import FakeTable
from datamodules.augmentations import Identity
from lightning_renyicl.encoders import MLP
from lightning_renyicl.heads import MLPHead
from lightning_renyicl.modules import TabularModule
from tests.objectives.methods import TRAINED


class Losses(Callback):
    """Keeps every step's loss, and the spread of features."""

    def __init__(self):
        self.losses, self.spread = [], []

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.losses.append(outputs["loss"].item())
        self.spread.append(trainer.callback_metrics["train/feature_std"].item())


@pytest.mark.parametrize("name", TRAINED)
def test_eight_samples_are_learnt(fit, name):
    method = TRAINED[name]
    seed_everything(0, verbose=False)
    views = [Identity()] * method.views[0]  # so that nothing but the method changes the loss
    data = FakeTable(views, batch_size=8, num_samples=32, in_features=6)
    data.setup()
    data.samples.splits["train"] = data.samples.splits["train"][:8]
    module = TabularModule(
        partial(MLP, widths=[32, 32], maxout_sets=2),
        in_features=6,
        projector=partial(MLPHead, widths=[32, 16]),
        optimizer=partial(torch.optim.AdamW, lr=method.rate),
        **method.parts(),
    )
    seen = Losses()
    fit((module, data), max_epochs=30, callbacks=[seen])
    assert seen.losses[-1] < seen.losses[1]  # in the first step a momentum encoder is the same network still
    if method.collapses:
        assert min(seen.spread) > 0.2
