"""Your own images: a folder of them, or one folder a class."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from datamodules.augmentations.base import Augmentation
from datamodules.base import Samples, Split
from datamodules.images.base import Engine
from datamodules.images.cache import decodable, decode_all
from datamodules.images.decoding import Encoded
from datamodules.images.folders import check_training, images_of, parts_of
from datamodules.images.held_out import digest_of
from datamodules.images.stream import EncodedImages
from datamodules.images.user_images import UserImages
from datamodules.labels import some, sorted_labels

log = logging.getLogger(__name__)


class ImageFolder(UserImages):
    """Images in folders, of any mode and size.

    ``root/CLASS/…``; the same in ``root/train`` with ``root/val`` or ``root/test`` beside it; or images without labels
    in ``root`` itself. A split that has no folder is cut from the training images, the classes in proportion, the same
    ones in every run. A checkpoint keeps the names of the classes, so that another folder may lack some of them; one
    that it doesn't know counts as unknown, but where none is known the folder's own count. ``predict`` sees every image
    under ``root``.

    Args:
        views: one augmentation of images in [0, 1] a view; unless all images are of one size, each begins with
            ``RandomResizedCrop``.
        eval_augmentation: what evaluation does to images in place of a view; unless all images are of one size, it
            begins with ``CenterCrop``.
        root: the folder; may be read-only.
        batch_size: samples in a batch over all processes.
        held_out: fraction of the images that is set aside for each split without a folder, in [0, 0.5).
        in_memory: decode all images once, which must be of one size, and hold them as bytes.
        skip_broken: leave images out that cannot be decoded, and say how many; looks at all of them first.
        engine: ``device`` or ``worker``, see :class:`ImageDataModule`.
        num_workers: processes that read images, for each that trains.
        labels: training samples that training sees: so many of each class, or as a fraction this share of the labelled
            ones, see :class:`~datamodules.base.InMemoryDataModule`; None: all, labelled or not.

    Raises:
        ValueError: no image, a folder laid out otherwise, a fraction out of range, or a class of one image.
        OSError: no such folder.
    """

    def __init__(
        self,
        views: Sequence[Augmentation],
        eval_augmentation: Augmentation,
        root: str,
        batch_size: int = 256,
        held_out: float = 0.1,
        in_memory: bool = False,
        skip_broken: bool = False,
        engine: Engine = "device",
        num_workers: int = 4,
        labels: int | float | None = None,
    ) -> None:
        place = Path(root).expanduser().absolute()
        super().__init__(views, eval_augmentation, place, batch_size, held_out, in_memory, engine, num_workers, labels)
        self.root = place
        self.skip_broken = skip_broken
        self._parts = {part: images_of(folder) for part, folder in parts_of(self.root).items()}
        self.given = set(self._parts)
        self._broken = 0
        self.names: list[str] = []  # files of the images, relative to the folder
        self.learn(sorted_labels({label for label in self._parts["train"][1] if label is not None}))

    @property
    def files(self) -> list[Path]:
        return [self.root]

    def describe(self) -> dict[str, Any]:
        broken = f" without {self._broken} broken images" if self._broken else ""
        return {**super().describe(), "name": f"{self.root.name}{broken}"}

    def load(self) -> Samples:
        items: list[Encoded] = []
        self.labels = []
        splits: dict[Split, np.ndarray] = {}
        if not self.predicting:
            check_training(self.root)
        broken: list[str] = []
        for part, (found, labels) in self._parts.items():
            if self.skip_broken:
                good = decodable(found)
                broken += [found[i].name for i in sorted(set(range(len(found))) - set(good))]
                found, labels = [found[i] for i in good], [labels[i] for i in good]
            splits[part] = np.arange(len(items), len(items) + len(found))
            items += found
            self.labels += labels
        self._broken = len(broken)
        if not items:
            raise ValueError(f"{self.root}: none of {self._broken} images can be decoded, the first is {broken[0]}")
        if self._broken:
            everything = len(items) + self._broken
            named = some([complaint.removeprefix(f"{self.root}{os.sep}") for complaint in broken])
            log.warning("%s: %d of %d images are broken and left out: %s", self.root, self._broken, everything, named)
        self.names = [Path(item.name).relative_to(self.root).as_posix() for item in items]
        index = {split: torch.from_numpy(numbers) for split, numbers in self.complete(splits).items()}
        return Samples(decode_all(items) if self.in_memory else EncodedImages(items), self.targets(), index)

    def digest(self) -> str:
        return digest_of(self.names)
