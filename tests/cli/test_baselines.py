"""Scores beside those of doing nothing, which the command adds by itself."""

from __future__ import annotations

import json

import pytest
import torch

from datamodules import (
    CIFAR10,
    CovType,
    DigitsTable,
    FakeTable,
    Graphs,
    HuggingFaceImages,
    ImageFolder,
    StepwisePairs,
    Table,
    TUDataset,
)
from datamodules.augmentations import Identity
from datamodules.pairs import GaussianPairs
from lightning_renyicl.cli.defaults import asks_for_baselines
from lightning_renyicl.evaluation import KNN, RBFSVM, Baselines, FrozenFeatures, OnlineProbe, RawColumns
from tests.cli.test_table_runs import OWN, SMALL, frame

KEYS = {f"baseline/{name}/{metric}" for name in ("trained", "untrained", "raw") for metric in ("top1", "macro_top1")}
PROBE = {"online_probe/top1", "online_probe/macro_top1"}
FEATURES = """
trainer:
  callbacks:
    - class_path: CLASS
      init_args:
        protocols:
          - class_path: PseudoInverse
"""
PROGRAM = """
import sys
import torch
from lightning_renyicl.cli import run

torch.set_num_threads(1)
command = run(sys.argv[1:])
(callback,) = [each for each in command.trainer.callbacks if type(each).__name__ == "Baselines"]
torch.save(callback.final_scores, f"{command.trainer.global_rank}.pt")
"""


def metrics(run):
    return json.loads((run / "result.json").read_text())["metrics"]


def printed(caplog):
    return [line for line in caplog.messages if line.startswith("accuracy (%)")]


def test_own_data_in_fit_and_test(command, configs, tmp_path, caplog):
    frame(200, seed=0).to_csv(tmp_path / "mine.csv", index=False)
    outcome = command("fit", "--config", configs / "own_table.yaml", *OWN, *SMALL)
    assert outcome.code == 0, outcome.err
    run = tmp_path / "runs" / "own_table" / "seed0"
    assert metrics(run).keys() == KEYS | PROBE
    share = {name: f"{100 * metrics(run)[f'baseline/{name}/top1']:.1f}" for name in ("trained", "untrained", "raw")}
    assert printed(caplog) == [
        "accuracy (%) by logistic_regression fitted to 160 training samples, of 20 validation samples: "
        f"trained {share['trained']}, untrained {share['untrained']}, raw input {share['raw']}"
    ]
    caplog.clear()
    outcome = command("test", "--ckpt_path", run / "checkpoints" / "last.ckpt")
    assert outcome.code == 0, outcome.err
    assert metrics(run / "test").keys() == KEYS | PROBE
    assert "baseline/raw/top1" in outcome.out
    assert "of 20 test samples" in printed(caplog)[0]


@pytest.mark.parametrize(
    "flags", [["--trainer.callbacks", "null", "--data.target", "null"], ["--trainer.callbacks", "null"]]
)
def test_not_where_nothing_is_scored(command, configs, tmp_path, caplog, flags):
    frame(200, seed=0).to_csv(tmp_path / "mine.csv", index=False)
    outcome = command("fit", "--config", configs / "own_table.yaml", *OWN, *SMALL, *flags)
    assert outcome.code == 0, outcome.err
    assert metrics(tmp_path / "runs" / "own_table" / "seed0") == {}
    assert printed(caplog) == []


def test_a_callback_that_is_named_is_the_only_one(command, configs, tmp_path, caplog):
    frame(200, seed=0).to_csv(tmp_path / "mine.csv", index=False)
    own = tmp_path / "own.yaml"
    own.write_text("trainer: {callbacks: [{class_path: Baselines, init_args: {training: 50, protocol: KNN}}]}")
    outcome = command("fit", "--config", configs / "own_table.yaml", "--config", own, *OWN, *SMALL)
    assert outcome.code == 0, outcome.err
    (line,) = printed(caplog)
    assert line.startswith("accuracy (%) by knn fitted to 50 training samples, of 20 validation samples: ")


@pytest.mark.parametrize(("name", "has"), [("FrozenFeatures", True), ("RawColumns", False)])
def test_other_data_is_compared_in_test_alone(command, fake, checkpoint, tmp_path, trained, name, has):
    assert metrics(trained).keys() == PROBE
    (tmp_path / "features.yaml").write_text(FEATURES.replace("CLASS", name))
    outcome = command("test", "--ckpt_path", checkpoint, "--config", "features.yaml", "--trainer.default_root_dir", "x")
    assert outcome.code == 0, outcome.err
    assert (metrics(tmp_path / "x" / "test").keys() >= KEYS) is has


@pytest.mark.parametrize(
    ("subcommand", "callbacks", "own", "asked"),
    [
        ("fit", [OnlineProbe()], True, True),
        ("fit", [RBFSVM()], True, True),
        ("fit", [FrozenFeatures([KNN()])], True, True),
        ("fit", [OnlineProbe(), FrozenFeatures([KNN()])], False, False),
        ("fit", [], True, False),
        ("test", [OnlineProbe()], True, True),
        ("test", [OnlineProbe()], False, False),
        ("test", [FrozenFeatures([KNN()])], False, True),
        ("test", [FrozenFeatures([KNN()]), RawColumns([KNN()])], False, False),
        ("test", [FrozenFeatures([KNN()]), Baselines()], False, False),
        ("validate", [OnlineProbe()], True, False),
        ("predict", [OnlineProbe()], True, False),
    ],
)
def test_where_they_are_asked_for(subcommand, callbacks, own, asked):
    data = FakeTable([Identity(), Identity()])
    data.OWN = own
    assert asks_for_baselines(callbacks, subcommand, data) is asked
    assert not asks_for_baselines(callbacks, subcommand, StepwisePairs(GaussianPairs()))


def test_whose_data_is_a_users_own():
    assert all(kind.OWN for kind in (Table, ImageFolder, HuggingFaceImages, Graphs))
    assert not any(kind.OWN for kind in (CIFAR10, CovType, TUDataset, DigitsTable))


@pytest.mark.slow
def test_two_processes(process, configs, tmp_path):
    """Both have the same scores; those of raw input are those of one process."""
    frame(201, seed=0).to_csv(tmp_path / "mine.csv", index=False)
    (tmp_path / "program.py").write_text(PROGRAM)
    found = []
    for devices in (1, 2):
        flags = ["--trainer.devices", devices, "--trainer.default_root_dir", tmp_path / str(devices)]
        outcome = process(tmp_path, "program.py", "fit", "--config", configs / "own_table.yaml", *OWN, *SMALL, *flags)
        assert outcome.code == 0, outcome.err
        assert "no scores of baselines" not in outcome.err + outcome.out
        found.append([torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(devices)])
        assert found[-1][0].items() <= metrics(tmp_path / str(devices)).items()
    (alone,), (first, second) = found
    assert first == second
    assert first.keys() == KEYS
    for metric in ("top1", "macro_top1"):
        assert first[f"baseline/raw/{metric}"] == alone[f"baseline/raw/{metric}"]
        assert first[f"baseline/untrained/{metric}"] == pytest.approx(alone[f"baseline/untrained/{metric}"], abs=0.1)
