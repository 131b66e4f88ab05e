"""Weights from elsewhere in a checkpoint that the command takes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from torchvision.models import resnet18

from datamodules import DigitsImage
from lightning_renyicl import cli
from lightning_renyicl.import_weights.__main__ import main
from lightning_renyicl.modules import VisionModule

CONFIG = Path(__file__).parents[2] / "configs" / "digits_image_base.yaml"
FLAGS = ["--config", str(CONFIG), "--model.backbone.depth=18", "--model.backbone.cifar_stem=false"]


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A network of torchvision and a file of it in the layout of RényiCL's authors."""
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(3)
    network = resnet18(num_classes=5)
    weights = {f"module.source_encoder.{name}": tensor for name, tensor in network.state_dict().items()}
    others = {f"module.target_encoder.{name}": tensor + 1 for name, tensor in network.state_dict().items()}
    torch.save({"state_dict": {**weights, **others}}, "published.pth.tar")
    network.fc = torch.nn.Identity()
    return network.eval()


def test_the_module_in_python_has_its_features(published, capsys):
    assert main(["published.pth.tar", "x.ckpt", *FLAGS, "--model.momentum=0.9"]) == 0
    assert "names that begin with source_encoder." in capsys.readouterr().out
    module = VisionModule.load_from_checkpoint("x.ckpt").eval()
    x = torch.rand(3, 3, 32, 32)
    with torch.no_grad():
        torch.testing.assert_close(module(x), published(x), rtol=1e-5, atol=1e-5)
    target, _ = module.momentum_target.network
    own = module.backbone.state_dict()
    assert all(tensor.equal(own[name]) for name, tensor in target.state_dict().items())


@pytest.mark.slow
def test_the_command_takes_it(published):
    assert main(["published.pth.tar", "x.ckpt", *FLAGS]) == 0
    one = ["--trainer.accelerator", "cpu", "--trainer.limit_predict_batches", "1"]
    cli.run(["predict", "--ckpt_path", "x.ckpt", *one])
    (file,) = Path("runs").rglob("embeddings.parquet")
    found = torch.tensor(pd.read_parquet(file).filter(like="feature_").to_numpy())
    data = DigitsImage.load_from_checkpoint("x.ckpt")
    images, _ = data.eval_batch(data.samples.splits["test"][: len(found)])
    with torch.no_grad():
        torch.testing.assert_close(found, published(images), rtol=1e-5, atol=1e-4)
    run = cli.run(["test", "--ckpt_path", "x.ckpt", "--config", str(CONFIG.parent / "eval" / "lbfgs.yaml")])
    assert run.folder.result is None or run.folder.result["metrics"]
    assert [name for name in run.trainer.callback_metrics if name.startswith("logistic_regression_path")]
    with pytest.raises(ValueError, match="a training cannot go on from it"):
        cli.run(["fit", "--ckpt_path", "x.ckpt", "--config", str(CONFIG)])


def test_refusals_leave_no_file(published, capsys):
    for arguments, said in (
        (FLAGS[:2], "of no ResNet with these arguments"),
        ([*FLAGS, "--model.backbone.dept=3"], "dept"),
        ([*FLAGS[:1], "none.yaml"], "none.yaml"),
    ):
        try:
            code = main(["published.pth.tar", "x.ckpt", *arguments])
        except SystemExit as stop:  # of the parser
            code = stop.code
        assert code == 2
        assert said in capsys.readouterr().err
        assert not Path("x.ckpt").exists()


def test_what_is_there_stays_without_force(published, capsys):
    Path("x.ckpt").write_text("mine")
    assert main(["published.pth.tar", "x.ckpt", *FLAGS]) == 2
    assert "is there already" in capsys.readouterr().err
    assert Path("x.ckpt").read_text() == "mine"
    assert main(["published.pth.tar", "x.ckpt", *FLAGS, "--force"]) == 0
    assert VisionModule.load_from_checkpoint("x.ckpt").num_features == 512
