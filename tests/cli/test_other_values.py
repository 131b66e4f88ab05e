"""A training that goes on with other values of its optimizer: what the configuration says is what runs."""

from __future__ import annotations

import math

import pytest
import torch
import yaml

STEPS, MORE = 20, 10  # of the checkpoint's training, and of two epochs more


@pytest.fixture
def longer(command, fake, checkpoint, tmp_path, curve):
    """Two more epochs from the checkpoint; the optimizer's last values, and its rates."""

    def _longer(*flags, source=None, folder="longer"):
        args = ["--ckpt_path", source or checkpoint, "--trainer.max_epochs", 6, "--trainer.default_root_dir", folder]
        outcome = command("fit", "--config", fake, *args, *flags)
        assert outcome.code == 0, outcome.err
        saved = torch.load(tmp_path / folder / "checkpoints/last.ckpt", weights_only=True)
        (group,) = saved["optimizer_states"][0]["param_groups"]
        rates = [float(row["lr-SGD"]) for row in curve(tmp_path / folder) if row["lr-SGD"]]
        return group, rates

    return _longer


SCHEDULE = [0.1 * (1 + math.cos(math.pi * (step - 5) / (STEPS + MORE - 5))) / 2 for step in range(STEPS, STEPS + MORE)]


def test_what_the_user_gives_is_used(longer, tmp_path):
    given = {"momentum": 0.5, "weight_decay": 0.01, "nesterov": True}
    group, rates = longer(*(f"--model.optimizer.{name}={str(value).lower()}" for name, value in given.items()))
    assert given == {name: group[name] for name in given}
    assert rates == pytest.approx(SCHEDULE, rel=1e-12)
    stored = yaml.safe_load((tmp_path / "longer/config.yaml").read_text())
    assert given.items() <= stored["model"]["init_args"]["optimizer"]["init_args"].items()


def test_a_rate_of_the_users(longer):
    group, rates = longer("--model.optimizer.lr", 0.001)
    assert group["initial_lr"] == 0.001
    assert rates == pytest.approx([rate / 100 for rate in SCHEDULE], rel=1e-12)


def test_a_schedule_taken_away(longer):
    group, rates = longer("--model.scheduler", "null")
    assert rates == [0.1] * MORE
    assert group["lr"] == 0.1


def test_a_schedule_added(longer, command, fake, tmp_path):
    none = ["--model.scheduler", "null", "--trainer.default_root_dir", "without"]
    assert command("fit", "--config", fake, *none).code == 0
    _, rates = longer(source=tmp_path / "without/checkpoints/last.ckpt")
    assert rates == pytest.approx(SCHEDULE, rel=1e-12)


def test_a_schedule_of_another_kind(longer):
    _, rates = longer("--model.scheduler.warmup_epochs", 5)  # 25 of 30 steps
    assert rates == pytest.approx([0.1 * (step + 1) / 26 for step in range(20, 25)] + rates[5:], rel=1e-12)


@pytest.mark.parametrize("scheduler", [[], ["--model.scheduler", "null"]], ids=["with a schedule", "without"])
def test_a_rate_of_vectors(command, fake, tmp_path, scheduler):
    """It is an argument of LARS, and the rate of one of its groups."""
    args = [
        "--config",
        fake,
        "--model.optimizer",
        "lightning_renyicl.lars.LARS",
        "--model.optimizer.lr=0.1",
        *scheduler,
    ]
    before, after = ["--model.optimizer.vector_lr=0.01"], ["--model.optimizer.vector_lr=0.02"]
    assert command("fit", *args, *before, "--trainer.default_root_dir=before").code == 0
    more = ["--ckpt_path=before/checkpoints/last.ckpt", "--trainer.max_epochs=6", "--trainer.default_root_dir=after"]
    assert command("fit", *args, *after, *more).code == 0
    saved = torch.load(tmp_path / "after/checkpoints/last.ckpt", weights_only=True)
    groups = saved["optimizer_states"][0]["param_groups"]
    assert [group["lr" if scheduler else "initial_lr"] for group in groups] == [0.1, 0.02]


def test_a_checkpoint_of_a_trainer_in_python(longer, checkpoint, tmp_path):
    """It doesn't say what its optimizer's values are, nor whether it had a schedule: the user's are used."""
    content = torch.load(checkpoint, weights_only=True)
    torch.save({**content, "hyper_parameters": {}, "lr_schedulers": []}, tmp_path / "x.ckpt")
    flags = ["--model.optimizer.lr", 0.001, "--model.optimizer.momentum", 0.5]
    group, rates = longer(*flags, source=tmp_path / "x.ckpt")
    assert group["momentum"] == 0.5
    assert rates == pytest.approx([rate / 100 for rate in SCHEDULE], rel=1e-12)


def test_another_optimizer_than_that_of_a_trainer_in_python(command, fake, checkpoint, tmp_path):
    content = torch.load(checkpoint, weights_only=True)
    del content["hyper_parameters"]
    torch.save(content, tmp_path / "x.ckpt")
    flags = ["--model.optimizer", "torch.optim.Adam", "--trainer.max_epochs", 6]
    outcome = command("fit", "--config", fake, "--ckpt_path", "x.ckpt", *flags)
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1] == (
        "error: model.optimizer is torch.optim.Adam, which has no dampening, momentum, nesterov, as the checkpoint's "
        "has: give the class that it was trained with"
    )


def test_another_optimizer_is_refused(command, fake, checkpoint):
    flags = ["--model.optimizer", "torch.optim.Adam", "--trainer.max_epochs", 6]
    outcome = command("fit", "--config", fake, "--ckpt_path", checkpoint, *flags)
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1] == (
        "error: model.optimizer is torch.optim.Adam, which cannot go on from the checkpoint's torch.optim.SGD: keep "
        "that class, or train anew without --ckpt_path"
    )
    assert command("validate", "--config", fake, "--ckpt_path", checkpoint, *flags[:2]).code == 0


def test_the_probes_rate(command, fake, checkpoint, tmp_path):
    flags = ["--trainer.callbacks.learning_rate", 0.5, "--trainer.max_epochs", 5]
    flags += ["--trainer.default_root_dir", "longer"]
    assert command("fit", "--config", fake, "--ckpt_path", checkpoint, *flags).code == 0
    state = torch.load(tmp_path / "longer/checkpoints/last.ckpt", weights_only=True)["callbacks"]["OnlineProbe"]
    assert [group["lr"] for group in state["optimizer"]["param_groups"]] == [0.5]
