"""What all image data shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import torch
import torch.nn.functional as F
from torch import Generator, Tensor
from torch.utils.data import DataLoader

from datamodules.augmentations.base import Augmentation
from datamodules.base import InMemoryDataModule, index_loader
from datamodules.images.stream import StreamedImages
from datamodules.sampler import BatchIndices
from datamodules.seeding import generator_at

Engine = Literal["device", "worker"]
RAW_SIDE = 16
"""Pixels along a side of an image that is looked at without an encoder."""


class Reader(Protocol):
    """How images come to the network's device.

    Attributes:
        views: what is left of each view to do there.
        eval_view: what is left of evaluation's.
        train_sampler: what draws training batches.
    """

    views: Sequence[Augmentation]
    eval_view: Augmentation
    train_sampler: type[BatchIndices]

    def loader(self, sampler: BatchIndices) -> DataLoader:
        """A loader of the batches that a sampler draws."""

    def read(self, raw: Any) -> tuple[Sequence[Tensor], Tensor]:
        """What a loader yields as images ``[N, 3, H, W]`` for each view, and their labels."""

    def at(self, index: Tensor, epoch: int) -> Sequence[Tensor]:
        """The images at ``index`` for each view, as an epoch might read them."""


class ImageDataModule(InMemoryDataModule):
    """Images as bytes ``[M, 3, H, W]`` or as they are stored; a batch is float32 in [0, 1] on the network's device.

    Images that are held as bytes are augmented there, whole batches at once. Stored ones, ``EncodedImages``, are read,
    decoded and cut to one size by ``num_workers`` processes: the crop that a view begins with happens there, all that
    follows on the device.

    Args:
        views: one augmentation of images in [0, 1] a view.
        eval_augmentation: what evaluation does to images in place of a view: deterministic, such as ``Normalize``.
        batch_size: samples in a batch over all processes.
        num_classes: number of labels.
        engine: ``device``, or ``worker``: the processes do everything, image by image with torchvision and timm, which
            is slow and what ``device`` is held against.
        num_workers: processes that read images, for each that trains; 0: this one.
        in_memory: whether images are held as bytes.
        labels: training samples that training sees: so many of each class, or as a fraction this share of the labelled
            ones, see :class:`~datamodules.base.InMemoryDataModule`; None: all, labelled or not.

    Raises:
        ValueError: a negative number of processes, or an engine that doesn't exist.
    """

    SAMPLES = "images"

    def __init__(
        self,
        views: Sequence[Augmentation],
        eval_augmentation: Augmentation,
        batch_size: int,
        num_classes: int,
        engine: Engine = "device",
        num_workers: int = 4,
        in_memory: bool = True,
        labels: int | float | None = None,
    ) -> None:
        super().__init__(views, batch_size, num_classes, labels=labels)
        if num_workers < 0:
            raise ValueError(f"num_workers must not be negative, got {num_workers}")
        if engine not in ("device", "worker"):
            raise ValueError(f"engine must be device or worker, got {engine}")
        self.eval_augmentation = eval_augmentation
        self.engine = engine
        self.num_workers = num_workers
        self.in_memory = in_memory
        self.reader: Reader = (
            InMemoryImages(self) if in_memory and engine == "device" else StreamedImages(self, engine == "worker")
        )

    def train_sampler(self, index: Tensor) -> BatchIndices:
        return self.reader.train_sampler(index, self.training_batch(index), True, self.seed, *self.processes)

    def loader(self, sampler: BatchIndices) -> DataLoader:
        return self.reader.loader(sampler)

    def train_batch(self, raw: Any) -> tuple[list[Tensor], Tensor]:
        images, target = self.reader.read(raw)
        return self._viewed(images, self.generator(target.device)), target

    def eval_batch(self, raw: Any) -> tuple[Tensor, Tensor]:
        (images, *_), target = self.reader.read(raw)
        viewed: Tensor = self.reader.eval_view(to_float(images), generator_at(self.seed, device=images.device))
        return viewed, target

    def raw_input(self, x: Tensor) -> Tensor:
        """Pixels of images ``[N, C, H, W]``, those of larger ones averaged to 16 along a side, ``[N, C · 256]``."""
        height, width = (min(RAW_SIDE, side) for side in x.shape[2:])
        return F.adaptive_avg_pool2d(x, (height, width)).flatten(1)

    def views_at(self, index: Tensor, epoch: int = 0) -> list[Tensor]:
        """The views of some images as an epoch might draw them, ``[N, 3, H, W]`` each on the CPU: to look at."""
        return self._viewed(self.reader.at(index, epoch), generator_at(self.seed, epoch))

    def _viewed(self, images: Sequence[Tensor], generator: Generator) -> list[Tensor]:
        return [view(to_float(image), generator) for view, image in zip(self.reader.views, images, strict=True)]


class InMemoryImages:
    """Images that are held as bytes: a batch is cut out of them where the network is.

    Args:
        data: the data module.
    """

    train_sampler: type[BatchIndices] = BatchIndices

    def __init__(self, data: ImageDataModule) -> None:
        self.data = data
        self.views: Sequence[Augmentation] = data.views
        self.eval_view = data.eval_augmentation

    def loader(self, sampler: BatchIndices) -> DataLoader:
        return index_loader(sampler)

    def read(self, raw: Tensor) -> tuple[Sequence[Tensor], Tensor]:
        images, target = self.data.take(raw)
        return [to_float(images)] * len(self.views), target  # once for all views

    def at(self, index: Tensor, epoch: int) -> Sequence[Tensor]:
        return self.read(index)[0]


def to_float(images: Tensor) -> Tensor:
    """Bytes as float32 in [0, 1]; what is no byte any more stays."""
    return images.float().div_(255) if images.dtype == torch.uint8 else images
