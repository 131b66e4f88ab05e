"""Two processes train one run."""

from __future__ import annotations

import json

import pytest
import torch

PROGRAM = """
import sys
from pathlib import Path
import torch
from lightning.pytorch import Callback
from lightning_renyicl.cli import run

torch.set_num_threads(1)

class Record(Callback):
    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if trainer.global_step == 0:
            self.views = [view.clone() for view in batch[0]]

    def on_train_end(self, trainer, pl_module):
        probe = trainer.callbacks[[type(c).__name__ for c in trainer.callbacks].index("OnlineProbe")]
        torch.save(
            {
                "views": self.views,
                "weights": pl_module.state_dict(),
                "probe": probe.state_dict()["probe"],
                "root": trainer.default_root_dir,
                "world": trainer.world_size,
                "steps": trainer.global_step,
            },
            Path.cwd() / f"{trainer.global_rank}.pt",
        )

run(sys.argv[1:], callbacks=[Record()])
"""


def test_two_processes_are_one_run(tmp_path, process, fake, curve):
    """One test, since each process that runs tests would train anew for a fixture."""
    (tmp_path / "program.py").write_text(PROGRAM)
    outcome = process(tmp_path, "program.py", "fit", "--config", fake, "--trainer.devices", 2)
    assert outcome.code == 0, outcome.err
    assert "Traceback" not in outcome.err
    ranks = [torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2)]
    check_run_folder(tmp_path, ranks, curve)
    check_weights(*ranks)
    check_samples(*ranks)
    check_augmentations(*ranks)


def check_run_folder(folder, ranks, curve):
    assert [rank["world"] for rank in ranks] == [2, 2]
    assert [rank["steps"] for rank in ranks] == [20, 20]  # a batch counts the samples of both
    assert {rank["root"] for rank in ranks} == {"runs/fake/seed0"}
    run = folder / "runs/fake/seed0"
    assert [path.name for path in run.parent.iterdir()] == ["seed0"]
    assert len([path for path in run.iterdir() if path.name.startswith("result.json")]) == 1
    assert json.loads((run / "result.json").read_text())["metrics"]["online_probe/top1"] > 0.25
    assert [int(row["step"]) for row in curve(run) if row["train/loss"]] == list(range(20))


def check_weights(first, second):
    """Both hold the same model, apart from BatchNorm's local statistics, and the same probe."""
    local = [name for name in first["weights"] if "running" in name]
    for rank in (first, second):
        rank["weights"] = {name: tensor for name, tensor in rank["weights"].items() if name not in local}
    torch.testing.assert_close(second["weights"], first["weights"], rtol=0, atol=0)
    torch.testing.assert_close(second["probe"], first["probe"], rtol=0, atol=0)


def check_samples(first, second):
    rows = [torch.cat([view[view != 0] for view in rank["views"]]) for rank in (first, second)]
    assert not torch.isin(rows[0], rows[1]).any()


def check_augmentations(first, second):
    """Each draws its own masks."""
    ours, theirs = ([view == 0 for view in rank["views"]] for rank in (first, second))
    for mask in ours + theirs:
        assert mask.shape == (8, 6)
        assert 0.2 < mask.float().mean() < 0.8
    assert not torch.equal(ours[0], ours[1])
    for mine, other in zip(ours, theirs, strict=True):
        assert not torch.equal(mine, other)


@pytest.mark.slow
def test_what_both_find_is_said_once(tmp_path, process, fake):
    args = ["fit", "--config", fake, "--trainer.devices", 2, "--data.batch_size", 2]
    outcome = process(tmp_path, "-m", "lightning_renyicl", *args)
    assert outcome.code == 2
    assert [line for line in outcome.err.splitlines() if "error" in line] == [
        "error: batch_size 2 leaves one sample for each of 2 processes, too few for BatchNorm: at least 4"
    ]
    assert "Traceback" not in outcome.err
