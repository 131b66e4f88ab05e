"""ImageNet of 2012, whole or a hundred of its classes, from the original archives, unpacked or not."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from datamodules.augmentations.base import Augmentation
from datamodules.base import Samples, Split
from datamodules.images.base import Engine, ImageDataModule
from datamodules.images.folders import images_of
from datamodules.images.held_out import set_aside
from datamodules.images.stream import EncodedImages
from datamodules.labels import numbers_of

DEVKIT = "ILSVRC2012_devkit_t12.tar.gz"
ARCHIVES = {"train": "ILSVRC2012_img_train.tar", "val": "ILSVRC2012_img_val.tar"}


class ImageNet(ImageDataModule):
    """ImageNet (Russakovsky et al., 2015): 1,281,167 training and 50,000 validation images of 1,000 classes.

    ``root`` has folders ``train`` and ``val``, in which each class is a folder named by its synset such as
    ``n01440764``; or the three archives of the site, which asks for a registration, to be unpacked there once, in a
    folder that can be written.

    The site's validation images are the test split, which papers report. What is chosen on validation images is chosen
    on some that are set aside from the training images: the same ones in every run, the classes in proportion.

    Args:
        views: one augmentation of images in [0, 1] a view; each begins with ``RandomResizedCrop``.
        eval_augmentation: what evaluation does to images in place of a view; begins with ``CenterCrop``.
        batch_size: samples in a batch over all processes.
        root: folder of the images; may be read-only if they are unpacked.
        val_fraction: fraction of the training images that is set aside, in [0, 1); 0: all train, none validate.
        engine: ``device`` or ``worker``, see :class:`ImageDataModule`.
        num_workers: processes that read images, for each that trains.

    Raises:
        ValueError: a fraction outside [0, 1), or folders of other classes.
        OSError: neither folders nor archives.
    """

    ROOT_IS_A_PLACE = True
    CLASSES: ClassVar[int] = 1000

    def __init__(
        self,
        views: Sequence[Augmentation],
        eval_augmentation: Augmentation,
        batch_size: int = 512,
        root: str = "data/imagenet",
        val_fraction: float = 0.01,
        engine: Engine = "device",
        num_workers: int = 8,
    ) -> None:
        super().__init__(views, eval_augmentation, batch_size, self.CLASSES, engine, num_workers, in_memory=False)
        if not 0 <= val_fraction < 1:
            raise ValueError(f"val_fraction must be in [0, 1), got {val_fraction}")
        self.root = Path(root).expanduser().absolute()
        self.val_fraction = val_fraction

    @property
    def files(self) -> list[Path]:
        return [self.root / "train", self.root / "val"]

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "name": type(self).__name__}

    @classmethod
    def wanted(cls) -> frozenset[str] | None:
        """Synsets of the classes; None: all that there are."""
        return None

    def prepare_data(self) -> None:
        from torchvision.datasets import imagenet

        missing = [name for name in ("train", "val") if not (self.root / name).is_dir()]
        if not missing:
            return
        needed = [DEVKIT, *(ARCHIVES[name] for name in missing)]
        lacking = [archive for archive in needed if not (self.root / archive).is_file()]
        if lacking:
            raise FileNotFoundError(
                f"no folder {' or '.join(missing)} in {self.root}, nor {', '.join(lacking)} to unpack: get them from "
                f"https://image-net.org/download.php and put them, packed as they are, into {self.root}"
            )
        from filelock import FileLock

        with FileLock(self.root / "unpacking.lock"):  # another run may be at it
            try:
                imagenet.parse_devkit_archive(self.root)
                for name in missing:
                    if (self.root / name).is_dir():
                        continue
                    part = self.root / f"{name}.part"  # takes its name when it is whole
                    shutil.rmtree(part, ignore_errors=True)
                    parse = imagenet.parse_train_archive if name == "train" else imagenet.parse_val_archive
                    parse(self.root, folder=part.name)
                    part.rename(self.root / name)
            except RuntimeError as error:
                raise ValueError(str(error)) from error

    def load(self) -> Samples:
        self.prepare_data()
        wanted = self.wanted()
        (train, train_labels), (test, test_labels) = (images_of(folder, wanted) for folder in self.files)
        classes = sorted({label for label in train_labels if label is not None})
        if len(classes) != self.CLASSES:
            raise ValueError(f"{self.files[0]} has folders of {len(classes)} of the {self.CLASSES:,} classes")
        target = numbers_of([*train_labels, *test_labels], classes)
        if (target < 0).any():
            strange = test_labels[int((target[len(train) :] < 0).nonzero()[0])]
            if strange is None:
                raise ValueError(
                    f"{self.files[1]} has images in itself, not in folders of classes such as n01440764: remove it and "
                    f"put {ARCHIVES['val']}, packed as it is, into {self.root}"
                )
            raise ValueError(f"{self.files[1]} has images of {strange}, which {self.files[0]} has not")
        stay, held_out = set_aside(self.files[0], target, classes, self.val_fraction, np.arange(len(train)))
        splits: dict[Split, torch.Tensor] = {
            "train": torch.from_numpy(stay),
            "val": torch.from_numpy(held_out),
            "test": torch.arange(len(train), len(target)),
        }
        return Samples(EncodedImages([*train, *test]), target, splits)


class ImageNet100(ImageNet):
    """The hundred classes of :class:`ImageNet` that CMC (Tian et al., 2020) drew; arguments are those of ImageNet.

    ``root`` may have the other classes too.

    Args:
        views: one augmentation of images in [0, 1] a view; each begins with ``RandomResizedCrop``.
        eval_augmentation: what evaluation does to images in place of a view; begins with ``CenterCrop``.
        batch_size: samples in a batch over all processes.
        root: folder of the images; may be read-only if they are unpacked.
        val_fraction: fraction of the training images that is set aside, in [0, 1); 0: all train, none validate.
        engine: ``device`` or ``worker``, see :class:`ImageDataModule`.
        num_workers: processes that read images, for each that trains.
    """

    CLASSES = 100

    @classmethod
    def wanted(cls) -> frozenset[str] | None:
        return synsets()


@cache
def synsets() -> frozenset[str]:
    """The synsets of the classes of ImageNet-100."""
    return frozenset(Path(__file__).with_name("imagenet100_synsets.txt").read_text().split())
