"""A tiny run on made-up rows, and a trainer that writes nothing by itself."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from lightning.pytorch import Trainer, seed_everything

from datamodules import FakeTable
from datamodules.augmentations import RandomMask
from lightning_renyicl.encoders import MLP
from lightning_renyicl.heads import MLPHead
from lightning_renyicl.modules import TabularModule
from lightning_renyicl.objectives import RMLCPC
from lightning_renyicl.optim import WarmupCosine


@pytest.fixture
def make():
    """A seeded module and its data, whose class and arguments may be others."""

    def _make(data_class=FakeTable, seed=0, **arguments):
        seed_everything(seed, verbose=False)
        defaults = {"batch_size": 16, "num_samples": 64, "in_features": 16}
        data = data_class([RandomMask(0.2), RandomMask(0.2)], **(defaults | arguments))
        module = TabularModule(
            partial(MLP, widths=[32, 32], maxout_sets=2),
            in_features=data.in_features,
            projector=partial(MLPHead, widths=[16, 8]),
            objective=RMLCPC(alpha=0.01, gamma=1.5),
            optimizer=partial(torch.optim.SGD, lr=0.1),
            scheduler=partial(WarmupCosine, warmup_epochs=0.5),
            momentum=0.9,
        )
        return module, data

    return _make


@pytest.fixture
def quiet_trainer(tmp_path):
    def _quiet_trainer(**arguments):
        defaults = {
            "max_epochs": 2,
            "accelerator": "cpu",
            "logger": False,
            "enable_checkpointing": False,
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "num_sanity_val_steps": 0,
            "default_root_dir": tmp_path,
        }
        return Trainer(**(defaults | arguments))

    return _quiet_trainer
