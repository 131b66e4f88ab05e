"""What all image data that fits in memory shares."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from datamodules.augmentations.base import Augmentation
from datamodules.base import InMemoryDataModule
from datamodules.seeding import generator_at


class ImageDataModule(InMemoryDataModule):
    """Images held as bytes ``[M, 3, H, W]``; a batch is float32 in [0, 1], on the device that it is needed on.

    Args:
        views: one augmentation of images in [0, 1] a view.
        eval_augmentation: what evaluation does to images in place of a view: deterministic, such as ``Normalize``.
        batch_size: samples in a batch over all processes.
        num_classes: number of labels.
    """

    def __init__(
        self, views: Sequence[Augmentation], eval_augmentation: Augmentation, batch_size: int, num_classes: int
    ) -> None:
        super().__init__(views, batch_size, num_classes)
        self.eval_augmentation = eval_augmentation

    def take(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """The images ``[N, 3, H, W]`` in [0, 1] and labels at ``index``, on the device of ``index``."""
        rows, target = super().take(index)
        images: Tensor = rows.float().div_(255)
        return images, target

    def eval_view(self, rows: Tensor) -> Tensor:
        images: Tensor = self.eval_augmentation(rows, generator_at(self.seed, device=rows.device))
        return images
