"""Graphs through the real command."""

import json
from pathlib import Path

import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

SMOKE = ["--config", "configs/mutag.yaml", "--config", "configs/scale/graph/smoke.yaml", "--trainer.accelerator=cpu"]


@pytest.fixture
def folder(tmp_path, configs):
    """An empty folder with the configurations."""
    (tmp_path / "configs").symlink_to(configs)
    return tmp_path


def metrics(path):
    return json.loads(path.read_text())["metrics"]


@pytest.mark.slow
def test_two_processes_are_scored_as_one(folder, process, command):
    """Features are gathered, so that the folds are those of all graphs; training shares the batches."""
    outcome = process(folder, "-m", "lightning_renyicl", "fit", *SMOKE, "--trainer.devices=2")
    assert outcome.code == 0, outcome.err
    run = folder / "runs/mutag+smoke/seed0"
    checkpoint = run / "checkpoints/last.ckpt"
    fitted = metrics(run / "result.json")
    outcome = command("validate", "--ckpt_path", checkpoint, "--trainer.devices=1")
    assert outcome.code == 0, outcome.err
    alone = metrics(run / "validate/result.json")
    assert (
        fitted.keys()
        == alone.keys()
        == {f"svm/{k}{n}" for k in ("", "fold0/", "fold1/") for n in ("accuracy", "validation")}
    )
    assert fitted == alone


def test_own_graphs_from_pretraining_to_embeddings_of_another_file(folder, command):
    def save(name, count, labelled):
        ring = torch.arange(6)
        graphs = [
            Data(
                x=torch.randn(6, 2, generator=torch.Generator().manual_seed(i)),
                edge_index=torch.stack((torch.cat((ring, ring.roll(1))), torch.cat((ring.roll(1), ring)))),
                y=torch.tensor([i % 3]) if labelled else None,
            )
            for i in range(count)
        ]
        torch.save(graphs, name)

    save("own.pt", 60, labelled=True)
    save("new.pt", 7, labelled=False)
    own = ["--config", "configs/mutag.yaml", "--data", "Graphs", "--data.file", "own.pt", "--data.held_out", "0.5"]
    probe = [
        "--trainer.callbacks",
        "OnlineProbe",
        "--trainer.max_epochs",
        "2",
        "--trainer.check_val_every_n_epoch",
        "1",
    ]
    outcome = command("fit", *own, *probe, "--trainer.accelerator", "cpu")
    assert outcome.code == 0, outcome.err
    checkpoint = "runs/mutag/seed0/checkpoints/last.ckpt"
    assert {"online_probe/top1", "baseline/raw/top1"} <= metrics(Path("runs/mutag/seed0/result.json")).keys()
    outcome = command("predict", "--ckpt_path", checkpoint, "--data.file", "new.pt", "--trainer.accelerator", "cpu")
    assert outcome.code == 0, outcome.err
    table = pd.read_parquet("runs/mutag/seed0/predict/embeddings.parquet")
    assert table["row"].tolist() == list(range(7))
    assert table["target"].tolist() == [-1] * 7
    assert table["target_name"].isna().all()
    assert table.shape == (7, 3 + 96)


def test_missing_archive_is_one_line(folder, command, monkeypatch):
    def no_network(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr("torch_geometric.data.download_url", no_network)
    outcome = command("fit", "--config", "configs/collab.yaml")
    assert outcome.code == 2
    line = outcome.err.strip().splitlines()[-1]
    assert line.startswith(
        f"error: no COLLAB.zip or COLLAB in {folder / 'data'}, and it cannot be downloaded (no network)"
    )
    assert line.endswith(f"packed as it is, into {folder / 'data'}")
