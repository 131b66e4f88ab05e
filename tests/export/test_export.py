"""A checkpoint's encoder in files of other programs: the same features, or one line that says why not."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import pytest
import torch

from lightning_renyicl.export.__main__ import main
from lightning_renyicl.export.formats import FORMATS
from lightning_renyicl.objectives import RMLCPC

PUBLISHED = ("--model.backbone.depth=18", "--model.backbone.cifar_stem=false")
MEAN, STD = 0.31, 0.36  # of digits_image_base.yaml


@pytest.fixture
def exported(tmp_path):
    """Exports and returns the file and its card."""

    def _exported(checkpoint, form, *flags):
        out = tmp_path / f"encoder{FORMATS[form][0]}"
        assert main([str(checkpoint), "--to", form, str(out), *flags]) == 0
        return out, json.loads((tmp_path / f"{out.name}.json").read_text())

    return _exported


@pytest.fixture
def refused(tmp_path, capsys):
    """What an export that is refused says; it leaves no file."""

    def _refused(checkpoint, form, out=None, *flags):
        out = tmp_path / (out or f"refused{FORMATS[form][0]}")
        before = sorted(tmp_path.iterdir())
        assert main([str(checkpoint), "--to", form, str(out), *flags]) == 2
        assert sorted(tmp_path.iterdir()) == before
        said = capsys.readouterr().err
        assert said.startswith("error: ")
        assert said.count("\n") == 1
        return said

    return _refused


def ran(card, folder, monkeypatch, **names):
    """What the card's lines of Python leave."""
    monkeypatch.chdir(folder)
    exec("\n".join(card["load"]), names)
    return names


def features_of(model, x):
    with torch.no_grad():
        return model.eval()(x)


@pytest.mark.parametrize("form", ["timm", "torchvision", pytest.param("safetensors", marks=pytest.mark.slow)])
@pytest.mark.parametrize("flags", [(), pytest.param(PUBLISHED, marks=pytest.mark.slow)])
def test_weights_load_strictly_and_give_the_same_features(saved, exported, tmp_path, monkeypatch, form, flags):
    path, module, _ = saved("digits_image_base", "--model.projector.widths=[16,8]", *flags)
    _, card = exported(path, form)
    model = ran(card, tmp_path, monkeypatch)["model"]
    assert type(model).__module__.split(".")[0] == {"safetensors": "lightning_renyicl"}.get(form, form)
    x = torch.rand(3, 3, 40, 40)
    torch.testing.assert_close(features_of(model, x), features_of(module, x), rtol=1e-5, atol=1e-5)
    nearest = None if form == "safetensors" or flags else f"not {form}'s resnet18: "
    assert (card["differs"] or "").startswith(nearest or "")
    assert (card["differs"] is None) == (nearest is None)


def test_a_network_of_timm_keeps_its_arguments(saved, exported, tmp_path, monkeypatch):
    flags = ("--model.backbone=TimmModel", "--model.backbone.name=vit_tiny_patch16_224")
    arguments = "--model.backbone.arguments={img_size: 16, depth: 1, embed_dim: 12, num_heads: 2}"
    path, module, _ = saved("digits_image_base", "--model.projector.widths=[16,8]", *flags, arguments)
    _, card = exported(path, "timm")
    model = ran(card, tmp_path, monkeypatch)["model"]
    x = torch.rand(2, 3, 16, 16)
    torch.testing.assert_close(features_of(model, x), features_of(module, x), rtol=1e-5, atol=1e-5)


def test_the_card(images, exported):
    path, _, _ = images
    out, card = exported(path, "torchvision")
    assert card["file"] == out.name
    assert card["encoder"] == {
        "class": "lightning_renyicl.encoders.resnet.ResNet",
        "arguments": {"depth": 10, "cifar_stem": True, "zero_init_residual": False, "width": 64},
    }
    assert card["features"] == 512
    assert card["input"]["are"] == "pixels in [0, 1]"
    steps = [{"Normalize": {"mean": [MEAN] * 3, "std": [STD] * 3}}]
    assert card["normalisation"] == {"in_file": False, "steps": steps}
    assert card["objective"]["class"] == f"lightning_renyicl.objectives.{RMLCPC.__name__}"
    assert card["objective"]["arguments"]["gamma"] == 2.0
    assert card["data"]["class"].endswith("DigitsImage")
    assert card["run"]["seed"] == 0
    assert {"commit", "versions"} <= card["run"].keys()
    assert card["run"]["versions"]["torch"]
    assert "DigitsImage" in card["licence"]
    assert "terms" in card["licence"]


@pytest.mark.slow
def test_a_graph_takes_pixels_of_any_number_of_images(images, exported, tmp_path, monkeypatch):
    path, module, _ = images
    _, card = exported(path, "torch_export")
    assert card["normalisation"]["in_file"]
    assert card["input"]["shape"] == ["batch", 3, 8, 8]
    for n in (1, 5):
        pixels = torch.rand(n, 3, 8, 8)
        features = ran(card, tmp_path, monkeypatch, x=pixels)["features"]
        expected = features_of(module, (pixels - MEAN) / STD)
        torch.testing.assert_close(features, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_a_graph_takes_rows_as_they_are_in_the_file(rows, exported, tmp_path, monkeypatch):
    path, module, data = rows
    _, card = exported(path, "torch_export")
    assert card["input"]["type"] == "float64"
    assert len(card["normalisation"]["steps"]["numeric"]) == 64
    raw = data.load().inputs[:7].double()
    features = ran(card, tmp_path, monkeypatch, x=raw)["features"]
    expected = features_of(module, data.samples.inputs[:7])
    torch.testing.assert_close(features, expected, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(features, features_of(module, raw.float()))  # the scaling does something


SCRIPT = """
import json, sys
import numpy, torch
card = json.load(open(sys.argv[1] + ".json"))
x = torch.load("x.pt")
if card["format"] == "onnx":
    x = x.numpy()
exec("\\n".join(card["load"]))
if card["format"] in ("timm", "torchvision"):
    (step,) = card["normalisation"]["steps"]
    mean, std = (torch.tensor(step["Normalize"][key]).view(-1, 1, 1) for key in ("mean", "std"))
    with torch.no_grad():
        features = model.eval()((x - mean) / std)
assert not any(name.split(".")[0] in ("lightning_renyicl", "datamodules", "lightning") for name in sys.modules)
torch.save(torch.as_tensor(features).detach(), "features.pt")
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["images", "rows"])
@pytest.mark.parametrize("form", ["timm", "torchvision", "torch_export", "onnx"])
def test_without_this_project(request, exported, tmp_path, form, kind):
    if kind == "rows" and form in ("timm", "torchvision"):
        pytest.skip("which have no networks of rows")
    if form == "onnx":
        pytest.importorskip("onnxscript")
        pytest.importorskip("onnxruntime")
    path, module, data = request.getfixturevalue(kind)
    out, _ = exported(path, form)
    if kind == "images":
        x = torch.rand(5, 3, 8, 8)
        expected = features_of(module, (x - MEAN) / STD)
    else:
        x = data.load().inputs[:5].double()
        expected = features_of(module, data.samples.inputs[:5])
    torch.save(x, tmp_path / "x.pt")
    done = subprocess.run([sys.executable, "-c", SCRIPT, out.name], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    features = torch.load(tmp_path / "features.pt")
    torch.testing.assert_close(features, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("form", ["timm", "torchvision"])
def test_a_width_that_no_published_network_has(saved, refused, form):
    path, _, _ = saved("digits_image_base", "--model.projector.widths=[16,8]", "--model.backbone.width=8")
    assert f"width 8 is no model of {form}, whose resnet18 has width 64" in refused(path, form)


def test_networks_of_other_kinds(rows, graphs, refused):
    assert "MLP is no model of timm" in refused(rows[0], "timm")
    assert "GIN is no model of torchvision" in refused(graphs[0], "torchvision")
    assert "graphs are no one tensor" in refused(graphs[0], "torch_export")


def test_graphs_leave_under_our_own_names(graphs, exported, tmp_path, monkeypatch):
    path, module, _ = graphs
    _, card = exported(path, "safetensors")
    model = ran(card, tmp_path, monkeypatch)["model"]
    for name, tensor in module.backbone.state_dict().items():
        assert model.state_dict()[name].equal(tensor)


def test_another_suffix(images, refused):
    assert "ends in .pth" in refused(images[0], "torchvision", "encoder.bin")


def test_a_size_that_is_none(images, refused):
    assert "--size must be at least 1" in refused(images[0], "torch_export", None, "--size", "0")


def test_what_is_there_stays_without_force(images, tmp_path, refused, exported):
    (tmp_path / "encoder.pth").write_text("mine")
    assert "is there already" in refused(images[0], "torchvision", "encoder.pth")
    assert (tmp_path / "encoder.pth").read_text() == "mine"
    out, _ = exported(images[0], "torchvision", "--force")
    assert torch.load(out, weights_only=True)["conv1.weight"].shape == (64, 3, 3, 3)


class Code:
    def __reduce__(self):
        return (open, ("mark", "w"))


def test_code_is_not_run(tmp_path, refused, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "evil.ckpt"
    torch.save({"state_dict": {}, "pytorch-lightning_version": "2.6", "x": Code()}, path)
    assert "which is code" in refused(path, "timm")
    path.write_bytes(pickle.dumps(Code()))
    assert "is not a checkpoint" in refused(path, "timm")
    assert not (tmp_path / "mark").exists()


def test_a_checkpoint_of_something_else(tmp_path, refused, images):
    content = torch.load(images[0], weights_only=True)
    del content["hyper_parameters"]["_class_path"]
    torch.save(content, tmp_path / "other.ckpt")
    assert "only checkpoints of the command" in refused(tmp_path / "other.ckpt", "timm")


def test_an_augmentation_that_no_graph_has(images, refused, tmp_path):
    content = torch.load(images[0], weights_only=True)
    section = {"class_path": "datamodules.augmentations.Grayscale", "init_args": {"probability": 1.0}}
    content["datamodule_hyper_parameters"]["eval_augmentation"] = section
    torch.save(content, tmp_path / "gray.ckpt")
    assert "has Grayscale, which cannot be in an exported graph" in refused(tmp_path / "gray.ckpt", "torch_export")


def test_a_failure_leaves_neither_file_nor_card(images, tmp_path, refused, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", fail)
    assert "No space left" in refused(images[0], "torchvision")
