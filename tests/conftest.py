"""What all tests share."""

import os
from functools import partial
from importlib.util import find_spec

import pytest
import torch
from lightning.pytorch import Trainer, seed_everything

# The command line needs jsonargparse, notebooks nbmake; `make gpu-check` runs with whatever the machine has.
collect_ignore = [] if find_spec("jsonargparse") else ["cli"]
collect_ignore += [] if find_spec("nbmake") else ["test_notebooks.py"]

# Two test processes share two cores: more threads a process only wait for each other.
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def data_root():
    """The folder of real data sets that the variable DATA names."""
    if "DATA" not in os.environ:
        pytest.skip("the variable DATA names no folder of real data sets")
    return os.environ["DATA"]


@pytest.fixture
def make():
    """A seeded module of rows and its data, whose class and arguments may be others."""
    from datamodules import FakeTable
    from datamodules.augmentations import RandomMask
    from lightning_renyicl.encoders import MLP
    from lightning_renyicl.heads import MLPHead
    from lightning_renyicl.modules import TabularModule
    from lightning_renyicl.objectives import RMLCPC
    from lightning_renyicl.optim import WarmupCosine

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
    """A trainer that writes nothing by itself."""

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


def pytest_runtest_setup(item):
    if item.get_closest_marker("gpu") and not torch.cuda.is_available():
        pytest.skip("no GPU")
