"""Images as others store them: Parquet of the Hugging Face hub, and folders of JPEGs."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from PIL import Image

from datamodules import HuggingFaceImages, ImageFolder
from datamodules.augmentations import CenterCrop, Identity, RandomResizedCrop
from lightning_renyicl import cli

pytestmark = pytest.mark.data
CONFIGS = Path(__file__).parents[3] / "configs"


@pytest.fixture(autouse=True)
def _caches(tmp_path, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "hf"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def folders(data_root, tmp_path):
    """Twenty classes of JPEGs of 64 x 64 pixels, in ``train`` and ``val``."""
    with tarfile.open(Path(data_root) / "images/tiny_imagenet20.tar") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "tiny_imagenet20"


def test_parquet_of_the_hub(data_root):
    folder = Path(data_root) / "images/cifar10_jpeg"
    view = RandomResizedCrop(32)
    data = HuggingFaceImages([view, view], Identity(), str(folder), train_size=2000, in_memory=True, num_workers=0)
    data.setup("fit")
    assert data.describe() == {"name": "cifar10_jpeg, JPEG", "samples": {"train": 2000, "val": 5000, "test": 10000}}
    assert data.num_classes == 10
    for split, rows in data.samples.splits.items():
        assert data.samples.target[rows].bincount().unique().tolist() == [len(rows) // 10], split
    assert len(torch.cat(list(data.samples.splits.values())).unique()) == 17000
    table = pd.read_parquet(folder / "test-00000-of-00001.parquet")
    rows = data.samples.splits["test"][:50]
    for row, stored, label in zip(rows.tolist(), table["img"], table["label"], strict=False):
        pixels = np.array(Image.open(io.BytesIO(stored["bytes"])).convert("RGB"))
        assert np.array_equal(data.samples.inputs[row].permute(1, 2, 0).numpy(), pixels)
        assert data.classes[data.samples.target[row]] == str(label)


def test_folders_of_classes(folders):
    view = RandomResizedCrop(64)
    data = ImageFolder([view, view], CenterCrop(64, 64), str(folders), batch_size=100, num_workers=2)
    data.setup("fit")
    assert {split: len(rows) for split, rows in data.samples.splits.items()} == {
        "train": 9000,
        "test": 1000,
        "val": 1000,
    }
    assert data.num_classes == 20
    x, target = zip(*(data.eval_batch(raw) for raw in data.feature_dataloader("val")), strict=True)
    found = torch.cat(x).mul(255).round().byte()
    gray = 0
    for row, pixels in zip(data.samples.splits["val"].tolist(), found, strict=True):
        with Image.open(folders / data.names[row]) as image:
            gray += image.mode == "L"
            assert np.array_equal(pixels.permute(1, 2, 0).numpy(), np.array(image.convert("RGB")))
    assert gray > 0
    assert torch.cat(target).bincount().tolist() == [50] * 20


def test_multicrop_through_the_command(folders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = yaml.safe_load((CONFIGS / "imagenet_multicrop.yaml").read_text())
    data = config["data"]
    data["class_path"] = "ImageFolder"
    data["init_args"] = {
        **{key: data["init_args"][key] for key in ("views", "eval_augmentation")},
        **{"root": str(folders), "batch_size": 16, "num_workers": 2},
    }
    for view in data["init_args"]["views"]:
        crop = view["init_args"]["augmentations"][0]["init_args"]
        crop["size"] = {224: 32, 96: 16}.get(crop["size"], crop["size"])  # YAML repeats one view
    data["init_args"]["eval_augmentation"]["init_args"]["augmentations"][0]["init_args"] = {"size": 32, "resize": 36}
    config["model"]["init_args"]["backbone"]["init_args"] |= {"depth": 18, "width": 8}
    config["trainer"] |= {"max_epochs": 1, "limit_train_batches": 4, "limit_val_batches": 2, "precision": "32-true"}
    (tmp_path / "multicrop.yaml").write_text(yaml.safe_dump(config))
    command = cli.run(["fit", "--config", "multicrop.yaml", "--trainer.accelerator=cpu"])
    assert command.trainer.global_step == 4
    assert torch.isfinite(command.trainer.callback_metrics["train/loss"])
    assert (tmp_path / "runs/multicrop/seed0/result.json").exists()
