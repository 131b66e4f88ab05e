"""Your own table on the command line, from training to embeddings of another file."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import torch


def frame(rows, seed):
    generator = np.random.default_rng(seed)
    label = generator.choice(["no", "yes"], rows)
    return pd.DataFrame(
        {
            "size": generator.normal(0, 1, rows) + 2 * (label == "yes"),
            "colour": generator.choice(["red", "green"], rows),
            "weight": np.where(generator.random(rows) < 0.1, np.nan, generator.normal(0, 1, rows)),
            "label": label,
        }
    )


SMALL = [
    *("--trainer.max_epochs", "2", "--trainer.check_val_every_n_epoch", "1", "--trainer.val_check_interval", "1.0"),
    *("--trainer.enable_progress_bar", "false"),
    *("--model.backbone.widths", "[16, 16]", "--model.projector.widths", "[16, 8]", "--data.batch_size", "32"),
    *("--trainer.accelerator", "cpu", "--model.scheduler.warmup_epochs", "1"),
]
OWN = ["--data.file", "mine.csv", "--data.target", "label", "--data.impute", "true"]

PROTOCOLS = """
trainer:
  callbacks:
    - class_path: FrozenFeatures
      init_args:
        protocols:
          - class_path: LinearSGD
          - class_path: PseudoInverse
    - class_path: RawColumns
      init_args:
        protocols:
          - class_path: GradientBoosting
"""


@pytest.fixture
def trained(command, configs, tmp_path):
    """A run on a table with both kinds of columns."""
    frame(200, seed=0).to_csv(tmp_path / "mine.csv", index=False)
    outcome = command("fit", "--config", configs / "own_table.yaml", *OWN, *SMALL)
    assert outcome.code == 0, outcome.err
    return tmp_path / "runs" / "own_table" / "seed0"


def test_embeddings_of_another_file(command, trained, tmp_path):
    (tmp_path / "mine.csv").unlink()  # predict needs the checkpoint and the new file
    new = frame(9, seed=1)
    new.loc[3, "colour"] = "grey"
    new.to_parquet(tmp_path / "new.parquet")
    new.drop(columns="label")[["weight", "colour", "size"]].to_csv(tmp_path / "new.csv", index=False)
    found = []
    for name, folder in (("new.parquet", "predict"), ("new.csv", "predict-2")):
        checkpoint = trained / "checkpoints" / "last.ckpt"
        outcome = command("predict", "--ckpt_path", checkpoint, "--data.file", name)
        assert outcome.code == 0, outcome.err
        found.append(pd.read_parquet(trained / folder / "embeddings.parquet"))
    with_labels, without = found
    assert with_labels["row"].tolist() == list(range(9))
    assert with_labels["target"].tolist() == (new["label"] == "yes").astype(int).tolist()
    assert with_labels["target_name"].tolist() == new["label"].tolist()
    assert without["target"].tolist() == [-1] * 9
    features = [name for name in without if name.startswith("feature_")]
    assert len(features) == 4
    pd.testing.assert_frame_equal(with_labels[features], without[features])
    assert np.isfinite(without[features]).all(axis=None)


@pytest.mark.slow
def test_ids_of_another_file(command, configs, tmp_path):
    frame(200, seed=0).assign(customer=range(200)).to_csv(tmp_path / "mine.csv", index=False)
    outcome = command("fit", "--config", configs / "own_table.yaml", *OWN, *SMALL, "--data.id", "customer")
    assert outcome.code == 0, outcome.err
    checkpoint = tmp_path / "runs" / "own_table" / "seed0" / "checkpoints" / "last.ckpt"
    ids = [f"c{number}" for number in range(9)]
    frame(9, seed=1).assign(customer=ids).to_csv(tmp_path / "new.csv", index=False)
    outcome = command("predict", "--ckpt_path", checkpoint, "--data.file", "new.csv")
    assert outcome.code == 0, outcome.err
    (file,) = tmp_path.rglob("embeddings.parquet")
    assert pd.read_parquet(file)["name"].tolist() == ids
    frame(9, seed=1).to_csv(tmp_path / "new.csv", index=False)
    outcome = command("predict", "--ckpt_path", checkpoint, "--data.file", "new.csv")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "new.csv has no column customer, which data.id names" in outcome.err


@pytest.mark.slow
def test_protocols_on_two_processes_are_those_of_one(command, process, configs, tmp_path):
    frame(201, seed=0).to_csv(tmp_path / "mine.csv", index=False)
    overlay = tmp_path / "protocols.yaml"
    overlay.write_text(PROTOCOLS)
    outcome = command("fit", "--config", configs / "own_table.yaml", "--config", overlay, *OWN, *SMALL)
    assert outcome.code == 0, outcome.err
    run = tmp_path / "runs" / "own_table+protocols" / "seed0"
    again = ["-m", "lightning_renyicl", "test", "--ckpt_path", run / "checkpoints" / "last.ckpt"]
    scores = []
    for devices in (1, 2):
        outcome = process(tmp_path, *again, f"--trainer.devices={devices}", RENYICL_DEBUG="1")
        assert outcome.code == 0, outcome.err
        assert "Traceback" not in outcome.err  # of the second process
        scores.append(json.loads((run / "test" / "result.json").read_text())["metrics"])
    assert {"linear_sgd/top1", "pseudo_inverse/top1", "raw/gradient_boosting/top1"} < scores[0].keys()
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)


def test_rows_of_the_test_file_have_no_influence_on_training(command, configs, tmp_path):
    frame(200, seed=0).to_csv(tmp_path / "mine.csv", index=False)
    weights = []
    for seed in (1, 2):
        frame(50 * seed, seed).assign(size=10.0**seed).to_csv(tmp_path / f"test{seed}.csv", index=False)
        flags = ["--data.test_file", f"test{seed}.csv", "--trainer.default_root_dir", f"run{seed}"]
        outcome = command("fit", "--config", configs / "own_table.yaml", *OWN, *flags, *SMALL)
        assert outcome.code == 0, outcome.err
        path = tmp_path / f"run{seed}" / "checkpoints" / "last.ckpt"
        weights.append(torch.load(path, weights_only=True)["state_dict"])
    torch.testing.assert_close(weights[0], weights[1], rtol=0, atol=0)


def test_test_repeats_on_the_same_split(command, trained):
    outcome = command("test", "--ckpt_path", trained / "checkpoints" / "last.ckpt")
    assert outcome.code == 0, outcome.err
    assert "online_probe/top1" in outcome.out


def test_how_a_table_is_read_goes_into_the_run_and_its_checkpoint(command, configs, tmp_path, caplog):
    rows = frame(200, seed=0)
    rows["size"] = [f"{value:.4f}".replace(".", ",") for value in rows["size"]]
    rows["weight"] = [f"{1000 + number:,}".replace(",", ".") for number in range(200)]
    rows.loc[::7, "colour"] = "None"
    rows.to_csv(tmp_path / "mine.csv", index=False, sep=";")
    layout = [
        "--data.delimiter",
        ";",
        "--data.decimal",
        ",",
        "--data.thousands",
        ".",
        "--data.missing",
        '["NA", "null"]',
    ]
    outcome = command("fit", "--config", configs / "own_table.yaml", *OWN, *layout, *SMALL)
    assert outcome.code == 0, outcome.err
    read = "columns are read as 2 numbers, 1 categories (largest: colour, 3 values), 0 left out"
    assert f"{tmp_path / 'mine.csv'}: {read}" in caplog.messages
    run = tmp_path / "runs" / "own_table" / "seed0"
    outcome = command("fit", "--config", run / "config.yaml", "--trainer.default_root_dir", "again")
    assert outcome.code == 0, outcome.err
    outcome = command("predict", "--ckpt_path", run / "checkpoints" / "last.ckpt")
    assert outcome.code == 0, outcome.err
    assert not any("none of the training's" in line for line in caplog.messages)


def test_a_column_that_the_new_file_lacks(command, trained, tmp_path):
    frame(5, seed=1).drop(columns="size").to_csv(tmp_path / "new.csv", index=False)
    outcome = command("predict", "--ckpt_path", trained / "checkpoints" / "last.ckpt", "--data.file", "new.csv")
    assert outcome.code == 2
    assert outcome.err.strip().splitlines()[-1] == (
        f"error: {tmp_path / 'new.csv'} lacks columns that training had: size"
    )


def test_a_table_with_a_fault_is_one_line(command, configs, tmp_path):
    (tmp_path / "mine.csv").write_text("a,b,label\n1,2,x\n3,y\n")
    outcome = command(
        "fit", "--config", configs / "own_table.yaml", "--data.file", "mine.csv", "--data.target", "label", *SMALL
    )
    assert outcome.code == 2
    assert "Row #3: Expected 3 columns, got 2" in outcome.err
    assert "Traceback" not in outcome.err


FEW = """
trainer:
  callbacks:
    - class_path: FrozenFeatures
      init_args:
        protocols: &protocols
          - class_path: FewLabels
            init_args:
              protocol:
                class_path: LogisticRegression
                init_args: {strengths: [0.1]}
              labels: 6
          - class_path: FewLabels
            init_args:
              protocol: {class_path: KNN}
              labels: 1.0
    - class_path: RawColumns
      init_args:
        protocols: *protocols
"""


def test_few_labels_are_the_same_ones_in_training_and_evaluation(command, configs, tmp_path):
    frame(200, seed=0).to_csv(tmp_path / "mine.csv", index=False)
    (tmp_path / "few.yaml").write_text(FEW)
    flags = [*OWN, *SMALL, "--trainer.default_root_dir", "run", "--data.labels", "6"]
    outcome = command("fit", "--config", configs / "own_table.yaml", "--config", "few.yaml", *flags)
    assert outcome.code == 0, outcome.err
    result = json.loads((tmp_path / "run/result.json").read_text())
    assert result["data"]["samples"] == {"train": 12, "val": 20, "test": 20}

    def scores(*flags):
        outcome = command("test", "--ckpt_path", "run/checkpoints/last.ckpt", "--fixed_folder", "true", *flags)
        assert outcome.code == 0, outcome.err
        return json.loads((tmp_path / "run/test/result.json").read_text())

    stored, whole = scores("--seed_everything", 9), scores("--data.labels", "null")
    other = scores("--data.labels", "null", "--seed_everything", 9)
    assert stored["data"]["samples"]["train"] == 12  # the training's, whatever the seed
    assert whole["data"]["samples"]["train"] == 160
    names = ["logistic_regression_6_a_class", "raw/logistic_regression_6_a_class"]
    first, second, third = ([found["metrics"][f"{name}/top1"] for name in names] for found in (stored, whole, other))
    assert first == second != third
    share = "knn_100_percent/top1"
    assert stored["metrics"][share] != whole["metrics"][share]
