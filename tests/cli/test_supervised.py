"""Training with labels through the real command, and what its checkpoints say of them."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

SMALL = [
    *("--trainer.enable_progress_bar", "false", "--trainer.enable_model_summary", "false"),
    *("--data.batch_size", "16", "--trainer.accelerator", "cpu"),
]


def configured(configs, *names):
    return [arg for name in names for arg in ("--config", configs / f"{name}.yaml")]


@pytest.mark.parametrize("domain", ["digits_image_base", "digits_table_hard", "digits_graph"])
def test_every_domain(command, configs, curve, tmp_path, domain):
    outcome = command("fit", *configured(configs, domain, "methods/supervised", "scale/smoke"), *SMALL)
    assert outcome.code == 0, outcome.err
    run = tmp_path / f"runs/{domain}+supervised+smoke/seed0"
    stored = torch.load(run / "checkpoints/last.ckpt", weights_only=True)
    assert stored["hyper_parameters"]["num_classes"] == 10
    assert stored["state_dict"]["objective.classifier.weight"].shape[0] == 10
    assert not any(name.startswith(("projector", "predictor", "momentum")) for name in stored["state_dict"])
    assert all(0 <= float(row["train/top1"]) <= 1 for row in curve(run) if row["train/top1"])
    if domain == "digits_table_hard":
        for action in ("test", "predict"):
            outcome = command(action, "--ckpt_path", run / "checkpoints/last.ckpt")
            assert outcome.code == 0, outcome.err


def test_data_without_labels_is_refused_in_a_line(command, configs, tmp_path):
    (tmp_path / "mine.csv").write_text("a,b\n" + "1,2\n2,5\n" * 20)
    own = ["--data.file", "mine.csv", "--data.target", "null", "--trainer.callbacks", "null"]
    outcome = command("fit", *configured(configs, "own_table", "methods/supervised"), *own)
    assert outcome.code == 2
    (line,) = outcome.err.strip().splitlines()
    assert line.startswith("error: ")
    assert "CrossEntropy trains on labels of at least two classes, and the data has 0: name its labels" in line


@pytest.fixture
def old(checkpoint, tmp_path):
    """A checkpoint of a version that knew no number of classes, or of another one."""

    def _old(**changes):
        content = torch.load(checkpoint, weights_only=True)
        assert content["hyper_parameters"].pop("num_classes") == 4
        content["hyper_parameters"] |= changes
        torch.save(content, tmp_path / "old.ckpt")
        return tmp_path / "old.ckpt"

    return _old


@pytest.mark.parametrize("arguments", [("test",), ("predict",), ("fit", "--trainer.max_epochs", "5")])
def test_checkpoints_of_before(command, fake, old, tmp_path, arguments):
    config = ["--config", fake] if arguments[0] == "fit" else []
    flags = [*arguments[1:], "--trainer.default_root_dir", "again"]
    outcome = command(arguments[0], *config, "--ckpt_path", old(), *flags)
    assert outcome.code == 0, outcome.err


def test_a_number_of_classes_that_is_none(command, old):
    outcome = command("test", "--ckpt_path", old(num_classes=[4]))
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1].endswith("hyper_parameters.num_classes is no number")


def test_predictions_of_data_without_labels(command, configs, tmp_path):
    def save(name, labelled):
        graphs = [
            Data(
                x=torch.randn(6, 2, generator=torch.Generator().manual_seed(i)),
                edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]),
                y=i % 3 if labelled else None,
            )
            for i in range(30)
        ]
        torch.save(graphs, name)

    save("own.pt", labelled=True)
    save("new.pt", labelled=False)
    own = ["--data", "Graphs", "--data.file", "own.pt", "--data.held_out", "0.5", "--data.labels", "4"]
    outcome = command("fit", *configured(configs, "digits_graph", "methods/supervised", "scale/smoke"), *own, *SMALL)
    assert outcome.code == 0, outcome.err
    (path,) = tmp_path.glob("runs/*/seed0/checkpoints/last.ckpt")
    outcome = command("predict", "--ckpt_path", path, "--data.file", "new.pt")
    assert outcome.code == 0, outcome.err
