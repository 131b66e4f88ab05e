"""A checkpoint's encoder on the data of the transfer tasks, by the real command."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from datamodules.images.transfer.facts import FACTS
from tests.datamodules.images.transfer import layouts

QUIET = ["--trainer.enable_progress_bar", "false", "--trainer.enable_model_summary", "false"]
SMALL = [*QUIET, "--data.batch_size", "16", "--trainer.accelerator", "cpu"]


@pytest.mark.parametrize(
    ("name", "scores"),
    [
        ("mit67", {"logistic_regression_path/top1", "logistic_regression_path/macro_top1"}),
        ("cub200", {"few_shot/2_way_1_shot/top1", "few_shot/2_way_1_shot/interval"}),
    ],
)
def test_an_overlay_evaluates_a_checkpoint(command, configs, tmp_path, monkeypatch, name, scores):
    train = [arg for each in ("digits_image_base", "scale/smoke") for arg in ("--config", configs / f"{each}.yaml")]
    assert command("fit", *train, *SMALL).code == 0
    files, _ = getattr(layouts, name)()
    for path, content in files.items():
        (tmp_path / "data" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / path).write_bytes(content)
    few_shot = FACTS[name].train == 0
    sizes = {"train": 0, "val": 0, "test": 4} if few_shot else {"train": 6, "val": 2, "test": 4}
    monkeypatch.setitem(FACTS, name, replace(FACTS[name], classes=2, **sizes))
    checkpoint = tmp_path / "runs/digits_image_base+smoke/seed0/checkpoints/last.ckpt"
    flags = ["--data.size", "16", "--data.num_workers", "0"]
    if few_shot:
        flags += ["--trainer.callbacks.ways", 2, "--trainer.callbacks.shots", "[1]"]
        flags += ["--trainer.callbacks.queries", 1, "--trainer.callbacks.episodes", 20]
    overlay = configs / f"transfer/{name}.yaml"
    outcome = command("test", "--ckpt_path", checkpoint, "--config", overlay, *flags)
    assert outcome.code == 0, outcome.err
    (result,) = tmp_path.glob("runs/**/test*/result.json")
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
