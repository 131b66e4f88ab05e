"""Pipelines on batches and their references on single images have one law."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.stats import ks_2samp
from sklearn.datasets import load_sample_images

from datamodules.augmentations import (
    ColorJitter,
    Compose,
    FeatureCorruption,
    GaussianBlur,
    Grayscale,
    HorizontalFlip,
    Identity,
    Normalize,
    RandAugment,
    RandomChoice,
    RandomErasing,
    RandomResizedCrop,
    Solarize,
)
from datamodules.images.augmentations.reference import reference
from datamodules.seeding import generator_at, global_random_state

PHOTOGRAPH = Image.fromarray(load_sample_images().images[0][:420, :420]).resize((24, 24))
PIXELS = torch.from_numpy(np.array(PHOTOGRAPH)).permute(2, 0, 1) / 255
NORMALIZE = Normalize([0.5, 0.4, 0.3], [0.25, 0.25, 0.2])
N = 2000

EACH = {
    "crop": RandomResizedCrop(24),
    "flip": HorizontalFlip(),
    "jitter": ColorJitter(0.4, 0.4, 0.4, 0.1),
    "gray": Grayscale(0.3),
    "solarize": Solarize(0.3),
    "blur": GaussianBlur(0.5, (0.3, 2.0)),
    "randaugment": RandAugment(2, 5),
    "erasing": RandomErasing(0.5),
    "choice": RandomChoice([Grayscale(1), Solarize(1), Identity()]),
}
BASE = [RandomResizedCrop(24), HorizontalFlip(), ColorJitter(0.4, 0.4, 0.2, 0.1)]
PIPELINES = {
    **{name: [part] for name, part in EACH.items()},
    "base": [*BASE, Grayscale()],
    "hard": [*BASE, RandAugment(3, 5), Grayscale()],
    "byol": [*BASE, GaussianBlur(0.1), Grayscale(), Solarize()],
    "noisy": [RandomResizedCrop(24), RandomResizedCrop(24, (0.2, 0.2)), HorizontalFlip()],
}
MEASURES = {
    "mean": lambda images: images.mean((1, 2, 3)),
    "contrast": lambda images: images.std((1, 2, 3)),
    "colour": lambda images: images.mean((2, 3)).std(1),
    "gray pixels": lambda images: (images.amax(1) - images.amin(1) < 0.02).float().mean((1, 2)),
    "left": lambda images: images[..., :12].mean((1, 2, 3)) - images[..., 12:].mean((1, 2, 3)),
    "top": lambda images: images[..., :12, :].mean((1, 2, 3)) - images[..., 12:, :].mean((1, 2, 3)),
    "edges": lambda images: images.diff(dim=3).abs().mean((1, 2, 3)),
    "changed": lambda images: (images - PIXELS).abs().mean((1, 2, 3)),
}


def both(parts):
    """Images ``[N, 3, 24, 24]`` by batch and one by one, not normalised any more, rounded to 8 bits."""
    pipeline = (
        Compose([*parts, NORMALIZE]) if not isinstance(parts[-1], RandomErasing) else Compose([NORMALIZE, *parts])
    )
    ours = pipeline(PIXELS.expand(N, -1, -1, -1), generator_at(0))
    single = reference(pipeline)
    with global_random_state(generator_at(1)), torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        theirs = torch.stack([single(PHOTOGRAPH) for _ in range(N)])
    return ((images * NORMALIZE.std + NORMALIZE.mean).mul(255).round() / 255 for images in (ours, theirs))


@pytest.mark.parametrize("parts", PIPELINES.values(), ids=PIPELINES)
def test_laws_are_equal(parts):
    ours, theirs = both(parts)
    for name, measure in MEASURES.items():
        a, b = (measure(images).mul(100).round().numpy() for images in (ours, theirs))
        assert ks_2samp(a, b).statistic < 0.062, name  # p-value of 0.1 % at n = 2000


def test_no_bits_left_by_posterizing_is_black():
    single = reference(RandAugment(1, magnitude=0, probability=1))
    random.seed(0), np.random.seed(0)
    assert any(not np.asarray(single(PHOTOGRAPH)).any() for _ in range(60))


def test_what_no_library_has_for_one_image():
    with pytest.raises(ValueError, match="FeatureCorruption works on batches alone: use the engine device"):
        reference(Compose([FeatureCorruption()]))
