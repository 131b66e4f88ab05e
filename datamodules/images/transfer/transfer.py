"""Data sets that pretrained encoders are evaluated on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import torch

from datamodules.augmentations.base import Augmentation, Compose
from datamodules.base import Samples, Split
from datamodules.images.augmentations.crops import CenterCrop
from datamodules.images.base import Engine, ImageDataModule
from datamodules.images.cuts import cut_of
from datamodules.images.transfer.facts import FACTS, Name
from datamodules.splits import stratified_split


class Transfer(ImageDataModule):
    """A data set of the paper's transfer tasks, with the splits and the metric of its Table 11.

    Linear evaluation: cifar10, cifar100, food101, mit67, pets, flowers102, caltech101, cars, aircraft, dtd and sun397.
    Validation images that a data set doesn't come with are set aside from the training images, the classes in
    proportion, the same ones in every run; Caltech-101 has no split at all, so 30 images of a class train or validate.
    Few-shot classification, of test images alone: fc100, cub200 and plant_disease. Images of voc2007 are of several
    classes, labels ``[M, 20]``, which :class:`OneAgainstRest` alone is for, so that ``num_classes`` is 0.

    The unpacked folder under ``root`` is read, else the archive there is unpacked, else it is downloaded. When images
    are read their numbers are compared with the table's.

    Attributes:
        metric: what the data set is reported by, ``top1``, ``macro_top1`` or ``map11``.

    Args:
        views: one augmentation of images in [0, 1] a view; each begins with ``RandomResizedCrop``.
        eval_augmentation: what evaluation does to images in place of a view; it begins with the crop that ``size`` and
            ``resize`` say, in place of a ``CenterCrop`` of its own.
        name: the data set.
        batch_size: samples in a batch over all processes.
        root: folder of the archive or of what it unpacks to; may be read-only if it is unpacked.
        size: pixels of the sides of the images in evaluation.
        resize: pixels of an image's shorter side before it is cropped to that; None: 8/7 of it, 256 for 224.
        engine: ``device`` or ``worker``, see :class:`ImageDataModule`.
        num_workers: processes that read images, for each that trains.
        labels: training samples that training sees: so many of each class, or as a fraction this share of the labelled
            ones, see :class:`~datamodules.base.InMemoryDataModule`; None: all.

    Raises:
        ValueError: no such data set, or sizes out of order; when data is read, other numbers of images or classes than
            in the table, or files that are missing or damaged.
        OSError: neither folder nor archive, and no download.
    """

    ROOT_IS_A_PLACE = True

    def __init__(
        self,
        views: Sequence[Augmentation],
        eval_augmentation: Augmentation,
        name: Name,
        batch_size: int = 256,
        root: str = "data",
        size: int = 224,
        resize: int | None = None,
        engine: Engine = "device",
        num_workers: int = 4,
        labels: int | float | None = None,
    ) -> None:
        if name not in FACTS:
            raise ValueError(f"name must be one of {', '.join(FACTS)}, got {name}")
        self.facts = FACTS[name]
        crop = CenterCrop(size, round(size * 8 / 7) if resize is None else resize)
        evaluation = Compose([crop, cut_of(eval_augmentation)[1]])
        classes = 0 if self.facts.metric == "map11" else self.facts.classes
        if not classes and labels is not None:
            raise ValueError(
                f"{name} has several labels an image, and data.labels draws where there is one: leave it out"
            )
        super().__init__(views, evaluation, batch_size, classes, engine, num_workers, in_memory=False, labels=labels)
        self.name = name
        self.root = Path(root).expanduser().absolute()
        self.metric = self.facts.metric

    @property
    def files(self) -> list[Path]:
        return self.facts.source.files(self.root)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "name": self.name}

    def prepare_data(self) -> None:
        self.facts.source.fetch(self.root)

    def load(self) -> Samples:
        self.prepare_data()
        samples = self.facts.source.read(self.root)
        found = {split: samples.splits.get(split, torch.empty(0, dtype=torch.long)) for split in get_args(Split)}
        expected = dict(self.facts.sizes)
        cut = "val" not in samples.splits and expected["val"] > 0
        if cut:
            expected |= {"train": expected["train"] + expected["val"], "val": 0}
        for split, index in found.items():
            if len(index) != expected[split]:
                what = "training and validation images" if cut and split == "train" else f"images of the split {split}"
                self._refuse(f"{len(index):,} {what}, and {expected[split]:,}")
        target = samples.target
        if (classes := target.shape[1] if target.ndim > 1 else len(target.unique())) != self.facts.classes:
            self._refuse(f"images of {classes:,} classes, and of {self.facts.classes:,}")
        if cut:
            parts = stratified_split(target, self.facts.val, found["train"].numpy())
            found["train"], found["val"] = map(torch.from_numpy, parts)
        return Samples(samples.inputs, target, found)

    def _refuse(self, numbers: str) -> None:
        raise ValueError(f"{self.name} in {self.root} has {numbers} are expected: is it all there, and the original?")
