"""A run that was killed is continued by the same command."""

from __future__ import annotations

import signal

import pytest
import torch

PROGRAM = """
import os, signal, sys
import torch
from lightning.pytorch import Callback
from lightning_renyicl.cli import run

torch.set_num_threads(1)

class Kill(Callback):
    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if trainer.global_step == 12:
            trainer.logger.save()  # two steps after the checkpoint, and logged
            os.kill(os.getpid(), signal.SIGKILL)

run(sys.argv[1:], callbacks=[Kill()])
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory, process, fake):
    """The folder in which a run of 4 epochs of 5 steps was killed in its third epoch."""
    folder = tmp_path_factory.mktemp("killed")
    outcome = process(folder, "-c", PROGRAM, "fit", "--config", fake)
    assert outcome.code == -signal.SIGKILL, outcome.err
    run = folder / "runs/fake/seed0"
    assert torch.load(run / "checkpoints/last.ckpt", weights_only=True)["global_step"] == 10
    assert not (run / "result.json").exists()
    return run


def test_ends_as_if_it_had_not_been_killed(killed, command, tmp_path, fake, curve, caplog, monkeypatch):
    caplog.set_level("INFO")
    logged = {int(row["step"]) for row in curve(killed)}
    assert max(logged) >= 11
    assert command("fit", "--config", fake).code == 0
    whole = tmp_path / "runs/fake/seed0"
    caplog.clear()
    monkeypatch.chdir(killed.parents[2])
    monkeypatch.setattr("sys.argv", ["lightning", "fit", "--config", str(fake)])
    from lightning_renyicl.cli import main

    main()
    assert "continuing runs/fake/seed0 from last.ckpt" in caplog.messages
    assert [path.name for path in killed.parent.iterdir()] == ["seed0"]
    assert (killed / "result.json").exists()
    checkpoints = [torch.load(run / "checkpoints/last.ckpt", weights_only=True) for run in (whole, killed)]
    assert checkpoints[1]["hyper_parameters"] == checkpoints[0]["hyper_parameters"]
    for key in ("state_dict", "optimizer_states", "lr_schedulers", "epoch", "global_step"):
        torch.testing.assert_close(checkpoints[1][key], checkpoints[0][key], rtol=0, atol=0)
    assert "momentum_target.network.0.layers.0.weight" in checkpoints[1]["state_dict"]
    rows = curve(killed)
    assert rows == curve(whole)
    for column in ("lr-SGD", "train/loss", "train/momentum"):
        assert [int(row["step"]) for row in rows if row[column]] == list(range(20))
    assert float([row["train/momentum"] for row in rows if row["train/momentum"]][-1]) == 1.0
