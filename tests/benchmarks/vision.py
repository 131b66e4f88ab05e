"""Views and steps on images."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from PIL import Image
from sklearn.datasets import load_sample_images
from torch.utils.data import DataLoader, Dataset

from datamodules.images.augmentations.reference import reference
from datamodules.seeding import generator_at
from tests.benchmarks.step import HARD, image, in_both_precisions
from tests.benchmarks.timing import compare

BATCH = 512  # of the configurations for CIFAR
BATCHES = 4
WORKERS = 2


class Views(Dataset):
    """Images of 32 x 32 pixels, each augmented by torchvision and timm when it is asked for."""

    def __init__(self, images: list[Image.Image]) -> None:
        self.images = images
        self.view = reference(HARD)

    def __len__(self) -> int:
        return BATCH * BATCHES

    def __getitem__(self, index: int) -> torch.Tensor:
        view: torch.Tensor = self.view(self.images[index % len(self.images)])
        return view


def photographs() -> list[Image.Image]:
    """Parts of two photographs."""
    generator = np.random.default_rng(0)
    parts = []
    for number in range(BATCH):
        photograph = load_sample_images().images[number % 2]
        top, left = (generator.integers(side - 128) for side in photograph.shape[:2])
        parts.append(Image.fromarray(photograph[top : top + 128, left : left + 128]).resize((32, 32)))
    return parts


def hard_view() -> dict[str, Any]:
    """Hard views by a loader with a process a core, over those of whole batches in this process."""
    images = photographs()
    loader = DataLoader(Views(images), BATCH, num_workers=WORKERS, persistent_workers=True)
    batch = torch.stack([torch.from_numpy(np.array(one)).permute(2, 0, 1) for one in images]) / 255

    def worker() -> None:
        for _ in loader:
            pass

    def device() -> None:
        for number in range(BATCHES):
            HARD(batch, generator_at(number))

    worker()  # starts the processes
    device()
    return compare(worker, device, n=9)


def run() -> dict[str, dict[str, Any]]:
    """A step of a CIFAR ResNet-18, and then a hard view by either engine.

    The C library's allocator has then learnt from the step's tensors what memory to keep, as it has where one trains.
    """
    steps = in_both_precisions("vision", lambda: image(2), lambda: image(2), n=3)
    return {**steps, "vision/hard_view_device_vs_worker": hard_view()}
