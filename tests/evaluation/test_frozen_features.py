"""Protocols on the representations of whole splits."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from datamodules import FakeTable
from lightning_renyicl.evaluation import (
    KNN,
    Diagnostics,
    FewShot,
    FrozenFeatures,
    LinearSGD,
    LogisticRegressionPath,
    OnlineProbe,
    OnlineProtocols,
    PseudoInverse,
    RawColumns,
)
from lightning_renyicl.evaluation.protocol import FeatureProtocol


class SomeLabels(FakeTable):
    """Every third label is unknown."""

    def load(self):
        samples = super().load()
        samples.target[::3] = -1
        return samples


class Recorder(FeatureProtocol):
    """Keeps what it is given, and is right in every second test sample."""

    name = "recorder"

    def __init__(self, needs_val: bool = False) -> None:
        self.needs_val = needs_val

    def __call__(self, train, val, test, num_classes, seed):
        assert torch.is_grad_enabled()
        assert not test.is_inference()
        self.got = train, val, test, num_classes, seed
        scores = torch.zeros(len(test), num_classes)
        scores[:, 0] = 1
        return scores


def by_hand(module, data, split):
    rows = data.samples.splits[split]
    rows = rows[data.samples.target[rows] >= 0]
    with torch.no_grad():
        return module.eval()(data.samples.inputs[rows]), data.samples.target[rows]


@pytest.mark.parametrize("data_class", [FakeTable, SomeLabels])
def test_protocols_get_every_labelled_sample(make, quiet_trainer, data_class):
    module, data = make(data_class, seed=7)
    recorder = Recorder()
    trainer = quiet_trainer(callbacks=[FrozenFeatures([recorder])])
    (metrics,) = trainer.test(module, datamodule=data, verbose=False)
    *parts, test, num_classes, seed = recorder.got
    assert (num_classes, seed) == (4, 7)
    for split, part in zip(("train", "val"), parts, strict=True):
        features, target = by_hand(module, data, split)
        torch.testing.assert_close(part.features, features)
        assert torch.equal(part.target, target)
    features, target = by_hand(module, data, "test")
    torch.testing.assert_close(test, features)
    assert metrics["recorder/top1"] == pytest.approx((target == 0).float().mean().item())
    assert metrics["recorder/macro_top1"] == pytest.approx(0.25)


@pytest.mark.parametrize(("limit", "again"), [(None, 0), (1, 16)])
def test_every_sample_is_encoded_once(make, quiet_trainer, limit, again):
    """In a test loop that is limited, what protocols need of it once more."""
    module, data = make()
    encoded = []
    module.backbone.register_forward_hook(lambda _, inputs, __: encoded.append(len(inputs[0])))
    recorder = Recorder()
    trainer = quiet_trainer(callbacks=[OnlineProbe(), FrozenFeatures([recorder])], limit_test_batches=limit)
    trainer.test(module, datamodule=data, verbose=False)
    sizes = {split: len(rows) for split, rows in data.samples.splits.items()}
    assert len(recorder.got[2]) == sizes["test"]
    assert sum(encoded) == sum(sizes.values()) + again


def test_scores_of_two_protocols(make, quiet_trainer):
    module, data = make()
    trainer = quiet_trainer(callbacks=[FrozenFeatures([LinearSGD([0.1], epochs=20), PseudoInverse()])])
    (metrics,) = trainer.test(module, datamodule=data, verbose=False)
    assert set(metrics) == {
        f"{name}/{kind}" for name in ("linear_sgd", "pseudo_inverse") for kind in ("top1", "macro_top1")
    }
    assert all(metrics[f"{name}/top1"] > 0.5 for name in ("linear_sgd", "pseudo_inverse"))


class Categories(FakeTable):
    """The last two columns hold codes."""

    def __init__(self, *args, **arguments):
        super().__init__(*args, **arguments)
        self.cardinalities = (4, 6)

    def load(self):
        samples = super().load()
        samples.inputs[:, -2:] = torch.stack((torch.arange(128) % 4, torch.arange(128) % 6), dim=1).float()
        return samples


@pytest.mark.parametrize("data_class", [FakeTable, Categories])
def test_columns_without_an_encoder(make, quiet_trainer, data_class):
    module, data = make(data_class)
    trainer = quiet_trainer(callbacks=[RawColumns([recorder := Recorder()]), FrozenFeatures([Recorder()])])
    (metrics,) = trainer.test(module, datamodule=data, verbose=False)
    names = ("recorder/top1", "recorder/macro_top1")
    assert set(metrics) == {*names, *(f"raw/{name}" for name in names)}
    rows = data.samples.inputs[data.samples.splits["train"]]
    if data_class is Categories:
        one_hot = [torch.nn.functional.one_hot(rows[:, column].long(), n) for column, n in ((-2, 4), (-1, 6))]
        rows = torch.cat((rows[:, :-2], *one_hot), dim=1)
    assert torch.equal(recorder.got[0].features, rows)


def test_the_run_is_left_alone(make, quiet_trainer):
    protocols = [
        FrozenFeatures([LinearSGD([0.1], epochs=2), PseudoInverse(), LogisticRegressionPath()]),
        *(OnlineProtocols([KNN(), LinearSGD([0.1], epochs=2)]), Diagnostics(), FewShot([1], 3, 3, 10)),
    ]
    results = []
    for callbacks in ([], protocols):
        module, data = make()
        trainer = quiet_trainer(callbacks=[OnlineProbe(), *callbacks])
        trainer.fit(module, datamodule=data)
        trainer.test(module, datamodule=data, verbose=False)
        results.append((module.state_dict(), torch.random.get_rng_state(), module.training))
    (weights, state, training), (others, other_state, other_training) = results
    assert all(torch.equal(weights[name], others[name]) for name in weights)
    assert torch.equal(state, other_state)
    assert training == other_training


def test_features_have_the_trainers_precision(make, quiet_trainer):
    module, data = make()
    trainer = quiet_trainer(precision="bf16-mixed", callbacks=[FrozenFeatures([recorder := Recorder()])])
    trainer.test(module, datamodule=data, verbose=False)
    exact, _ = by_hand(module, data, "test")
    assert recorder.got[2].dtype == torch.float32
    assert not torch.equal(recorder.got[2], exact)
    torch.testing.assert_close(recorder.got[2], exact, rtol=0.1, atol=0.1)


@pytest.mark.parametrize(("protocols", "got"), [([], "none"), ([Recorder(), Recorder()], "recorder, recorder")])
def test_protocols_must_be_some_and_different(protocols, got):
    with pytest.raises(ValueError, match=f"at least one, each once, got {got}"):
        FrozenFeatures(protocols)


def test_data_without_labels(make, quiet_trainer):
    class Unlabelled(FakeTable):
        def load(self):
            samples = super().load()
            samples.target[samples.splits["val"]] = -1
            return samples

    module, data = make(Unlabelled)
    protocols = [LinearSGD([0.1]), Recorder(needs_val=True)]
    with pytest.raises(ValueError, match="the validation split has none: leave it out"):
        quiet_trainer(callbacks=[FrozenFeatures(protocols)]).test(module, datamodule=data, verbose=False)
    module, data = make(num_classes=1)
    with pytest.raises(ValueError, match="needs labels of two classes, and the data has 1"):
        quiet_trainer(callbacks=[FrozenFeatures([Recorder()])]).test(module, datamodule=data, verbose=False)


class NothingSetAside(FakeTable):
    """All of what validates trains."""

    def load(self):
        samples = super().load()
        splits = samples.splits
        train = torch.cat((splits["train"], splits["val"]))
        return replace(samples, splits={**splits, "train": train, "val": train[:0]})


def test_data_without_validation_samples(make, quiet_trainer):
    module, data = make(NothingSetAside)
    recorder = Recorder()
    protocols = [recorder, PseudoInverse(), LinearSGD([0.1], epochs=5)]
    (metrics,) = quiet_trainer(callbacks=[FrozenFeatures(protocols)]).test(module, datamodule=data, verbose=False)
    train, val, test, *_ = recorder.got
    assert len(val.target) == 0
    assert torch.equal((train + val).features, train.features)
    assert metrics["linear_sgd/top1"] == pytest.approx(
        (LinearSGD([0.1], epochs=5)(train, val, test, 4, 0).argmax(1) == by_hand(module, data, "test")[1])
        .float()
        .mean()
        .item()
    )
    rates = FrozenFeatures([LinearSGD([0.1, 0.3])])
    with pytest.raises(ValueError, match="the validation split has none"):
        quiet_trainer(callbacks=[rates]).test(module, datamodule=data, verbose=False)


def test_an_encoder_that_has_diverged(make, quiet_trainer):
    module, data = make()
    with torch.no_grad():
        next(module.backbone.parameters()).fill_(torch.nan)
    with pytest.raises(ValueError, match="FrozenFeatures needs finite features: the encoder has diverged"):
        quiet_trainer(callbacks=[FrozenFeatures([Recorder()])]).test(module, datamodule=data, verbose=False)
