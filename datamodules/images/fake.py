"""Made-up images of any size, for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional as F

from datamodules.augmentations.base import Augmentation
from datamodules.base import Samples
from datamodules.fake import check_counts, fake_splits
from datamodules.images.base import ImageDataModule
from datamodules.seeding import generator_at


class FakeImages(ImageDataModule):
    """Noisy copies of one smooth random picture a class, the same at every start.

    Classes are balanced, so features can be told good from bad. The training split has ``num_samples`` images,
    validation and test half as many each.

    Args:
        views: one augmentation of images in [0, 1] a view.
        eval_augmentation: what evaluation does to images in place of a view.
        batch_size: samples in a batch over all processes.
        size: pixels of the images' sides.
        num_samples: training images.
        num_classes: number of labels.

    Raises:
        ValueError: a size, number of images or number of classes below 1.
    """

    NOISE = 0.15

    def __init__(
        self,
        views: Sequence[Augmentation],
        eval_augmentation: Augmentation,
        batch_size: int = 32,
        size: int = 32,
        num_samples: int = 128,
        num_classes: int = 10,
    ) -> None:
        super().__init__(views, eval_augmentation, batch_size, num_classes)
        check_counts(size=size, num_samples=num_samples, num_classes=num_classes)
        self.size = size
        self.num_samples = num_samples

    def load(self) -> Samples:
        generator = generator_at(0)
        splits = fake_splits(self.num_samples)
        target = torch.cat([torch.arange(len(index)) % self.num_classes for index in splits.values()])
        coarse = torch.rand(self.num_classes, 3, 4, 4, generator=generator)
        pictures = F.interpolate(coarse, size=self.size, mode="bilinear", antialias=True)
        images = torch.empty(len(target), 3, self.size, self.size, dtype=torch.uint8)
        for i, label in enumerate(target):  # one at a time, since noise for all would take four times the images' room
            noise = torch.randn(pictures[label].shape, generator=generator)
            images[i] = (pictures[label] + self.NOISE * noise).clamp_(0, 1).mul_(255).round_()
        return Samples(images, target, splits)
