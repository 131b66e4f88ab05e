"""Training with labels in every domain, and of few samples until they are known by heart."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from lightning.pytorch import seed_everything

from datamodules import FakeTable
from datamodules.augmentations import Identity
from lightning_renyicl.encoders import MLP
from lightning_renyicl.heads import NoHead
from lightning_renyicl.modules import TabularModule
from lightning_renyicl.objectives import CrossEntropy


@pytest.fixture
def supervised(build):
    def _supervised(domain="table", **arguments):
        classes = {"image": 2, "table": 4, "graph": 2}[domain]
        return build(domain, objective=CrossEntropy(), projector=NoHead, num_classes=classes, **arguments)

    return _supervised


@pytest.mark.parametrize("domain", ["image", "table", "graph"])
def test_classifier_and_backbone_are_trained(supervised, fit, weights, domain):
    module, data = supervised(domain)
    assert module.objective.classifier.out_features == data.num_classes
    before = weights(module)
    trainer = fit((module, data))
    after = weights(module)
    assert {"objective.classifier.weight", "objective.classifier.bias"} < after.keys()
    assert all(not torch.equal(before[name], after[name]) for name, _ in module.named_parameters())
    assert 0 <= trainer.callback_metrics["train/top1"] <= 1


def test_eight_samples_are_learnt_by_heart(fit):
    seed_everything(0, verbose=False)
    data = FakeTable([Identity(), Identity()], batch_size=8, num_samples=32, in_features=6)
    data.setup()
    data.samples.splits["train"] = data.samples.splits["train"][:8]
    data.samples.target[:] = torch.arange(64) % 4  # whatever the rows are
    module = TabularModule(
        partial(MLP, widths=[32, 32], maxout_sets=2),
        in_features=6,
        projector=NoHead,
        objective=CrossEntropy(),
        optimizer=partial(torch.optim.Adam, lr=0.01),
        num_classes=4,
    )
    trainer = fit((module, data), max_epochs=100)
    assert trainer.callback_metrics["train/top1"] == 1
    assert trainer.callback_metrics["train/loss"] < 0.02


def test_one_view_is_enough(supervised, fit):
    module, data = supervised(views=1)
    trainer = fit((module, data))
    assert trainer.callback_metrics["train/loss"].isfinite()
