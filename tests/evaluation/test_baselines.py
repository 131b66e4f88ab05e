"""What training is worth beside doing nothing."""

from __future__ import annotations

import json
import logging
from copy import deepcopy

import pytest
import torch
from lightning.pytorch import Callback
from lightning.pytorch.loggers import CSVLogger

from datamodules import FakeTable
from datamodules.drawing import drawn
from lightning_renyicl.callbacks import ResultJson
from lightning_renyicl.evaluation import Baselines, FrozenFeatures, OnlineProbe, PseudoInverse
from lightning_renyicl.evaluation.protocol import FeatureProtocol

ENCODERS = ("trained", "untrained", "raw")
KEYS = {f"baseline/{name}/{metric}" for name in ENCODERS for metric in ("top1", "macro_top1")}


class Recorder(FeatureProtocol):
    """Keeps what it is given, and says class 0."""

    name = "recorder"

    def __init__(self):
        self.got = []

    def __call__(self, train, val, test, num_classes, seed):
        assert torch.is_grad_enabled()
        assert not test.is_inference()
        self.got.append((train, val, test))
        return torch.eye(num_classes)[torch.zeros(len(test), dtype=torch.long)]


class SomeLabels(FakeTable):
    """Every third label is unknown."""

    def load(self):
        samples = super().load()
        samples.target[::3] = -1
        return samples


class OneSplit(FakeTable):
    """What trains is what is evaluated."""

    def load(self):
        samples = super().load()
        samples.splits = dict.fromkeys(samples.splits, samples.splits["train"])
        return samples


@pytest.fixture
def messages(caplog):
    """What is printed about baselines."""

    def _messages():
        lines = [record.getMessage() for record in caplog.records]
        return [line for line in lines if line.startswith(("accuracy (%)", "training is not", "no scores of"))]

    with caplog.at_level(logging.INFO):
        yield _messages


def rows_of(data, split):
    """The labelled samples of a split."""
    rows = data.samples.splits[split]
    return rows[data.samples.target[rows] >= 0]


def untrained(backbone, data):
    """A network with BatchNorm's statistics of batches: means of the batches' means and unbiased variances."""
    train = rows_of(data, "train")
    rows = data.samples.inputs[train[drawn(data.samples.target[train], 1024, torch.initial_seed())]]
    backbone = deepcopy(backbone)
    norms = [module for module in backbone.modules() if isinstance(module, torch.nn.BatchNorm1d)]
    found = {norm: [] for norm in norms}
    for norm in norms:
        norm.register_forward_pre_hook(lambda norm, args: found[norm].append(args[0]))
    batches = rows.split(data.batch_size)
    with torch.no_grad():
        backbone.train()
        for batch in batches:
            backbone(batch)
    for norm in norms:
        norm.running_mean = torch.stack([x.mean(0) for x in found[norm]]).mean(0)
        norm.running_var = torch.stack([x.var(0) for x in found[norm]]).mean(0)
    return backbone.eval()


@pytest.mark.parametrize("data_class", [FakeTable, SomeLabels])
def test_scores_by_hand_at_the_end_of_fit(make, quiet_trainer, data_class):
    module, data = make(data_class)
    initial = deepcopy(module.backbone)
    callback = Baselines(protocol=(recorder := Recorder()))
    trainer = quiet_trainer(callbacks=[callback])
    trainer.fit(module, datamodule=data)
    train, val = rows_of(data, "train"), rows_of(data, "val")
    inputs, target = data.samples.inputs, data.samples.target
    encoders = (module.backbone.eval(), untrained(initial, data), lambda x: x)
    assert len(recorder.got) == 3
    for (own, chosen_on, test), encode in zip(recorder.got, encoders, strict=True):
        with torch.no_grad():
            torch.testing.assert_close(test, encode(inputs[val]))
            all_of_them = torch.cat((own.features, chosen_on.features))
            expected = encode(inputs[train])
            torch.testing.assert_close(all_of_them.sum(0), expected.sum(0), rtol=1e-4, atol=1e-4)
        assert len(all_of_them) == len(train)
        counts = (own + chosen_on).target.bincount(minlength=4)
        assert torch.equal(counts, target[train].bincount(minlength=4))
        assert abs(len(chosen_on.target) - len(train) / 5) <= 4
        assert set(chosen_on.target.tolist()) == {0, 1, 2, 3}
    share = (target[val] == 0).float().mean().item()
    assert callback.final_scores == {key: pytest.approx(0.25 if "macro" in key else share) for key in KEYS}


class Dropping(torch.nn.Sequential):
    """A network that has seen other data, and that draws random numbers in training."""

    def __init__(self):
        super().__init__(torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(16))
        self[1](100 + torch.randn(8, 16, generator=torch.Generator().manual_seed(0)))
        self.num_features = 16


def test_statistics_are_of_the_data_alone_and_nothing_is_drawn(make, quiet_trainer):
    module, data = make()
    module.backbone, module.momentum_target = Dropping(), None
    module.projector = torch.nn.Linear(16, 8)
    callback = Baselines(protocol=(recorder := Recorder()))
    trainer = quiet_trainer(callbacks=[callback])
    trainer.fit(module, datamodule=data)
    expected = untrained(torch.nn.Sequential(torch.nn.BatchNorm1d(16)), data)
    torch.testing.assert_close(recorder.got[1][2], expected(data.samples.inputs[rows_of(data, "val")]))


def test_scores_are_the_protocols(make, quiet_trainer):
    """Linear regression on the raw columns by itself."""
    module, data = make()
    callback = Baselines(protocol=PseudoInverse())
    quiet_trainer(callbacks=[callback]).fit(module, datamodule=data)
    ones = torch.nn.functional.pad(data.samples.inputs.double(), (0, 1), value=1.0)
    train, val = rows_of(data, "train"), rows_of(data, "val")
    weight = torch.linalg.lstsq(ones[train], torch.eye(4).double()[data.samples.target[train]]).solution
    correct = (ones[val] @ weight).argmax(1) == data.samples.target[val]
    assert callback.final_scores["baseline/raw/top1"] == pytest.approx(correct.double().mean().item())


def test_samples_are_drawn_in_proportion(make, quiet_trainer):
    module, data = make()
    callback = Baselines(training=20, evaluated=8, protocol=(recorder := Recorder()))
    quiet_trainer(callbacks=[callback]).fit(module, datamodule=data)
    for train, val, test in recorder.got:
        assert (train + val).target.bincount().tolist() == [5, 5, 5, 5]
        assert len(test) == 8
    again = Baselines(training=20, evaluated=8, protocol=(other := Recorder()))
    module, data = make()
    quiet_trainer(callbacks=[again]).fit(module, datamodule=data)
    assert torch.equal(recorder.got[2][2], other.got[2][2])


def test_folds_where_the_training_samples_are_evaluated(make, quiet_trainer, messages):
    module, data = make(OneSplit)
    callback = Baselines(training=40, protocol=(recorder := Recorder()))
    quiet_trainer(callbacks=[callback]).fit(module, datamodule=data)
    assert len(recorder.got) == 15
    raw = recorder.got[10:]
    tested = torch.cat([test for _, _, test in raw])
    assert len(tested.unique(dim=0)) == len(tested) == 40
    for train, val, test in raw:
        rows = torch.cat((train.features, val.features, test))
        assert len(rows) == len(rows.unique(dim=0)) == 40
        assert set(train.target.tolist()) == {0, 1, 2, 3}
    assert callback.final_scores.keys() == KEYS
    assert messages()[0].startswith("accuracy (%) by recorder in 5 folds of 40 samples: trained 25.0, ")


class Watch(Callback):
    def __init__(self):
        self.features = None

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.features = outputs["features"]

    def on_fit_end(self, trainer, pl_module):
        self.stage = trainer.state.stage


def test_the_run_is_left_alone(make, quiet_trainer, tmp_path):
    results = []
    for number, callbacks in enumerate(([], [Baselines()])):
        module, data = make()
        folder = tmp_path / str(number)
        watch = Watch()
        trainer = quiet_trainer(callbacks=[OnlineProbe(), *callbacks, watch], logger=CSVLogger(folder, "", ""))
        trainer.fit(module, datamodule=data)
        numbers = (folder / "metrics.csv").read_text()
        results.append((module.state_dict(), torch.get_rng_state(), numbers, watch.stage, watch.features))
        assert [each.training for each in module.modules()] == [True] * len(list(module.modules()))
        assert torch.initial_seed() == 0
    (weights, *others), (own_weights, *own_others) = results
    torch.testing.assert_close(own_weights, weights, rtol=0, atol=0)
    for own, other in zip(own_others, others, strict=True):
        assert torch.equal(own, other) if isinstance(own, torch.Tensor) else own == other


@pytest.mark.parametrize("how", ["test", "fit", "resumed"])
def test_the_untrained_encoder_has_the_weights_that_training_starts_from(make, quiet_trainer, tmp_path, how):
    checkpoint = tmp_path / "last.ckpt"
    module, data = make()
    trainer = quiet_trainer()
    trainer.fit(module, datamodule=data)
    trainer.save_checkpoint(checkpoint)
    module, data = make(seed=1 if how == "fit" else 0)
    initial = deepcopy(module.backbone)
    callback = Baselines(protocol=(recorder := Recorder()))
    trainer = quiet_trainer(callbacks=[callback], max_epochs={"fit": 3, "resumed": 2}.get(how))
    act = trainer.test if how == "test" else trainer.fit
    act(module, datamodule=data, ckpt_path=checkpoint)
    rows = data.samples.inputs
    expected = untrained(initial, data)
    (_, _, trained), (_, _, found), _ = recorder.got
    rows = rows[rows_of(data, "test" if how == "test" else "val")]
    with torch.no_grad():
        torch.testing.assert_close(found, expected(rows))
        torch.testing.assert_close(trained, module.backbone.eval()(rows))
    assert not torch.allclose(trained, found)


def test_a_module_that_was_trained_elsewhere_has_no_untrained_one(make, quiet_trainer):
    module, data = make()
    quiet_trainer().fit(module, datamodule=data)
    (metrics,) = quiet_trainer(callbacks=[Baselines()]).test(module, datamodule=data, verbose=False)
    assert metrics.keys() == {key for key in KEYS if "untrained" not in key}
    (metrics,) = (trainer := quiet_trainer(callbacks=[Baselines()])).fit(module, datamodule=data) or trainer.test(
        module, datamodule=data, verbose=False
    )
    assert metrics.keys() == KEYS


def test_beside_the_protocols_of_a_test(make, quiet_trainer):
    module, data = make()
    trainer = quiet_trainer(callbacks=[Baselines(), FrozenFeatures([PseudoInverse()])])
    trainer.fit(module, datamodule=data)
    (metrics,) = trainer.test(module, datamodule=data, verbose=False)
    assert metrics.keys() == KEYS | {"pseudo_inverse/top1", "pseudo_inverse/macro_top1"}
    assert all(0.25 < metrics[key] <= 1 for key in KEYS)


def test_result_json_has_them(make, quiet_trainer, tmp_path):
    module, data = make()
    trainer = quiet_trainer(callbacks=[OnlineProbe(), Baselines(), ResultJson()])
    trainer.fit(module, datamodule=data)
    metrics = json.loads((tmp_path / "result.json").read_text())["metrics"]
    assert metrics.keys() == KEYS | {"online_probe/top1", "online_probe/macro_top1"}
    assert list(metrics) == sorted(metrics)
    trainer.test(module, datamodule=data, verbose=False)
    assert json.loads((tmp_path / "result.json").read_text())["metrics"].keys() == metrics.keys()


class Unlabelled(FakeTable):
    """No validation sample has a label."""

    def load(self):
        samples = super().load()
        samples.target[samples.splits["val"]] = -1
        return samples


class NothingSetAside(FakeTable):
    """No sample validates."""

    def load(self):
        samples = super().load()
        samples.splits["val"] = samples.splits["val"][:0]
        return samples


class OneOfAClass(FakeTable):
    """All training samples but one are of one class."""

    def load(self):
        samples = super().load()
        samples.target[:] = 0
        samples.target[0] = 1
        return samples


@pytest.mark.parametrize("data_class", [Unlabelled, NothingSetAside, OneOfAClass, "one class", "no steps", "NaN"])
def test_no_scores_where_there_is_nothing_to_tell_apart(make, quiet_trainer, messages, data_class):
    arguments = {"num_classes": 1} if data_class == "one class" else {}
    module, data = make(FakeTable if isinstance(data_class, str) else data_class, **arguments)
    callback = Baselines()
    trainer = quiet_trainer(callbacks=[callback], fast_dev_run=data_class == "no steps")
    if data_class == "NaN":
        data.samples.inputs[data.samples.splits["val"][0]] = torch.nan
    trainer.fit(module, datamodule=data)
    assert trainer.state.finished
    assert (callback.final_scores, messages()) == ({}, [])


def test_no_raw_input(make, quiet_trainer):
    """A table of names alone has none."""
    module, data = make()
    data.raw_input = lambda rows: rows[:, :0]
    callback = Baselines()
    quiet_trainer(callbacks=[callback]).fit(module, datamodule=data)
    assert callback.final_scores.keys() == {key for key in KEYS if "raw" not in key}


class Broken(Recorder):
    def __call__(self, *_):
        raise RuntimeError("out of memory")


def test_an_error_ends_no_training(make, quiet_trainer, messages, tmp_path):
    module, data = make()
    trainer = quiet_trainer(callbacks=[OnlineProbe(), Baselines(protocol=Broken()), ResultJson()])
    trainer.fit(module, datamodule=data)
    assert (tmp_path / "result.json").exists()
    assert messages() == ["no scores of baselines: out of memory"]


@pytest.mark.parametrize("precision", ["bf16-mixed", "bf16-true"])
def test_precision(make, quiet_trainer, precision):
    module, data = make()
    module.momentum_target = None
    callback = Baselines()
    quiet_trainer(callbacks=[callback], precision=precision).fit(module, datamodule=data)
    assert callback.final_scores.keys() == KEYS


@pytest.mark.parametrize("arguments", [{"training": 1}, {"evaluated": 0}])
def test_too_few_samples(arguments):
    with pytest.raises(ValueError, match="training and evaluated must be at least 2 samples"):
        Baselines(**arguments)
