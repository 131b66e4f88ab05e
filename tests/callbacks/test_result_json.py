"""``result.json`` exists exactly if the run is finished, and says what it was."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from functools import partial

import lightning
import pytest
import torch
from lightning.pytorch import Callback

from datamodules import FakeTable
from lightning_renyicl.callbacks import InformationEstimate, ResultJson
from lightning_renyicl.callbacks import result_json as module_under_test
from lightning_renyicl.evaluation import KNN, RBFSVM, FrozenFeatures, OnlineProbe


def strict(path):
    """The file as JSON proper, which knows neither NaN nor Infinity."""

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(path.read_text(), parse_constant=refuse)


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""
    time = [100.0]
    monkeypatch.setattr(module_under_test.time, "monotonic", lambda: time[0])
    return time


class Take(Callback):
    """Lets every training batch take ten seconds of the clock."""

    def __init__(self, clock):
        self.clock = clock

    def on_train_batch_end(self, *_):
        self.clock[0] += 10


class Fail(Callback):
    def __init__(self, error):
        self.error = error

    def on_train_epoch_start(self, trainer, pl_module):
        if trainer.current_epoch == 1:
            raise self.error


def test_keys_and_values(tmp_path, make, quiet_trainer):
    (tmp_path / "config.yaml").write_text("seed_everything: 7\nmodel: {alpha: 0.1}\n")
    trainer = quiet_trainer(callbacks=[OnlineProbe(), ResultJson()])
    trainer.fit(*make(seed=7))
    result = strict(tmp_path / "result.json")
    facts = ["metrics", "epoch", "config", "seed", "versions", "device", "seconds", "commit", "data"]
    assert list(result) == facts
    assert result["metrics"] == {
        name: pytest.approx(trainer.callback_metrics[name].item())
        for name in ("online_probe/macro_top1", "online_probe/top1")
    }
    assert all(0 <= value <= 1 for value in result["metrics"].values())
    assert result["config"] == {"seed_everything": 7, "model": {"alpha": 0.1}}
    assert result["seed"] == 7
    assert result["versions"]["torch"] == torch.__version__.split("+")[0]
    assert result["versions"]["lightning"] == lightning.__version__
    assert {"python", "lightning-renyicl", "timm"} <= set(result["versions"])
    assert result["device"].startswith("cpu")
    assert "train/loss" in trainer.callback_metrics  # it was there to be left out
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("result")] == ["result.json"]


@pytest.mark.parametrize("kind", ["validate", "test"])
def test_evaluation_alone(tmp_path, make, quiet_trainer, kind):
    probe = OnlineProbe()
    quiet_trainer(callbacks=[probe]).fit(*make())
    getattr(quiet_trainer(callbacks=[probe, ResultJson()]), kind)(*make(), verbose=False)
    assert set(strict(tmp_path / "result.json")["metrics"]) == {"online_probe/macro_top1", "online_probe/top1"}


def test_validation_within_a_fit_writes_nothing(tmp_path, make, quiet_trainer):
    class Look(Callback):
        def on_train_epoch_end(self, trainer, pl_module):
            assert not (tmp_path / "result.json").exists()

    quiet_trainer(callbacks=[ResultJson(), Look()]).fit(*make())
    assert (tmp_path / "result.json").exists()


@pytest.mark.parametrize(
    ("error", "ends"),
    [(ValueError("no"), ValueError), (KeyboardInterrupt(), SystemExit)],
    ids=["failure", "interrupt"],
)
def test_not_of_a_run_that_stopped(tmp_path, make, quiet_trainer, error, ends):
    with pytest.raises(ends):
        quiet_trainer(callbacks=[ResultJson(), Fail(error)]).fit(*make())
    assert list(tmp_path.glob("result*")) == []


def test_not_of_a_dry_run(tmp_path, make, quiet_trainer):
    quiet_trainer(callbacks=[ResultJson()], fast_dev_run=True).fit(*make())
    assert list(tmp_path.glob("result*")) == []


def test_an_interrupted_write_leaves_the_file_of_before(tmp_path, make, quiet_trainer, monkeypatch):
    (tmp_path / "result.json").write_text('{"metrics": {}}')

    def full(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr(module_under_test.Path, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        quiet_trainer(callbacks=[ResultJson()], max_epochs=1).fit(*make())
    assert (tmp_path / "result.json").read_text() == '{"metrics": {}}'


def test_seconds_add_up_over_a_resume(tmp_path, make, quiet_trainer, clock):
    def callbacks():
        return [ResultJson(), Take(clock)]

    first = quiet_trainer(callbacks=callbacks(), max_epochs=2)
    first.fit(*make())
    first.save_checkpoint(tmp_path / "half.ckpt")
    assert strict(tmp_path / "result.json")["seconds"] == 80.0
    clock[0] += 5000  # what lies between doesn't count
    quiet_trainer(callbacks=callbacks(), max_epochs=3).fit(*make(), ckpt_path=tmp_path / "half.ckpt")
    assert strict(tmp_path / "result.json")["seconds"] == 120.0


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_still_json(tmp_path, make, quiet_trainer, value):
    class Score(Callback):
        def on_validation_epoch_end(self, trainer, pl_module):
            pl_module.log("protocol/score", value)

    quiet_trainer(callbacks=[ResultJson(), Score()], max_epochs=1).fit(*make())
    assert strict(tmp_path / "result.json")["metrics"] == {"protocol/score": None}


@pytest.mark.parametrize("kind", ["validate", "test"])
def test_not_of_an_evaluation_without_a_score(tmp_path, make, quiet_trainer, kind):
    getattr(quiet_trainer(callbacks=[ResultJson()]), kind)(*make(), verbose=False)
    assert list(tmp_path.glob("result*")) == []


class TestCommit:
    def test_names_the_checkout(self):
        commit = module_under_test.commit.__wrapped__()
        assert commit is None or re.fullmatch(r"[0-9a-f]{40}(-dirty)?", commit)

    def test_none_outside_a_checkout(self, tmp_path, monkeypatch):
        monkeypatch.setattr(module_under_test, "__file__", str(tmp_path / "file.py"))
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
        assert module_under_test.commit.__wrapped__() is None

    def test_none_without_git(self, monkeypatch):
        def missing(*_, **__):
            raise FileNotFoundError("git")

        monkeypatch.setattr(subprocess, "run", missing)
        assert module_under_test.commit.__wrapped__() is None


@pytest.mark.parametrize("protocol", [OnlineProbe, partial(RBFSVM, 2, 2), InformationEstimate])
def test_a_training_without_any_validation_says_so(tmp_path, make, quiet_trainer, protocol):
    trainer = quiet_trainer(callbacks=[protocol(), ResultJson()], check_val_every_n_epoch=5)
    with pytest.warns(
        UserWarning, match="no validation ran in 2 epochs, so there are no scores: choose a .*every_n_epoch"
    ):
        trainer.fit(*make())
    assert strict(tmp_path / "result.json")["metrics"] == {}


def test_where_steps_are_counted_their_interval_is_named(make, quiet_trainer):
    trainer = quiet_trainer(
        callbacks=[OnlineProbe(), ResultJson()], check_val_every_n_epoch=None, val_check_interval=100
    )
    with pytest.warns(UserWarning, match="no scores: choose a trainer.val_check_interval that divides the number of"):
        trainer.fit(*make())


@pytest.mark.parametrize("every", [2, 5])
@pytest.mark.parametrize("protocols", [[], [partial(FrozenFeatures, [KNN()])]])
def test_where_nothing_is_scored_in_validation_none_is_asked_for(make, quiet_trainer, recwarn, protocols, every):
    callbacks = [*(protocol() for protocol in protocols), ResultJson()]
    quiet_trainer(callbacks=callbacks, check_val_every_n_epoch=every, max_epochs=3).fit(*make())
    assert not [warning for warning in recwarn if "check_val_every_n_epoch" in str(warning.message)]


def test_seconds_of_a_test_are_its_own(tmp_path, make, quiet_trainer, clock):
    fit = quiet_trainer(callbacks=[ResultJson(), Take(clock)])
    fit.fit(*make())
    fit.save_checkpoint(tmp_path / "last.ckpt")
    assert strict(tmp_path / "result.json")["seconds"] == 80.0
    clock[0] += 5000

    class TakeOne(Callback):
        def on_test_batch_end(self, trainer, pl_module, *_):
            clock[0] += 1
            pl_module.log("protocol/score", 1.0)

    test = quiet_trainer(callbacks=[ResultJson(), TakeOne()])
    test.test(*make(), ckpt_path=tmp_path / "last.ckpt", verbose=False)
    assert strict(tmp_path / "result.json")["seconds"] == 2.0


def test_a_training_that_sets_nothing_aside_is_not_told_to_validate(tmp_path, make, quiet_trainer, recwarn):
    class NothingSetAside(FakeTable):
        def load(self):
            samples = super().load()
            return replace(samples, splits={**samples.splits, "val": samples.splits["val"][:0]})

    quiet_trainer(callbacks=[OnlineProbe(), ResultJson()]).fit(*make(NothingSetAside))
    assert not [warning for warning in recwarn if "no validation ran" in str(warning.message)]
    assert strict(tmp_path / "result.json")["metrics"] == {}
