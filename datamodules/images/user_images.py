"""What your own images share: classes and splits that come from the data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from torch import Tensor

from datamodules.augmentations.base import Augmentation
from datamodules.base import Samples, Split
from datamodules.images.base import Engine, ImageDataModule
from datamodules.images.held_out import check_held_out, set_aside, warn_of_others
from datamodules.labels import classes_after, numbers_of, warn_of_unknown


class UserImages(ImageDataModule):
    """Images whose classes are those of their labels, and whose missing splits are cut from the training images.

    A subclass sets ``classes``, by :meth:`learn`, and ``labels``, and says what its images are by :meth:`digest`.

    Args:
        views: one augmentation of images in [0, 1] a view.
        eval_augmentation: what evaluation does to images in place of a view.
        place: the folder of the images, or their name on the hub.
        batch_size: samples in a batch over all processes.
        held_out: fraction of the images that is set aside for each split that is missing, in [0, 0.5).
        in_memory: whether images are decoded once and held as bytes.
        engine: ``device`` or ``worker``, see :class:`ImageDataModule`.
        num_workers: processes that read images, for each that trains.
        labels: training samples that training sees: so many of each class, or as a fraction this share of the labelled
            ones, see :class:`~datamodules.base.InMemoryDataModule`; None: all, labelled or not.

    Raises:
        ValueError: a fraction out of range.
    """

    PREDICTS_ALL = True
    OWN = True

    def __init__(
        self,
        views: Sequence[Augmentation],
        eval_augmentation: Augmentation,
        place: Path | str,
        batch_size: int,
        held_out: float,
        in_memory: bool,
        engine: Engine,
        num_workers: int,
        labels: int | float | None,
    ) -> None:
        super().__init__(views, eval_augmentation, batch_size, 0, engine, num_workers, in_memory, labels)
        check_held_out(held_out)
        self.place = place
        self.held_out = held_out
        self.classes: list[str] = []
        self.labels: list[str | None] = []
        self.given: set[Split] = set()  # splits that are not cut from the training images

    def learn(self, classes: list[str]) -> None:
        """Takes these for the classes."""
        self.classes = classes
        self.num_classes = len(classes)

    def digest(self) -> str:
        """A digest that tells whether the images are those of before."""
        raise NotImplementedError

    def targets(self) -> Tensor:
        """The numbers of the labels of all samples, −1 where unknown, ``[M]``."""
        return numbers_of(self.labels, self.classes)

    def complete(self, splits: dict[Split, np.ndarray]) -> dict[Split, np.ndarray]:
        """All splits, of which the missing ones are cut from the training images."""
        target = numbers_of(self.labels, self.classes)
        if self.predicting:  # which needs no split, and there may be too few images for one
            return dict.fromkeys(get_args(Split), np.arange(len(target)))
        for split in get_args(Split):
            if split not in splits:
                index = splits["train"]
                splits["train"], splits[split] = set_aside(self.place, target, self.classes, self.held_out, index)
        return splits

    def encode(self, samples: Samples) -> Samples:
        # labels are numbered anew: a checkpoint may have brought other classes since
        warn_of_unknown(self.place, self.labels, self.classes)
        return Samples(samples.inputs, self.targets(), samples.splits)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "classes": self.classes, "images": self.digest()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        trained = state_dict["classes"]
        self.learn(classes_after(self.place, trained, self.classes, self.predicting))
        if not self.predicting and len(self.given) < len(get_args(Split)) and self.classes == trained:
            warn_of_others(self.place, state_dict["images"], self.digest())
