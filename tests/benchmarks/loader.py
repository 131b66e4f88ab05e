"""Reading, decoding and cropping of stored images against the network that waits for them."""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import seed_everything

from datamodules import ImageFolder
from datamodules.augmentations import CenterCrop, Compose, HorizontalFlip, RandomResizedCrop
from lightning_renyicl.encoders import ResNet
from tests.benchmarks.timing import compare

BATCH = 128
STEPS = 8
WORKERS = 2


def resnet18_vs_loader(archive: Path) -> dict[str, Any]:
    """Steps of a ResNet-18 on two views of 64 x 64 pixels, over the loader's time for as many batches.

    Both have all cores to themselves; a loader keeps up with a network that is so many times as fast.
    """
    seed_everything(0, verbose=False)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as stored:
            stored.extractall(folder, filter="data")
        root = next(Path(folder).rglob("train")).parent
        view = Compose([RandomResizedCrop(64), HorizontalFlip()])
        data = ImageFolder([view, view], CenterCrop(64, 64), str(root), BATCH, num_workers=WORKERS)
        data.setup("fit")
        data.samples.splits["train"] = data.samples.splits["train"][: STEPS * BATCH]
        loader = data.train_dataloader()
        network = ResNet(18)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
        views = torch.rand(2, BATCH, 3, 64, 64)

        def train() -> None:
            for _ in range(STEPS):
                optimizer.zero_grad()
                torch.cat([network(images) for images in views]).square().mean().backward()
                optimizer.step()

        def load() -> None:
            for _ in loader:
                pass

        load()  # starts the processes
        train()
        return compare(train, load, n=3)


def run(root: Path) -> dict[str, dict[str, Any]]:
    """The loader of a folder of JPEGs."""
    return {"vision/resnet18_vs_loader": resnet18_vs_loader(root / "images" / "tiny_imagenet20.tar")}
