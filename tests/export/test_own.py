"""Rows with categories: the card's code builds embedding and network again."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import torch

from lightning_renyicl.export.__main__ import main

FLAGS = ("--model.projector.widths=[16,8]", "--model.backbone.widths=[16,16]", "--data.impute=true")


def table(folder, rows=80):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "amount": generator.normal(1e6, 3, rows),
            "colour": generator.choice(["red", "green"], rows),
            "weight": np.where(generator.random(rows) < 0.3, np.nan, generator.normal(0, 1, rows)),
            "label": generator.choice(["no", "yes"], rows),
        }
    )
    frame.to_parquet(folder / "mine.parquet")
    return frame


def test_a_table_from_its_file_to_features(saved, tmp_path, monkeypatch):
    frame = table(tmp_path)
    path, module, data = saved("own_table", *FLAGS, f"--data.file={tmp_path / 'mine.parquet'}", "--data.target=label")
    (tmp_path / "mine.parquet").unlink()  # the checkpoint is enough
    assert main([str(path), "--to", "torch_export", str(tmp_path / "x.pt2")]) == 0
    card = json.loads((tmp_path / "x.pt2.json").read_text())
    steps = card["normalisation"]["steps"]
    assert steps["numeric"] == ["amount", "weight"]
    assert steps["indicators"] == ["weight"]
    assert steps["codes"] == {"colour": {"any other": 1, "green": 2, "red": 3}}
    columns = [frame["amount"], frame["weight"], frame["colour"].map(steps["codes"]["colour"])]
    names = {"x": torch.from_numpy(np.stack([column.to_numpy(float) for column in columns], axis=1))}
    monkeypatch.chdir(tmp_path)
    exec("\n".join(card["load"]), names)
    with torch.no_grad():
        expected = module(data.samples.inputs)
    torch.testing.assert_close(names["features"], expected, rtol=1e-5, atol=1e-5)

    assert main([str(path), "--to", "safetensors", str(tmp_path / "x.safetensors")]) == 0
    card = json.loads((tmp_path / "x.safetensors.json").read_text())
    exec("\n".join(card["load"]), names)
    with torch.no_grad():
        torch.testing.assert_close(names["model"].eval()(data.samples.inputs), expected)
