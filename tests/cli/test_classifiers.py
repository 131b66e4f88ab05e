"""Fine-tuning and linear evaluation from a checkpoint on, by the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from lightning_renyicl.modules import FineTuning, LinearEvaluation, TabularModule

CONFIGS = Path(__file__).parents[2] / "configs"
NAMES = {"finetune": "fine_tuning", "linear_evaluation": "linear_evaluation"}
QUIET = ["--trainer.enable_progress_bar=false", "--trainer.enable_model_summary=false", "--trainer.accelerator=cpu"]


def overlays(*names):
    return [arg for name in names for arg in ("--config", CONFIGS / f"{name}.yaml")]


def metrics(folder):
    return json.loads((folder / "result.json").read_text())["metrics"]


@pytest.fixture
def pretrained(command, fake, tmp_path):
    """The checkpoint of a training on made-up rows."""
    assert command("fit", "--config", fake).code == 0
    return tmp_path / "runs/fake/seed0/checkpoints/last.ckpt"


@pytest.fixture
def train(command, tmp_path):
    """Two epochs of a protocol from a checkpoint on; returns the run's folder."""

    def _train(protocol, checkpoint, *flags, folder="out"):
        path = tmp_path / folder
        own = ["--model.checkpoint", checkpoint, "--trainer.default_root_dir", path, "--data.batch_size=16"]
        outcome = command("fit", *overlays(f"eval/{protocol}"), *own, "--trainer.max_epochs=2", *QUIET, *flags)
        assert outcome.code == 0, outcome.err
        return path

    return _train


@pytest.mark.parametrize("protocol", NAMES)
def test_trains_on_the_data_of_the_checkpoint(train, command, pretrained, protocol):
    run = train(protocol, pretrained)
    assert metrics(run).keys() == {f"{NAMES[protocol]}/{key}" for key in ("top1", "macro_top1")}  # of four classes
    before = torch.load(pretrained, weights_only=True)["state_dict"]
    after = torch.load(run / "checkpoints/last.ckpt", weights_only=True)["state_dict"]
    same = [torch.equal(before[name], after[name]) for name in before if name.startswith("backbone.")]
    assert all(same) if protocol == "linear_evaluation" else not any(same[:2])
    assert after["objective.classifier.weight"].abs().sum() > 0


def test_a_checkpoint_needs_none_that_it_began_with(train, command, pretrained):
    run = train("finetune", pretrained)
    checkpoint = run / "checkpoints/last.ckpt"
    pretrained.unlink()
    outcome = command("test", "--ckpt_path", checkpoint, *QUIET)
    assert outcome.code == 0, outcome.err
    assert "fine_tuning/top1" in metrics(run / "test")
    module = FineTuning.load_from_checkpoint(checkpoint)
    assert type(module).__name__ == "FineTuning"
    with pytest.raises(ValueError, match="holds FineTuning, which is no TabularModule"):
        TabularModule.load_from_checkpoint(checkpoint)


def test_continued_it_is_as_in_one_go(train, command, pretrained, tmp_path):
    whole = train("finetune", pretrained, "--model.scheduler=null", "--trainer.max_epochs=4", folder="whole")
    half = train("finetune", pretrained, "--model.scheduler=null", folder="half")
    pretrained.unlink()
    more = ["--trainer.max_epochs=4", "--trainer.default_root_dir", tmp_path / "more"]
    outcome = command("fit", "--ckpt_path", half / "checkpoints/last.ckpt", *more, *QUIET)
    assert outcome.code == 0, outcome.err
    found, expected = (
        torch.load(run / "checkpoints/last.ckpt", weights_only=True)["state_dict"] for run in (tmp_path / "more", whole)
    )
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_new_weights_are_not_the_checkpoints(pretrained):
    def make(**arguments):
        torch.manual_seed(0)
        return LinearEvaluation(str(pretrained), 4, torch.optim.SGD, **arguments).backbone.state_dict()

    stored = torch.load(pretrained)["state_dict"]
    own, new = make(), make(pretrained=False)
    assert all(torch.equal(tensor, stored[f"backbone.{name}"]) for name, tensor in own.items())
    assert not any(torch.equal(new[name], own[name]) for name in own if name.endswith("weight") and own[name].dim() > 1)


def test_the_frozen_backbone_keeps_its_statistics(pretrained):
    module = LinearEvaluation(str(pretrained), 4, torch.optim.SGD).train()
    before = {name: tensor.clone() for name, tensor in module.backbone.state_dict().items()}
    out = module(torch.randn(8, 6))
    assert not out.requires_grad
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.backbone.state_dict().items())


def test_two_rates(pretrained):
    module = FineTuning(classifier_lr=0.5, checkpoint=str(pretrained), num_classes=4, optimizer=torch.optim.SGD)
    backbone, classifier = module.trained()
    assert classifier["lr"] == 0.5
    assert "lr" not in backbone
    assert len(backbone["params"]) + len(classifier["params"]) == len(list(module.parameters()))


@pytest.mark.slow
@pytest.mark.parametrize("domain", ["digits_image_hard", "digits_graph"])
@pytest.mark.parametrize("protocol", NAMES)
def test_images_and_graphs(command, train, tmp_path, domain, protocol):
    assert command("fit", *overlays(domain, "scale/smoke"), *QUIET).code == 0
    (checkpoint,) = (tmp_path / "runs").glob("*/seed0/checkpoints/last.ckpt")
    run = train(protocol, checkpoint, "--trainer.limit_train_batches=2")
    assert 0 <= metrics(run)[f"{NAMES[protocol]}/top5"] <= 1


def test_other_columns(command, pretrained):
    own = ["--model.checkpoint", pretrained, "--data.in_features=7", "--data.batch_size=16"]
    outcome = command("fit", *overlays("eval/finetune"), *own, *QUIET)
    assert outcome.code == 2
    assert "the checkpoint's encoder reads 6 columns or node features, and the data has 7" in outcome.err


def test_no_file(command):
    outcome = command("fit", *overlays("eval/finetune"), "--model.checkpoint", "nothing.ckpt", *QUIET)
    assert outcome.code == 2
    (line,) = outcome.err.strip().splitlines()
    assert line == "error: --model.checkpoint nothing.ckpt: no such file"
