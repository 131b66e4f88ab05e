"""Where runs go, and what the same command does again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import yaml

from lightning_renyicl import cli

SHORT = ["--trainer.max_epochs", "1", "--trainer.limit_train_batches", "1"]


def files(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith(("events", "hparams")))


def test_default_folder_and_its_files(command, tmp_path, fake, configs):
    smoke = configs / "scale/smoke.yaml"
    assert command("fit", "--config", fake, "--config", smoke, "--seed_everything", "5").code == 0
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("*/*/*")] == ["runs/fake+smoke/seed5"]
    run = tmp_path / "runs/fake+smoke/seed5"
    assert files(run) == ["checkpoints", "config.yaml", "metrics.csv", "result.json"]
    assert len(list(run.glob("events.out.tfevents*"))) == 1
    assert files(run / "checkpoints") == ["last.ckpt"]
    result = json.loads((run / "result.json").read_text())
    assert result["seed"] == 5
    assert result["config"] == yaml.safe_load((run / "config.yaml").read_text())
    assert set(result["metrics"]) == {"online_probe/top1", "online_probe/macro_top1"}


def test_explicit_folder(command, tmp_path, fake):
    assert command("fit", "--config", fake, *SHORT, "--trainer.default_root_dir", "here/there").code == 0
    assert files(tmp_path) == ["here"]
    assert files(tmp_path / "here/there") == ["checkpoints", "config.yaml", "metrics.csv", "result.json"]


def test_a_finished_run_is_left_alone(command, tmp_path, fake, caplog):
    caplog.set_level("INFO")
    args = ["fit", "--config", fake, *SHORT]
    command(*args)
    run = tmp_path / "runs/fake/seed0"
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    caplog.clear()
    outcome = command(*args)
    assert (outcome.code, outcome.err) == (0, "")
    (line,) = [message for message in caplog.messages if "finished" in message]
    assert "runs/fake/seed0 is finished (online_probe/macro_top1 0." in line
    assert "--fresh true starts over" in line
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before
    assert files(tmp_path / "runs/fake") == ["seed0"]
    again = cli.run([*map(str, args)])  # in Python nothing ends
    assert again.folder.path == Path("runs/fake/seed0")
    assert again.folder.result == json.loads((run / "result.json").read_text())


def test_fresh_starts_over(command, tmp_path, fake):
    args = ["fit", "--config", fake, *SHORT]
    command(*args)
    run = tmp_path / "runs/fake/seed0"
    weights = torch.load(run / "checkpoints/last.ckpt", weights_only=True)["state_dict"]
    (run / "mark").touch()
    (run / "checkpoints/mark").touch()
    assert command(*args, "--fresh", "true").code == 0
    assert (run / "mark").exists()  # what a run did not write stays
    assert not (run / "checkpoints/mark").exists()
    assert not yaml.safe_load((run / "config.yaml").read_text())["fresh"]
    again = torch.load(run / "checkpoints/last.ckpt", weights_only=True)["state_dict"]
    torch.testing.assert_close(again, weights, rtol=0, atol=0)
    assert command(*args).code == 0  # and --fresh is no part of the configuration
    assert files(tmp_path / "runs/fake") == ["seed0"]


def test_fresh_deletes_no_folder_that_is_no_run(command, tmp_path, fake):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").touch()
    args = ["fit", "--config", fake, *SHORT, "--trainer.default_root_dir", "mine", "--fresh", "true"]
    assert command(*args).code == 0
    assert (tmp_path / "mine/thesis.tex").exists()


def test_another_configuration_goes_beside(command, tmp_path, fake):
    command("fit", "--config", fake, *SHORT)
    first = (tmp_path / "runs/fake/seed0/result.json").read_text()
    for alpha in (0.1, 0.2, 0.1):  # the third is the first again
        assert command("fit", "--config", fake, *SHORT, "--model.objective.alpha", alpha).code == 0
    assert files(tmp_path / "runs/fake") == ["seed0", "seed0-2", "seed0-3"]
    assert (tmp_path / "runs/fake/seed0/result.json").read_text() == first
    stored = yaml.safe_load((tmp_path / "runs/fake/seed0-3/config.yaml").read_text())
    assert stored["model"]["init_args"]["objective"]["init_args"]["alpha"] == 0.2


def test_the_saved_configuration_reruns(command, tmp_path, fake):
    command("fit", "--config", fake, *SHORT)
    run = tmp_path / "runs/fake/seed0"
    assert command("fit", "--config", run / "config.yaml", "--trainer.default_root_dir", "again").code == 0
    ours, theirs = (
        torch.load(folder / "checkpoints/last.ckpt", weights_only=True) for folder in (run, tmp_path / "again")
    )
    torch.testing.assert_close(theirs["state_dict"], ours["state_dict"], rtol=0, atol=0)
    assert theirs["hyper_parameters"] == ours["hyper_parameters"]


def test_loggers_of_the_users_choice(command, tmp_path, fake):
    args = ["fit", "--config", fake, *SHORT]
    assert command(*args, "--trainer.logger", "false", "--trainer.default_root_dir", "none").code == 0
    assert files(tmp_path / "none") == ["checkpoints", "config.yaml", "result.json"]
    own = ["--trainer.logger", "CSVLogger", "--trainer.logger.save_dir", "own"]
    assert command(*args, *own, "--trainer.default_root_dir", "run").code == 0
    assert list((tmp_path / "own").rglob("metrics.csv"))
    assert not (tmp_path / "run/metrics.csv").exists()


@pytest.mark.parametrize("text", ["{", '{"score": 1}'])
def test_a_damaged_result_is_named(command, tmp_path, fake, text):
    run = tmp_path / "run"
    run.mkdir()
    (run / "result.json").write_text(text)
    outcome = command("fit", "--config", fake, "--trainer.default_root_dir", run)
    assert outcome.code == 2
    assert f"{run}/result.json is not a result file" in outcome.err


@pytest.mark.parametrize("logged", [True, False])
def test_a_dry_run(command, tmp_path, fake, logged):
    args = ["--trainer.fast_dev_run", "true", "--trainer.logger", str(logged).lower()]
    assert command("fit", "--config", fake, *args).code == 0
    assert not list(tmp_path.rglob("result.json"))


def test_a_fixed_folder_takes_one_configuration(command, tmp_path, fake):
    args = ["fit", "--config", fake, *SHORT, "--trainer.default_root_dir", "here", "--fixed_folder", "true"]
    assert command(*args).code == 0
    assert not yaml.safe_load((tmp_path / "here/config.yaml").read_text())["fixed_folder"]
    outcome = command(*args, "--model.objective.alpha", "0.2")
    assert outcome.code == 2
    assert "here holds another configuration (model.init_args.objective.init_args.alpha)" in outcome.err
    assert "move or delete it" in outcome.err
    assert files(tmp_path) == ["here"]


def test_an_evaluation_in_a_fixed_folder_takes_the_place_of_the_one_before(command, tmp_path, fake):
    command("fit", "--config", fake, *SHORT, "--trainer.default_root_dir", "here")
    evaluation = ["test", "--ckpt_path", "here/checkpoints/last.ckpt", "--fixed_folder", "true"]
    for samples in (80, 60):
        assert command(*evaluation, "--data.num_samples", samples).code == 0
        result = json.loads((tmp_path / "here/test/result.json").read_text())
        assert result["config"]["data"]["init_args"]["num_samples"] == samples
    assert not (tmp_path / "here/test-2").exists()
