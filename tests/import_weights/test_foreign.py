"""Layouts of other programs: all weights of an encoder or none."""

from __future__ import annotations

import re
from argparse import Namespace

import pytest
import torch
from safetensors.torch import save_file

from lightning_renyicl.encoders import MLP, ResNet
from lightning_renyicl.import_weights.foreign import load_encoder, read_weights


def named(prefix, seed=0, depth=10):
    """A network by torchvision's names, a classifier behind it."""
    torch.manual_seed(seed)
    weights = {**ResNet(depth, width=8).network.state_dict(), "fc.weight": torch.rand(5, 64)}
    return {f"{prefix}{name}": tensor for name, tensor in weights.items()}


LAYOUTS = {
    "RényiCL": {"state_dict": named("module.source_encoder.") | named("module.target_encoder.", 1)},
    "MoCo v3": {"state_dict": named("module.base_encoder.") | named("module.momentum_encoder.", 1), "epoch": 100},
    "MoCo": {"state_dict": named("module.encoder_q.") | named("module.encoder_k.", 1), "arch": "resnet18"},
    "SimSiam": {"state_dict": named("module.encoder.") | {"module.predictor.0.weight": torch.ones(2)}},
    "DINO": {"student": named("module.backbone."), "teacher": named("backbone.", 1), "args": Namespace(lr=0.1)},
    "VICReg": {"model": named("module.backbone.") | {"module.projector.0.weight": torch.ones(2)}},
    "SwAV": named("module.")
    | {"module.projection_head.0.weight": torch.ones(2), "module.prototypes.weight": torch.ones(2)},
    "plain": named(""),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_trained_encoder_of_a_layout(layout, tmp_path):
    torch.save(LAYOUTS[layout], tmp_path / "x.pth.tar")
    encoder = ResNet(10, width=8)
    load_encoder(encoder, read_weights(tmp_path / "x.pth.tar"), "x")
    expected = named("")
    assert all(tensor.equal(expected[name]) for name, tensor in encoder.network.state_dict().items())


@pytest.mark.parametrize("old", [False, True])
def test_files_of_all_times(tmp_path, old):
    weights = {"layers.0.weight": torch.rand(4, 3), "layers.0.bias": torch.rand(4)}
    torch.save(weights, tmp_path / "x.pth", _use_new_zipfile_serialization=not old)
    save_file(weights, tmp_path / "x.safetensors")
    for name in ("x.pth", "x.safetensors"):
        encoder = MLP(3, [4], maxout_sets=1)
        assert load_encoder(encoder, read_weights(tmp_path / name), name) == ""
        assert encoder.state_dict()["layers.0.weight"].equal(weights["layers.0.weight"])


def said(encoder, weights):
    before = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    with pytest.raises(ValueError, match=r"^x is of no \w+ with these arguments: ") as caught:
        load_encoder(encoder, weights, "x")
    assert all(tensor.equal(before[name]) for name, tensor in encoder.state_dict().items())  # not half-loaded
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_missing_weight():
    weights = named("encoder_q.")
    del weights["encoder_q.layer3.0.conv2.weight"]
    assert said(ResNet(10, width=8), weights).endswith("encoder_q.layer3.0.conv2.weight is missing")


def test_a_deeper_network_has_all_weights_of_a_shallow_one():
    assert "layer1.1.conv1.weight has no place" in said(ResNet(10, width=8), named("", depth=18))


def test_another_shape():
    assert "conv1.weight is [8, 3, 7, 7], not [8, 3, 3, 3]" in said(ResNet(10, True, width=8), named(""))


def test_a_list_is_cut():
    weights = {name: tensor for name, tensor in named("encoder.").items() if "layer4" not in name}
    assert re.search(r"layer4.0.conv1.weight is missing; .*; .* … \(\d\d in all\)$", said(ResNet(10, width=8), weights))


def test_names_of_something_else():
    assert said(MLP(3, [4], maxout_sets=1), {"other": torch.ones(2)}).endswith(
        "none of its weights is there, but other"
    )


class Code:
    def __reduce__(self):
        return (open, ("mark", "w"))


def test_code_is_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for old in (False, True):
        torch.save({"state_dict": named(""), "args": Code()}, "evil.pth", _use_new_zipfile_serialization=not old)
        with pytest.raises(ValueError, match=r"does not load safely.*which is code"):
            read_weights(tmp_path / "evil.pth")
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("name", ["x.pth", "x.safetensors"])
def test_no_such_file_and_files_of_something_else(tmp_path, name):
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_weights(tmp_path / name)
    (tmp_path / name).write_bytes(b"no weights")
    with pytest.raises(ValueError, match=f"{name}.* (is no file|does not load)"):
        read_weights(tmp_path / name)


def test_a_damaged_archive(tmp_path):
    torch.save({"w": torch.ones(1000)}, tmp_path / "x.pth")
    content = bytearray((tmp_path / "x.pth").read_bytes())
    place = content.index(torch.ones(10).numpy().tobytes())
    content[place] ^= 1
    (tmp_path / "x.pth").write_bytes(content)
    with pytest.raises(ValueError, match="is damaged"):
        read_weights(tmp_path / "x.pth")


def test_a_file_without_tensors(tmp_path):
    torch.save({"epoch": 3}, tmp_path / "x.pth")
    with pytest.raises(ValueError, match="has no tensors by name"):
        read_weights(tmp_path / "x.pth")
