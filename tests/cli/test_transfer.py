"""A checkpoint's encoder on the data of the transfer tasks, by the real command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from datamodules.images.transfer.facts import FACTS
from lightning_renyicl import cli
from tests.datamodules.images.transfer import layouts

QUIET = ["--trainer.enable_progress_bar", "false", "--trainer.enable_model_summary", "false"]
SMALL = [*QUIET, "--data.batch_size", "16", "--trainer.accelerator", "cpu"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory, configs):
    """A checkpoint of an encoder of images."""
    run = tmp_path_factory.mktemp("encoder")
    names = ("digits_image_base", "scale/smoke")
    train = [arg for name in names for arg in ("--config", str(configs / f"{name}.yaml"))]
    cli.run(["fit", *train, *SMALL, "--trainer.default_root_dir", str(run)])
    return run / "checkpoints/last.ckpt"


@pytest.mark.parametrize(
    ("name", "scores", "flags"),
    [
        ("mit67", {"logistic_regression_path/top1", "logistic_regression_path/macro_top1"}, []),
        ("voc2007", {"one_against_rest/map11"}, ["--trainer.callbacks.tolerance", 0.01]),
        (
            "cub200",
            {"few_shot/2_way_1_shot/top1", "few_shot/2_way_1_shot/interval"},
            [
                *("--trainer.callbacks.ways", 2, "--trainer.callbacks.shots", "[1]"),
                *("--trainer.callbacks.queries", 1, "--trainer.callbacks.episodes", 20),
            ],
        ),
    ],
)
def test_an_overlay_evaluates_a_checkpoint(command, configs, encoder, tmp_path, monkeypatch, name, scores, flags):
    files, expected = getattr(layouts, name)()
    for path, content in files.items():
        (tmp_path / "data" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / path).write_bytes(content)
    own = {split: len(part) for split, part in expected.items()}
    sizes = {"train": 0, "val": 0, **own}
    if name == "mit67":
        sizes |= {"train": own["train"] - 2, "val": 2}
    classes = 20 if name == "voc2007" else 2
    monkeypatch.setitem(FACTS, name, replace(FACTS[name], classes=classes, **sizes))
    small = ["--data.size", 16, "--data.num_workers", 0, "--trainer.default_root_dir", "scored", *flags]
    outcome = command("test", "--ckpt_path", encoder, "--config", configs / f"transfer/{name}.yaml", *small)
    assert outcome.code == 0, outcome.err
    (result,) = Path("scored").rglob("result.json")
    found = json.loads(result.read_text())
    assert {key for key in found["metrics"] if not key.startswith("baseline/")} == scores
    assert found["data"]["name"] == name
    assert found["data"]["samples"] == sizes


def test_without_the_data_a_line_says_what_to_put_where(command, configs, tmp_path):
    overlay = ["--config", configs / "digits_image_base.yaml", "--config", configs / "transfer/plant_disease.yaml"]
    outcome = command("fit", *overlay, *SMALL)
    assert outcome.code == 2
    (line,) = outcome.err.strip().splitlines()
    assert "put the folders of PlantVillage's 38 classes" in line
    assert f"into {tmp_path}/data/plant_disease" in line
