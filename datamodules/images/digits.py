"""scikit-learn's digits as images. No download."""

from __future__ import annotations

from collections.abc import Sequence

from torch.nn import functional as F

from datamodules.augmentations.base import Augmentation
from datamodules.base import Samples
from datamodules.digits import read_digits
from datamodules.images.base import ImageDataModule


class DigitsImage(ImageDataModule):
    """Digits as RGB images with three equal channels, enlarged bilinearly.

    Args:
        views: one augmentation of images in [0, 1] a view.
        eval_augmentation: what evaluation does to images in place of a view.
        batch_size: samples in a batch over all processes.
        size: pixels of the images' sides.

    Raises:
        ValueError: a size below 1.
    """

    def __init__(
        self,
        views: Sequence[Augmentation],
        eval_augmentation: Augmentation,
        batch_size: int = 128,
        size: int = 16,
    ) -> None:
        super().__init__(views, eval_augmentation, batch_size, num_classes=10)
        if size < 1:
            raise ValueError(f"size must be at least 1 pixel, got {size}")
        self.size = size

    def load(self) -> Samples:
        pixels, target, splits = read_digits()
        scans = pixels.view(-1, 1, 8, 8) * (255 / 16)
        images = F.interpolate(scans, size=self.size, mode="bilinear", antialias=True)
        return Samples(images.round_().byte().repeat(1, 3, 1, 1), target, splits)
