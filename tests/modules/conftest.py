"""Tiny modules of three domains, made-up data and one way to train them."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from lightning.pytorch import Trainer, seed_everything

from datamodules import FakeGraphs, FakeImages, FakeTable
from datamodules.augmentations import FeatureCorruption, Identity, NodeDrop, RandomMask, RandomResizedCrop
from lightning_renyicl.encoders import GIN, MLP, ResNet
from lightning_renyicl.heads import MLPHead
from lightning_renyicl.modules import GraphModule, TabularModule, VisionModule
from lightning_renyicl.objectives import RMLCPC
from lightning_renyicl.optim import WarmupCosine

PARTS = {
    "objective": lambda: RMLCPC(alpha=0.01, gamma=1.5, temperature=0.5),
    "projector": lambda: partial(MLPHead, widths=[8, 4]),
    "optimizer": lambda: partial(torch.optim.SGD, lr=0.1, momentum=0.9),
    "scheduler": lambda: partial(WarmupCosine, warmup_epochs=0.4),
}


def _image(views, samples, batch_size, parts):
    views = [RandomResizedCrop(size=8) for _ in range(views)]
    data = FakeImages(views, Identity(), batch_size, size=8, num_samples=samples, num_classes=2)
    # with ImageNet's stem a pixel is left for strided kernels, whose gradients in bfloat16 oneDNN leaves unwritten
    return VisionModule(ResNet(10, width=16, cifar_stem=True), **parts), data


def _table(views, samples, batch_size, parts):
    views = [RandomMask(0.3) if i % 2 else FeatureCorruption(0.3) for i in range(views)]
    data = FakeTable(views, batch_size, num_samples=samples, in_features=6)
    return TabularModule(partial(MLP, widths=[16, 16], maxout_sets=2), in_features=6, **parts), data


def _graph(views, samples, batch_size, parts):
    data = FakeGraphs([NodeDrop(0.2) for _ in range(views)], batch_size, num_samples=samples, in_features=3)
    return GraphModule(partial(GIN, width=4, layers=2), in_features=3, **parts), data


@pytest.fixture
def build():
    """Makes a seeded module and its data; keywords replace parts of the module."""

    def _build(domain="table", seed=0, views=2, samples=40, batch_size=8, **parts):
        seed_everything(seed, verbose=False)
        parts = {name: make() for name, make in PARTS.items()} | parts
        return {"image": _image, "table": _table, "graph": _graph}[domain](views, samples, batch_size, parts)

    return _build


@pytest.fixture
def fit(tmp_path):
    """Fits a module on data with a quiet trainer, which it returns."""

    def _fit(pair, ckpt_path=None, **arguments):
        defaults = {
            "max_epochs": 1,
            "accelerator": "cpu",
            "logger": False,
            "enable_checkpointing": False,
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "num_sanity_val_steps": 0,
            "limit_val_batches": 0,
            "log_every_n_steps": 1,
            "default_root_dir": tmp_path,
        }
        trainer = Trainer(**(defaults | arguments))
        trainer.fit(*pair, ckpt_path=ckpt_path)
        return trainer

    return _fit


@pytest.fixture
def weights():
    """All parameters and buffers of a module, copied."""
    return lambda module: {name: tensor.clone() for name, tensor in module.state_dict().items()}
