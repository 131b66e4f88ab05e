"""A run that was killed is continued by the same command."""

from __future__ import annotations

import json
import os
import shutil
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


def test_a_result_that_was_deleted_comes_back(command, tmp_path, fake):
    """A run continued after its last epoch reports the scores that its checkpoint brought."""
    assert command("fit", "--config", fake).code == 0
    result = tmp_path / "runs/fake/seed0/result.json"
    before = json.loads(result.read_text())
    result.unlink()
    assert command("fit", "--config", fake).code == 0
    after = json.loads(result.read_text())
    assert before["metrics"]
    assert (after["metrics"], after["epoch"]) == (before["metrics"], 4)


def test_a_users_own_checkpoints_stand_beside_the_last(command, tmp_path, fake):
    own = "class_path: lightning.pytorch.callbacks.ModelCheckpoint"
    (tmp_path / "own.yaml").write_text(f"trainer:\n  callbacks:\n    - {own}\n      init_args: {{save_top_k: -1}}\n")
    assert command("fit", "--config", fake, "--config", "own.yaml").code == 0
    names = {path.name for path in (tmp_path / "runs/fake+own/seed0").rglob("*.ckpt")}
    assert "last.ckpt" in names
    assert len(names) == 5


def test_part_of_the_batches_is_a_whole_epoch(command, tmp_path, fake):
    assert command("fit", "--config", fake, "--trainer.limit_train_batches", "3").code == 0
    checkpoint = torch.load(tmp_path / "runs/fake/seed0/checkpoints/last.ckpt", weights_only=True)
    assert checkpoint["global_step"] == 12
    assert checkpoint["FakeTable"]["position"] == 0


def test_a_run_out_of_time_is_not_finished(command, tmp_path, fake):
    args = ["fit", "--config", fake, "--trainer.max_epochs", "100000", "--trainer.max_time", "00:00:00:01"]
    assert command(*args).code == 0
    assert not (tmp_path / "runs/fake/seed0/result.json").exists()


def test_fresh_is_not_for_a_job_that_its_cluster_restarts(command, tmp_path, fake, monkeypatch, caplog):
    caplog.set_level("INFO")
    assert command("fit", "--config", fake).code == 0
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    assert command("fit", "--config", fake, "--fresh", "true").code == 0
    assert any("is finished" in message for message in caplog.messages)


def test_what_a_cluster_had_saved_is_gone_on_from(command, tmp_path, fake, monkeypatch, caplog):
    """If newer than the last epoch's; by a restarted job, even if it was submitted with another checkpoint."""
    caplog.set_level("INFO")
    assert command("fit", "--config", fake).code == 0
    run = tmp_path / "runs/fake/seed0"
    last = run / "checkpoints/last.ckpt"
    shutil.copy(last, run / "hpc_ckpt_1.ckpt")
    shutil.copy(last, tmp_path / "other.ckpt")

    def source(*args):
        (run / "result.json").unlink()
        caplog.clear()
        assert command("fit", "--config", fake, *args).code == 0
        (found,) = {message for message in caplog.messages if "continuing" in message} or {None}
        return found

    assert source() == "continuing runs/fake/seed0 from hpc_ckpt_1.ckpt"
    assert source("--ckpt_path", "other.ckpt") == "continuing runs/fake/seed0 from hpc_ckpt_1.ckpt"
    assert source("--ckpt_path", last) is None  # the user goes back
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    assert source("--ckpt_path", last) == "continuing runs/fake/seed0 from hpc_ckpt_1.ckpt"
    os.utime(run / "hpc_ckpt_1.ckpt", (0, 0))
    assert source() == "continuing runs/fake/seed0 from last.ckpt"


@pytest.mark.parametrize("rank", [0, 1])
def test_fresh_ends_on_no_process(command, tmp_path, fake, monkeypatch, rank):
    """Whatever the others have deleted already, a process that is asked for a new run doesn't end as finished."""
    assert command("fit", "--config", fake).code == 0
    started = []
    monkeypatch.setattr("lightning.pytorch.utilities.rank_zero_only.rank", rank)
    monkeypatch.setattr("lightning_renyicl.cli.RenyiCLI.fit", lambda self, **_: started.append("fit"), raising=False)
    assert command("fit", "--config", fake, "--fresh", "true").code == 0
    assert started == ["fit"]
