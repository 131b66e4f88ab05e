"""Callbacks of Lightning that are given names or values which fit nothing."""

from __future__ import annotations

import pytest

NAMES = (
    "lr-SGD, {scores}train/bound, train/feature_std, train/loss, train/momentum, train/mutual_information, "
    "train/negative_score, train/positive_score"
)
SHORT = ["--trainer.max_epochs", 1, "--model.scheduler.warmup_epochs", 0, "--trainer.default_root_dir", "run"]


def missing(who, scores="online_probe/macro_top1, online_probe/top1, "):
    return f"nothing was logged as 'accuracy', the monitor of {who}; there are {NAMES.format(scores=scores)}"


def chosen_by(name, **arguments):
    given = {"monitor": "accuracy", **arguments}
    return ["--trainer.callbacks+", name, *(f"--trainer.callbacks.{key}={value}" for key, value in given.items())]


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (chosen_by("EarlyStopping"), missing("EarlyStopping")),
        (
            [*chosen_by("EarlyStopping", check_on_train_epoch_end="true"), "--trainer.limit_val_batches", 0],
            missing("EarlyStopping", ""),
        ),
        ([*chosen_by("EarlyStopping"), "--trainer.val_check_interval", 0.5], missing("EarlyStopping")),
        (chosen_by("ModelCheckpoint"), missing("ModelCheckpoint")),
        (["--trainer.callbacks+=SpikeDetection"], "Training spike detected in batch 1"),
        (
            [
                "--trainer.callbacks+=StochasticWeightAveraging",
                "--trainer.callbacks.swa_lrs=1",
                "--trainer.callbacks.device=x",
            ],
            "at start of device string: x",
        ),
        (["--trainer.devices", "x"], "`devices` selected with `CPUAccelerator` should be an int > 0."),
    ],
    ids=["stopping", "stopping without validation", "stopping within an epoch", "saving", "spike", "device", "devices"],
)
def test_one_line(command, fake, args, line):
    outcome = command("fit", "--config", fake, *SHORT, *args)
    assert outcome.code == 2
    (error,) = [each for each in outcome.err.splitlines() if each.startswith("error: ")]
    assert error.endswith(line)
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("name", "arguments", "missed"),
    [
        ("ModelCheckpoint", {"every_n_train_steps": 1}, "no checkpoint was saved by it"),
        ("ModelCheckpoint", {"train_time_interval": "0:00:00.01"}, "no checkpoint was saved by it"),
        ("EarlyStopping", {"strict": "false"}, "nothing was stopped by it"),
    ],
)
def test_a_warning_where_training_goes_on(command, fake, recwarn, name, arguments, missed):
    assert command("fit", "--config", fake, *SHORT, *chosen_by(name, **arguments)).code == 0
    assert f"{missing(name)}; {missed}" in [str(each.message) for each in recwarn]


def test_nothing_is_said_of_names_that_are_logged(command, fake, recwarn, tmp_path):
    args = chosen_by("ModelCheckpoint", monitor="train/loss", every_n_train_steps=1)
    assert command("fit", "--config", fake, *SHORT, *args).code == 0
    (tmp_path / "run/result.json").unlink()
    assert command("fit", "--config", fake, *SHORT, *args).code == 0  # without an epoch, so that nothing is logged
    assert not [each for each in recwarn if "nothing was logged" in str(each.message)]
