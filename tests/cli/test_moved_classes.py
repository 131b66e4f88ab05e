"""What an earlier version wrote is read although classes have moved since."""

from __future__ import annotations

import json

import pytest
import torch
import yaml

from lightning_renyicl.configuration import MOVED, read_yaml, with_current_names

NOW = "lightning_renyicl.evaluation.OnlineProbe"
THEN = "lightning_renyicl.callbacks.OnlineProbe"


@pytest.fixture
def old_run(command, tmp_path, fake, monkeypatch):
    """A run whose configuration names the probe, and whose checkpoint names the objective, as they once were named."""
    assert command("fit", "--config", fake).code == 0
    run = tmp_path / "runs/fake/seed0"
    config = (run / "config.yaml").read_text()
    assert NOW in config
    (run / "config.yaml").write_text(config.replace(NOW, THEN))
    monkeypatch.setitem(MOVED, "somewhere.else.RMLCPC", "lightning_renyicl.objectives.RMLCPC")
    checkpoint = torch.load(run / "checkpoints/last.ckpt", weights_only=True)
    checkpoint["hyper_parameters"]["objective"]["class_path"] = "somewhere.else.RMLCPC"
    torch.save(checkpoint, run / "checkpoints/last.ckpt")
    return run


def test_is_known_for_the_same(command, old_run, fake, caplog):
    caplog.set_level("INFO")
    assert command("fit", "--config", fake).code == 0
    assert any("runs/fake/seed0 is finished" in message for message in caplog.messages)
    assert [path.name for path in old_run.parent.iterdir()] == ["seed0"]


def test_is_evaluated(command, old_run, caplog):
    caplog.set_level("INFO")
    assert command("validate", "--ckpt_path", old_run / "checkpoints/last.ckpt").code == 0
    before, after = (json.loads((old_run / name).read_text()) for name in ("result.json", "validate/result.json"))
    assert after["metrics"] == pytest.approx(before["metrics"])
    assert not [message for message in caplog.messages if "the checkpoint has" in message]


def test_is_run_again(command, old_run, tmp_path):
    arguments = ("--config", old_run / "config.yaml", "--trainer.default_root_dir", "again")
    assert command("fit", *arguments).code == 0
    again = yaml.safe_load((tmp_path / "again/config.yaml").read_text())
    assert again["trainer"]["callbacks"][0]["class_path"] == NOW
    weights = [
        torch.load(run / "checkpoints/last.ckpt", weights_only=True)["state_dict"]
        for run in (old_run, tmp_path / "again")
    ]
    torch.testing.assert_close(weights[1], weights[0], rtol=0, atol=0)


@pytest.mark.parametrize("path", MOVED.values())
def test_is_where_the_list_says(path):
    module, _, name = path.rpartition(".")
    assert hasattr(__import__(module, fromlist=[name]), name)


def test_arguments_by_their_present_names():
    then = {"data": {"init_args": {"val_share": 0.1, "views": [{"init_args": {"kept": 0.2}}]}}}
    now = {"data": {"init_args": {"val_fraction": 0.1, "views": [{"init_args": {"subgraph_ratio": 0.2}}]}}}
    assert with_current_names(then) == now


def test_names_within_lists_and_dictionaries(tmp_path):
    tree = {"a": [{"class_path": THEN, "init_args": {"x": 1}}], "b": "words", "c": None, "d": 0.5}
    expected = {**tree, "a": [{"class_path": NOW, "init_args": {"x": 1}}]}
    assert with_current_names(tree) == expected
    (tmp_path / "x.yaml").write_text(yaml.safe_dump(tree))
    assert read_yaml(tmp_path / "x.yaml") == expected
