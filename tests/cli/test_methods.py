"""Every method trains in every domain through the real command, by one more ``--config``."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
import torch

CONFIGS = Path(__file__).parents[2] / "configs"
METHODS = sorted(path.stem for path in (CONFIGS / "methods").glob("*.yaml"))
DIGITS = ["digits_image_hard", "digits_table_hard", "digits_graph"]
FOR = {
    "scarf": DIGITS[1:2],
    **dict.fromkeys(("infograph", "joao", "joao_v2"), DIGITS[2:]),
    **dict.fromkeys(("imix_byol", "imix_moco", "imix_npair"), DIGITS[:2]),
}
"""Methods that are not of every domain."""
MORE = {"clsa": ["--data.views+=Identity"]}
"""What methods want of the data that the digits' configurations don't have."""
PAIRS = [(name, domain) for name, domain in product(METHODS, DIGITS) if domain in FOR.get(name, DIGITS)]
QUICK = {
    ("byol", "digits_image_hard"),
    ("dino", "digits_table_hard"),
    ("imix_moco", "digits_table_hard"),
    ("swav", "digits_graph"),
    ("wpc", "digits_graph"),
}


def overlays(*names):
    return [arg for name in names for arg in ("--config", CONFIGS / f"{name}.yaml")]


@pytest.mark.parametrize(
    ("name", "domain"), [pytest.param(*pair, marks=[] if pair in QUICK else pytest.mark.slow) for pair in PAIRS]
)
def test_every_domain(command, tmp_path, name, domain):
    small = [f"scale/methods/{name}"] if (CONFIGS / f"scale/methods/{name}.yaml").exists() else []
    quiet = ["--trainer.enable_progress_bar=false", "--trainer.enable_model_summary=false", "--trainer.accelerator=cpu"]
    outcome = command(
        "fit",
        *overlays(domain, f"methods/{name}", *small, "scale/smoke"),
        *quiet,
        *MORE.get(name, []),
        "--data.batch_size=16",
    )
    assert outcome.code == 0, outcome.err
    (run,) = (tmp_path / "runs").glob("*/seed0")
    metrics = json.loads((run / "result.json").read_text())["metrics"]
    assert "online_probe/top1" in metrics
    stored = torch.load(run / "checkpoints/last.ckpt", weights_only=True)
    assert stored["global_step"] == 2
    assert all(tensor.isfinite().all() for tensor in stored["state_dict"].values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["infomin", "clsa"])
def test_views_of_their_own(command, tmp_path, name):
    names = ["cifar10_base", f"methods/{name}", f"augmentations/cifar10_{name}", "scale/methods/moco_v2", "scale/smoke"]
    outcome = command("fit", *overlays(*names, "scale/image/smoke"), "--trainer.accelerator=cpu")
    assert outcome.code == 0, outcome.err
    (run,) = (tmp_path / "runs").glob("*/seed0")
    assert json.loads((run / "result.json").read_text())["metrics"]["online_probe/top1"] >= 0


PROGRAM = """
import sys
import torch
from lightning.pytorch import Callback
from lightning_renyicl.cli import run

class Record(Callback):
    def on_train_end(self, trainer, pl_module):
        choice, = [part for part in trainer.datamodule.views[1].modules() if hasattr(part, "probabilities")]
        weights = {name: tensor for name, tensor in pl_module.state_dict().items() if "running" not in name}
        torch.save({**weights, "probabilities": choice.probabilities}, f"{trainer.global_rank}.pt")

run(sys.argv[1:], callbacks=[Record()])
"""


@pytest.mark.slow
def test_two_processes_choose_augmentations_alike(process, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    more = ["--trainer.accelerator=cpu", "--data.batch_size=16", "--trainer.devices=2", "--trainer.max_epochs=2"]
    outcome = process(tmp_path, "program.py", "fit", *overlays("digits_graph", "methods/joao_v2", "scale/smoke"), *more)
    assert outcome.code == 0, outcome.err
    first, second = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert (first["probabilities"] != 0.2).all()


def test_infograph_needs_nodes(command):
    outcome = command("fit", *overlays("digits_table_hard", "methods/infograph", "scale/smoke"))
    assert outcome.code == 2
    (line,) = outcome.err.strip().splitlines()
    assert "InfoGraph needs embeddings of what samples are made of, which MLP lacks" in line


def test_a_method_of_rows_is_refused_for_images(command):
    outcome = command("fit", *overlays("digits_image_hard", "methods/scarf", "scale/smoke"))
    assert outcome.code == 2
    (line,) = outcome.err.strip().splitlines()
    assert "FeatureCorruption of view 2 is for rows, and the data are images" in line


def test_a_method_that_mixes_samples_is_refused_for_graphs(command):
    outcome = command("fit", *overlays("digits_graph", "methods/imix_npair", "scale/smoke"))
    assert outcome.code == 2
    (line,) = outcome.err.strip().splitlines()
    assert "IMix mixes samples by weighted sums, which images and rows have and graphs don't" in line
