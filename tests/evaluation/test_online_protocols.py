"""Protocols at each validation of a training."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch
from lightning.pytorch import Callback

from datamodules import FakeTable
from lightning_renyicl.evaluation import KNN, LinearSGD, OnlineProtocols, PseudoInverse
from lightning_renyicl.evaluation.protocol import LabeledFeatures


class SomeLabels(FakeTable):
    """Every third label is unknown."""

    def load(self):
        samples = super().load()
        samples.target[::3] = -1
        return samples


class Backbones(Callback):
    """Keeps the encoder of every validation, and what was scored."""

    def __init__(self):
        self.backbones, self.scores = [], []

    def on_validation_end(self, trainer, pl_module):
        self.backbones.append(deepcopy(pl_module.backbone).eval())
        names = ("online/knn/top1", "online/pseudo_inverse/top1")
        self.scores.append([trainer.callback_metrics[name].item() for name in names])


def encoded(backbone, data, split):
    rows = data.samples.splits[split]
    rows = rows[data.samples.target[rows] >= 0]
    with torch.no_grad():
        return LabeledFeatures(backbone(data.samples.inputs[rows]), data.samples.target[rows])


def expected(backbone, data, split):
    train, scored = encoded(backbone, data, "train"), encoded(backbone, data, split)
    none = LabeledFeatures(torch.empty(0), torch.empty(0, dtype=torch.long))
    given = [protocol(train, none, scored.features, 4, 0) for protocol in (KNN(), PseudoInverse())]
    return [(each.argmax(1) == scored.target).float().mean().item() for each in given]


@pytest.mark.parametrize("data_class", [FakeTable, SomeLabels])
def test_scores_of_every_epoch(make, quiet_trainer, data_class):
    module, data = make(data_class)
    callbacks = [OnlineProtocols([KNN(), PseudoInverse()]), watch := Backbones()]
    trainer = quiet_trainer(callbacks=callbacks, max_epochs=3, num_sanity_val_steps=1)
    callbacks[1].on_validation_end = lambda *args: trainer.sanity_checking or Backbones.on_validation_end(watch, *args)
    trainer.fit(module, datamodule=data)
    assert len(watch.scores) == 3
    for backbone, scores in zip(watch.backbones, watch.scores, strict=True):
        assert scores == pytest.approx(expected(backbone, data, "val"))
    (metrics,) = trainer.test(module, datamodule=data, verbose=False)
    found = [metrics[name] for name in ("online/knn/top1", "online/pseudo_inverse/top1")]
    assert found == pytest.approx(expected(module.backbone.eval(), data, "test"))


def test_training_samples_are_drawn_in_proportion(make, quiet_trainer):
    module, data = make()
    data.prepare_data()
    callback = OnlineProtocols([KNN()], training=12)
    trainer = quiet_trainer(callbacks=[callback])
    trainer.fit(module, datamodule=data)
    train = callback.samples(trainer, module.eval(), "train")
    everything = encoded(module.backbone.eval(), data, "train")
    share = everything.target.bincount() * 12 / len(everything.target)
    assert (train.target.bincount() - share).abs().max() <= 1
    assert len(train.target) == 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"protocols": []}, "at least one, each once, got none"),
        ({"protocols": [KNN(), LinearSGD()]}, "validation samples, on which linear_sgd would choose"),
        ({"protocols": [KNN()], "training": 0}, "training must be at least 1 sample, got 0"),
    ],
)
def test_impossible_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        OnlineProtocols(**arguments)


def test_data_of_one_class(make, quiet_trainer):
    module, data = make(num_classes=1)
    with pytest.raises(ValueError, match="OnlineProtocols needs labels of two classes, and the data has 1"):
        quiet_trainer(callbacks=[OnlineProtocols([KNN()])]).fit(module, datamodule=data)
