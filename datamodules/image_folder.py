"""Your own images: a folder of them, or one folder a class."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from torch.utils.data import DataLoader

from datamodules.augmentations.base import Augmentation
from datamodules.base import Samples, Split
from datamodules.decoded import decode_all, sound
from datamodules.decoding import Encoded
from datamodules.folders import check_training, images_of, parts_of
from datamodules.held_out import check_held_out, digest_of, set_aside, warn_of_others
from datamodules.image_stream import EncodedImages
from datamodules.images import Engine, ImageDataModule
from datamodules.labels import classes_after, in_order, numbers_of, some, warn_of_unknown

log = logging.getLogger(__name__)


class ImageFolder(ImageDataModule):
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
        held_out: share of the images that is set aside for each split without a folder, in [0, 0.5).
        in_memory: decode all images once, which must be of one size, and hold them as bytes.
        skip_broken: leave images out that cannot be decoded, and say how many; looks at all of them first.
        engine: ``device`` or ``worker``, see :class:`ImageDataModule`.
        num_workers: processes that read images, for each that trains.

    Raises:
        ValueError: no image, a folder laid out otherwise, a share out of range, or a class of one image.
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
    ) -> None:
        super().__init__(views, eval_augmentation, batch_size, 0, engine, num_workers)
        check_held_out(held_out)
        self.root = Path(root).expanduser().absolute()
        self.held_out = held_out
        self.in_memory = in_memory
        self.skip_broken = skip_broken
        self._parts = {part: images_of(folder) for part, folder in parts_of(self.root).items()}
        self._broken = 0
        self._predicting = False
        self._labels: list[str | None] = []
        self.names: list[str] = []  # files of the images, relative to the folder
        self._learn(in_order({label for label in self._parts["train"][1] if label is not None}))

    @property
    def files(self) -> list[Path]:
        return [self.root]

    def describe(self) -> dict[str, Any]:
        broken = f" without {self._broken} broken images" if self._broken else ""
        return {**super().describe(), "name": f"{self.root.name}{broken}"}

    def setup(self, stage: str | None = None) -> None:
        self._predicting = stage == "predict"
        super().setup(stage)

    def load(self) -> Samples:
        items: list[Encoded] = []
        labels: list[str | None] = []
        splits: dict[Split, np.ndarray] = {}
        if not self._predicting:
            check_training(self.root)
        broken: list[str] = []
        for part, (found, names) in self._parts.items():
            if self.skip_broken:
                kept = sound(found)
                broken += [found[i].name for i in sorted(set(range(len(found))) - set(kept))]
                found, names = [found[i] for i in kept], [names[i] for i in kept]
            splits[part] = np.arange(len(items), len(items) + len(found))
            items += found
            labels += names
        self._broken = len(broken)
        if not items:
            raise ValueError(f"{self.root}: none of {self._broken} images can be decoded, the first is {broken[0]}")
        if self._broken:
            everything = len(items) + self._broken
            log.warning(
                "%s: %d of %d images are broken and left out: %s", self.root, self._broken, everything, some(broken)
            )
        self._labels = labels
        self.names = [Path(item.name).relative_to(self.root).as_posix() for item in items]
        if self._predicting:  # which needs no split, and there may be too few images for one
            splits = dict.fromkeys(get_args(Split), np.arange(len(items)))
        for part in get_args(Split):
            if part not in splits:
                target, rows = numbers_of(labels, self.classes), splits["train"]
                splits["train"], splits[part] = set_aside(self.root, target, self.classes, self.held_out, rows)
        pictures = decode_all(items) if self.in_memory else EncodedImages(items)
        return Samples(pictures, numbers_of(labels, self.classes), {k: torch.from_numpy(v) for k, v in splits.items()})

    def encode(self, samples: Samples) -> Samples:
        # labels are numbered anew: a checkpoint may have brought other classes since
        warn_of_unknown(self.root, self._labels, self.classes)
        return Samples(samples.rows, numbers_of(self._labels, self.classes), samples.splits)

    def predict_dataloader(self) -> DataLoader:
        return self.in_order(torch.arange(len(self.samples.target)))

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "classes": self.classes, "images": digest_of(self.names)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        trained = state_dict["classes"]
        if self._predicting:
            self._learn(trained)
            return
        self._learn(classes_after(self.root, trained, self.classes))
        if len(self._parts) < len(get_args(Split)) and self.classes == trained:
            warn_of_others(self.root, state_dict["images"], digest_of(self.names))

    def _learn(self, classes: list[str]) -> None:
        self.classes = classes
        self.num_classes = len(classes)
