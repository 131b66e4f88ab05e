"""A run that was stopped and resumed ends bit-equal to one that was not."""

from __future__ import annotations

import csv
from functools import partial

import pytest
import torch
from lightning.pytorch import Callback, seed_everything
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint

from lightning_renyicl.callbacks import LastCheckpoint
from lightning_renyicl.evaluation import OnlineProbe
from lightning_renyicl.heads import MLPHead, NoHead
from lightning_renyicl.objectives import CrossEntropy
from lightning_renyicl.runs.logger import ContinuedCSVLogger
from tests.objectives.methods import TRAINED


class Killed(Exception):
    pass


class Kill(Callback):
    """Ends the process's training before an optimizer step, having saved if asked to, as a cluster's signal does."""

    def __init__(self, step, path=None):
        self.step, self.path = step, path

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if trainer.global_step == self.step:
            if self.path is not None:
                trainer.save_checkpoint(self.path)
            raise Killed


@pytest.fixture
def train(build, fit):
    """Four epochs of five steps in a folder, up to a kill, or from a checkpoint."""

    def _train(folder, domain, checkpoint, kill=None, ckpt_path=None, seed=0, save=None, precision="32-true", **parts):
        parts = parts or {"momentum": 0.9, "predictor": partial(MLPHead, widths=[8, 4])}
        module, data = build(domain, seed=seed, **parts)
        seed_everything(0, verbose=False)
        probe = OnlineProbe()
        callbacks = [probe, checkpoint(folder), LearningRateMonitor("step")]
        if kill is not None:
            callbacks.append(Kill(kill, save))
        arguments = {
            "max_epochs": 4,
            "limit_val_batches": 1.0,
            "enable_checkpointing": True,
            "logger": ContinuedCSVLogger(str(folder)),
            "callbacks": callbacks,
            "default_root_dir": folder,
            "precision": precision,
        }
        try:
            trainer = fit((module, data), ckpt_path=ckpt_path, **arguments)
        except Killed:
            return None
        trainer.save_checkpoint(folder / "end.ckpt")
        return module, probe

    return _train


def every_epoch(folder):
    return ModelCheckpoint(folder, "last", enable_version_counter=False)


def every_third_step(folder):
    return ModelCheckpoint(folder, "last", every_n_train_steps=3, enable_version_counter=False)


def as_the_command(folder):
    return LastCheckpoint(folder / "last.ckpt")


@pytest.mark.parametrize(("domain", "step"), [("table", 12), ("graph", 8), ("table", 10), ("image", 14)])
def test_bit_equal_from_within_a_batch(tmp_path, train, domain, step):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    module, _ = train(whole, domain, as_the_command)
    assert train(stopped, domain, as_the_command, kill=step, save=stopped / "signal.ckpt") is None
    resumed, _ = train(stopped, domain, as_the_command, ckpt_path=stopped / "signal.ckpt", seed=9)
    torch.testing.assert_close(resumed.state_dict(), module.state_dict(), rtol=0, atol=0)
    ends = [torch.load(folder / "end.ckpt", weights_only=True) for folder in (whole, stopped)]
    assert ends[1]["global_step"] == ends[0]["global_step"] == 20


STATEFUL = ("supervised", "cbyol", "dino", "imix_moco", "mine", "moco", "swav_queue")
"""Methods that keep or draw something, which the quick suite resumes; the others are functions of a batch."""


@pytest.mark.parametrize(
    "name", [*STATEFUL, *(pytest.param(name, marks=pytest.mark.slow) for name in TRAINED if name not in STATEFUL)]
)
def test_bit_equal_of_every_method(tmp_path, train, name):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"

    def parts():
        if name == "supervised":
            return {"objective": CrossEntropy(), "projector": NoHead, "num_classes": 4}
        method = TRAINED[name]
        return {**method.parts(), "views": method.views[0], "optimizer": partial(torch.optim.AdamW, lr=method.rate)}

    module, _ = train(whole, "table", every_epoch, **parts())
    assert train(stopped, "table", every_epoch, kill=12, **parts()) is None
    resumed, _ = train(stopped, "table", every_epoch, ckpt_path=stopped / "last.ckpt", seed=9, **parts())
    torch.testing.assert_close(resumed.state_dict(), module.state_dict(), rtol=0, atol=0)
    assert curve(stopped) == curve(whole)


@pytest.mark.parametrize("domain", ["table", "graph"])
def test_bit_equal_in_double_precision(tmp_path, train, domain):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    module, probe = train(whole, domain, every_epoch, precision="64-true")
    assert train(stopped, domain, every_epoch, kill=10, precision="64-true") is None
    resumed, other = train(stopped, domain, every_epoch, ckpt_path=stopped / "last.ckpt", precision="64-true")
    assert resumed.dtype == torch.float64
    torch.testing.assert_close(resumed.state_dict(), module.state_dict(), rtol=0, atol=0)
    torch.testing.assert_close(other.probe.state_dict(), probe.probe.state_dict(), rtol=0, atol=0)
    assert curve(stopped) == curve(whole)


def curve(folder):
    with (folder / "metrics.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("domain", "checkpoint", "kill", "saved"),
    [
        pytest.param("image", every_epoch, 10, 10, marks=pytest.mark.slow),
        ("table", every_epoch, 10, 10),
        ("graph", every_epoch, 10, 10),
        ("table", every_epoch, 12, 10),  # killed two steps after the checkpoint
        ("table", every_third_step, 13, 12),  # the checkpoint was taken within an epoch
        ("graph", every_third_step, 8, 6),
    ],
)
def test_bit_equal(tmp_path, train, domain, checkpoint, kill, saved):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    module, probe = train(whole, domain, checkpoint)
    assert train(stopped, domain, checkpoint, kill=kill) is None
    assert torch.load(stopped / "last.ckpt", weights_only=True)["global_step"] == saved
    # other weights until the checkpoint is read
    resumed, other = train(stopped, domain, checkpoint, ckpt_path=stopped / "last.ckpt", seed=9)
    torch.testing.assert_close(resumed.state_dict(), module.state_dict(), rtol=0, atol=0)
    states = [one.state_dict() for one in (other, probe)]
    assert states[0].pop("classes") == states[1].pop("classes")
    torch.testing.assert_close(*states, rtol=0, atol=0)
    ends = [torch.load(folder / "end.ckpt", weights_only=True) for folder in (whole, stopped)]
    for key in ("optimizer_states", "lr_schedulers", "global_step", "epoch"):
        torch.testing.assert_close(ends[1][key], ends[0][key], rtol=0, atol=0)
    assert curve(stopped) == curve(whole)


def test_the_curve_has_every_quantity_of_every_step_once(tmp_path, train):
    assert train(tmp_path, "table", every_third_step, kill=13) is None
    train(tmp_path, "table", every_third_step, ckpt_path=tmp_path / "last.ckpt")
    rows = curve(tmp_path)
    for column in ("train/loss", "train/momentum", "lr-SGD", "train/feature_std"):
        assert [int(row["step"]) for row in rows if row[column]] == list(range(20)), column
    assert [int(row["step"]) for row in rows if row["online_probe/top1"]] == [4, 9, 14, 19]
    rates = [float(row["lr-SGD"]) for row in rows if row["lr-SGD"]]
    assert rates.index(max(rates)) == 2
    assert rates[2:] == sorted(rates[2:], reverse=True)
