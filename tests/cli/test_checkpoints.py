"""A checkpoint is enough to evaluate, to predict and to load."""

from __future__ import annotations

import json
import os
from importlib.metadata import entry_points

import pandas as pd
import pytest
import torch

from datamodules import FakeTable
from lightning_renyicl import cli
from lightning_renyicl.modules import TabularModule

# what a cluster's scheduler sets for one task
SLURM = {
    "SLURM_JOB_ID": "1",
    "SLURM_JOB_NAME": "train",
    "SLURM_NTASKS": "1",
    "SLURM_PROCID": "0",
    "SLURM_LOCALID": "0",
    "SLURM_NODEID": "0",
    "SLURM_NNODES": "1",
    "SLURM_JOB_NODELIST": "localhost",
}


def scores(folder):
    return json.loads((folder / "result.json").read_text())["metrics"]


@pytest.mark.slow
def test_the_command_as_a_task_of_a_scheduler(tmp_path, process, fake):
    outcome = process(tmp_path, "-m", "lightning_renyicl", "fit", "--config", fake, **SLURM)
    assert outcome.code == 0, outcome.err
    assert "Traceback" not in outcome.err
    assert scores(tmp_path / "runs/fake/seed0")


@pytest.mark.parametrize("name", ["lightning", "renyicl"])
def test_scripts_are_installed(name):
    (script,) = [e for e in entry_points(group="console_scripts", name=name) if e.dist.name == "lightning-renyicl"]
    assert script.value == "lightning_renyicl.cli:main"


def test_validate_repeats_the_fits_score(command, trained, checkpoint):
    assert command("validate", "--ckpt_path", checkpoint).code == 0
    assert scores(trained / "validate") == pytest.approx(scores(trained))


def test_test_reports_another_split(command, trained, checkpoint):
    assert command("test", f"--ckpt_path={checkpoint}").code == 0
    assert set(scores(trained / "test")) == {"online_probe/top1", "online_probe/macro_top1"}


def test_a_run_beneath_the_working_folder_is_named_from_there(command, trained, checkpoint, monkeypatch):
    monkeypatch.chdir(trained.parent)
    outcome = command("predict", "--ckpt_path", checkpoint)
    assert f"features: {trained.name}/predict" in outcome.out


def test_predict_writes_the_representation(command, trained, checkpoint):
    outcome = command("predict", "--ckpt_path", checkpoint)
    assert outcome.code == 0
    assert "40 embeddings of 8 features" in outcome.out
    frame = pd.read_parquet(trained / "predict/embeddings.parquet")
    module, data = TabularModule.load_from_checkpoint(checkpoint), FakeTable.load_from_checkpoint(checkpoint)
    rows = data.samples.splits["test"]
    assert frame["row"].tolist() == rows.tolist()
    with torch.no_grad():
        expected = module.eval()(data.samples.inputs[rows])
    torch.testing.assert_close(torch.from_numpy(frame.filter(like="feature_").to_numpy(copy=True)), expected)


def test_evaluation_leaves_the_run(command, trained, checkpoint):
    before = {path: path.stat().st_mtime_ns for path in trained.iterdir() if path.is_file()}
    for kind in ("validate", "test", "predict"):
        assert command(kind, "--ckpt_path", checkpoint).code == 0
    assert {path: path.stat().st_mtime_ns for path in trained.iterdir() if path.is_file()} == before


def test_holds_plain_types_alone(checkpoint):
    stored = torch.load(checkpoint, weights_only=True)
    assert stored["hyper_parameters"]["in_features"] == 6
    assert stored["hyper_parameters"]["objective"]["init_args"]["temperature"] == 0.3
    assert stored["datamodule_hyper_parameters"]["batch_size"] == 16


def test_loads_without_arguments(checkpoint):
    module = TabularModule.load_from_checkpoint(checkpoint)
    stored = torch.load(checkpoint, weights_only=True)["state_dict"]
    torch.testing.assert_close(module.state_dict(), stored, rtol=0, atol=0)
    assert type(module.objective).__name__ == "RMLCPC"
    assert (module.objective.alpha, module.objective.gamma, module.objective.temperature) == (0.01, 1.5, 0.3)


def test_another_evaluation_goes_beside(command, tmp_path, checkpoint, caplog):
    caplog.set_level("INFO")
    for samples, folder in (("60", "predict"), ("40", "predict-2"), ("60", "predict")):
        arguments = ("--data.num_samples", samples, "--trainer.default_root_dir", "mine")
        assert command("predict", "--ckpt_path", checkpoint, *arguments).code == 0
        assert len(pd.read_parquet(tmp_path / "mine" / folder / "embeddings.parquet")) == int(samples) / 2
    assert sum("mine/predict holds another configuration" in message for message in caplog.messages) == 1
    assert not (tmp_path / "mine/predict-3").exists()


@pytest.mark.parametrize("kind", ["validate", "test", "predict"])
def test_an_evaluation_without_a_batch(command, checkpoint, kind):
    arguments = (f"--trainer.limit_{kind.removesuffix('idate')}_batches", "0", "--trainer.default_root_dir", "mine")
    outcome = command(kind, "--ckpt_path", checkpoint, *arguments)
    assert outcome.code == 2
    assert f"error: {kind} had no batch: no sample is in its split" in outcome.err


@pytest.mark.parametrize("limit", ["--trainer.max_epochs=4", "--trainer.max_steps=20"])
def test_a_training_that_has_nothing_left_to_do(command, fake, checkpoint, tmp_path, limit):
    arguments = ("--ckpt_path", checkpoint, "--trainer.max_epochs", 9, "--trainer.default_root_dir", "more")
    outcome = command("fit", "--config", fake, *arguments, limit)
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1] == (
        f"error: {checkpoint} has been trained to {limit[2:].replace('=', ' ')} already: give a larger one to train on"
    )
    assert [path.name for path in (tmp_path / "more").iterdir()] == ["error.log"]


def test_a_single_callback_on_the_command_line(command, tmp_path, checkpoint):
    arguments = ("--trainer.callbacks", "OnlineProbe", "--trainer.default_root_dir", "mine")
    assert command("test", "--ckpt_path", checkpoint, *arguments).code == 0
    assert "online_probe/top1" in scores(tmp_path / "mine/test")


class TestTheUserWins:
    def test_a_flag(self, command, trained, checkpoint, caplog):
        caplog.set_level("INFO")
        arguments = ("--data.num_samples", "60", "--trainer.default_root_dir", "mine")
        outcome = command("predict", "--ckpt_path", checkpoint, *arguments)
        assert outcome.code == 0
        assert "30 embeddings" in outcome.out
        assert [message for message in caplog.messages if "the checkpoint has" in message] == [
            "data.init_args.num_samples is 60; the checkpoint has 80"
        ]

    def test_a_configuration(self, command, tmp_path, checkpoint, caplog):
        caplog.set_level("INFO")
        (tmp_path / "other.yaml").write_text("data:\n  init_args:\n    num_samples: 40\n    batch_size: 8\n")
        arguments = ("--ckpt_path", checkpoint, "--trainer.default_root_dir", "mine")
        outcome = command("predict", "--config", "other.yaml", *arguments)
        assert "20 embeddings" in outcome.out
        assert {message for message in caplog.messages if "the checkpoint has" in message} == {
            "data.init_args.num_samples is 40; the checkpoint has 80",
            "data.init_args.batch_size is 8; the checkpoint has 16",
        }

    def test_nothing_is_said_where_nothing_differs(self, command, checkpoint, fake, caplog):
        caplog.set_level("INFO")
        assert command("validate", "--config", fake, "--ckpt_path", checkpoint).code == 0
        assert [message for message in caplog.messages if "the checkpoint has" in message] == []

    def test_another_folder(self, command, tmp_path, checkpoint):
        assert command("validate", "--ckpt_path", checkpoint, "--trainer.default_root_dir", "mine").code == 0
        assert scores(tmp_path / "mine/validate")


def test_a_checkpoint_without_its_run(command, tmp_path, checkpoint):
    moved = tmp_path / "moved.ckpt"
    moved.write_bytes(checkpoint.read_bytes())
    assert command("predict", "--ckpt_path", "moved.ckpt").code == 0
    assert list(tmp_path.rglob("embeddings.parquet"))


def test_a_longer_training_from_a_checkpoint(command, tmp_path, fake, checkpoint):
    args = ["--ckpt_path", checkpoint, "--trainer.max_epochs", "5", "--trainer.default_root_dir", "longer"]
    assert command("fit", "--config", fake, *args).code == 0
    assert torch.load(tmp_path / "longer/checkpoints/last.ckpt", weights_only=True)["global_step"] == 25
    assert os.path.exists(tmp_path / "longer/result.json")


def test_probe_taken_away_and_added(command, tmp_path, fake, checkpoint):
    args = ["fit", "--config", fake, "--trainer.max_epochs", "5"]
    assert command(*args, "--ckpt_path", checkpoint, "--trainer.callbacks", "null").code == 0
    (without,) = tmp_path.rglob("last.ckpt")
    assert "OnlineProbe" not in torch.load(without, weights_only=True)["callbacks"]
    again = ["--trainer.max_epochs", "6", "--ckpt_path", without, "--trainer.default_root_dir", "again"]
    assert command("fit", "--config", fake, *again).code == 0
    assert "online_probe/top1" in scores(tmp_path / "again")


def test_double_precision(command, fake, tmp_path):
    """What is loaded again are the weights to their last bit, and they are evaluated as the training's end was."""
    double = ["--trainer.precision", "64-true"]
    assert command("fit", "--config", fake, *double, "--trainer.default_root_dir", "run").code == 0
    checkpoint = tmp_path / "run/checkpoints/last.ckpt"
    weights = torch.load(checkpoint)["state_dict"]
    module = TabularModule.load_from_checkpoint(checkpoint)
    torch.testing.assert_close(module.state_dict(), weights, rtol=0, atol=0)
    assert command("validate", "--ckpt_path", checkpoint, *double).code == 0
    assert scores(tmp_path / "run/validate") == scores(tmp_path / "run")
    predicted = cli.run(["predict", "--ckpt_path", str(checkpoint), *double])
    torch.testing.assert_close(predicted.model.state_dict(), weights, rtol=0, atol=0)


def test_a_checkpoint_says_where_it_is_from(trained, checkpoint):
    run = torch.load(checkpoint, weights_only=True)["run"]
    result = json.loads((trained / "result.json").read_text())
    assert {key: run[key] for key in ("seed", "commit", "versions")} == {
        key: result[key] for key in ("seed", "commit", "versions")
    }
