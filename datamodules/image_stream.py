"""Images that processes of their own read, decode and crop while the network trains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Generator, Tensor
from torch.utils.data import DataLoader, Dataset, get_worker_info

from datamodules.augmentations.base import Augmentation, Compose, Identity
from datamodules.augmentations.image import CenterCrop, RandomResizedCrop
from datamodules.augmentations.reference import Transform, reference
from datamodules.decoding import Encoded, decode
from datamodules.sampler import BatchIndices
from datamodules.seeding import generator_at, global_random_state

Cut = Callable[[Image.Image, Generator], Tensor]


@dataclass(frozen=True)
class EncodedImages:
    """Images as they are stored.

    Attributes:
        items: one an image.
    """

    items: Sequence[Encoded]

    def __len__(self) -> int:
        return len(self.items)


def image_at(rows: Tensor | EncodedImages, row: int) -> Image.Image:
    """One of the images, stored or decoded ``[M, 3, H, W]``."""
    if isinstance(rows, EncodedImages):
        return decode(rows.items[row])
    return Image.fromarray(rows[row].permute(1, 2, 0).numpy())


def to_bytes(image: Image.Image) -> Tensor:
    """Pixels ``[3, H, W]``."""
    return torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous()


class AsItIs:
    """Leaves an image whole."""

    def __call__(self, image: Image.Image, generator: Generator) -> Tensor:
        return to_bytes(image)


@dataclass
class RandomCrop:
    """What :class:`RandomResizedCrop` does, to a single image.

    Attributes:
        crop: its law.
    """

    crop: RandomResizedCrop

    def __call__(self, image: Image.Image, generator: Generator) -> Tensor:
        top, left, height, width = (side.item() for side in self.crop.boxes(1, image.height, image.width, generator))
        box, size = (left, top, left + width, top + height), self.crop.size
        # not resize(box=...), which looks beyond the box
        return to_bytes(image.crop(box).resize((size, size), Image.Resampling.BILINEAR))


@dataclass
class Middle:
    """What :class:`CenterCrop` does, to a single image.

    Attributes:
        crop: its sizes.
    """

    crop: CenterCrop

    def __call__(self, image: Image.Image, generator: Generator) -> Tensor:
        return to_bytes(self.crop.of_image(image))


@dataclass
class Whole:
    """A view of single images by torchvision and timm.

    Attributes:
        view: what to do.
    """

    view: Augmentation

    @cached_property
    def transform(self) -> Transform:
        return reference(self.view)

    def __call__(self, image: Image.Image, generator: Generator) -> Tensor:
        seed = int(torch.randint(2**62, (), generator=generator))
        with global_random_state(generator), torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            result = self.transform(image)
        return result if isinstance(result, Tensor) else to_bytes(result)


def cut_of(view: Augmentation) -> tuple[Cut, Augmentation]:
    """What is done to single images before they can be one batch, and what is left to do to batches.

    That is the crop that a view begins with. Without one images stay as they are, and must be of one size.
    """
    if isinstance(view, Compose) and len(view.augmentations):
        first, *others = view.augmentations
        cut, rest = cut_of(first)  # type: ignore[arg-type]  # a ModuleList forgets the class
        return cut, Compose([rest, *others])  # type: ignore[list-item]
    if isinstance(view, RandomResizedCrop):
        return RandomCrop(view), Identity()
    if isinstance(view, CenterCrop):
        return Middle(view), Identity()
    return AsItIs(), view


class Failure(str):
    """What a process that reads images has to say in place of a batch, one line.

    Raised there, it would come with a traceback in its message. Lightning moves batches to devices and takes strings
    for what they are.
    """


class ImageBatches(Dataset):
    """A data set whose items are whole batches, by the epoch and the rows: every view ``[N, 3, H, W]``, and the labels.

    Args:
        rows: images.
        target: labels, ``[M]``.
        index: rows of a split.
        cuts: one a view.
        seed: of the draws, which depend on (seed, epoch, row, view) alone.
    """

    def __init__(
        self, rows: Tensor | EncodedImages, target: Tensor, index: Tensor, cuts: Sequence[Cut], seed: int
    ) -> None:
        self.rows = rows
        self.target = target
        self.index = index
        self.cuts = list(cuts)
        self.seed = seed

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, drawn: Tensor | tuple[int, Tensor]) -> tuple[list[Tensor], Tensor] | Failure:
        if get_worker_info() is None:
            return self.batch(drawn)
        try:
            return self.batch(drawn)
        except (OSError, ValueError) as error:
            return Failure(str(error))

    def batch(self, drawn: Tensor | tuple[int, Tensor]) -> tuple[list[Tensor], Tensor]:
        """As an item, with mistakes raised."""
        epoch, index = drawn if isinstance(drawn, tuple) else (0, drawn)
        views: list[list[Tensor]] = [[] for _ in self.cuts]
        for row in index.tolist():
            image = image_at(self.rows, row)
            for number, (view, cut) in enumerate(zip(views, self.cuts, strict=True)):
                view.append(cut(image, generator_at(self.seed, epoch, row, number, 0)))  # a batch's have four numbers
        return [self._stack(view, index) for view in views], self.target[index]

    def _stack(self, images: list[Tensor], index: Tensor) -> Tensor:
        for row, image in zip(index.tolist(), images, strict=True):
            if image.shape != images[0].shape:
                name = self.rows.items[row].name if isinstance(self.rows, EncodedImages) else f"image {row}"
                sizes = " and ".join(f"{one.shape[2]} x {one.shape[1]}" for one in (image, images[0]))
                raise ValueError(
                    f"{name} is not as large as others, {sizes} pixels: "
                    "a view has to begin with RandomResizedCrop, and eval_augmentation with CenterCrop"
                )
        return torch.stack(images)


class EpochBatches(BatchIndices):
    """Training batches with their epoch, which a process that outlives it cannot know.

    Attributes:
        skip: batches of the next epoch that were had before.
    """

    skip = 0

    def __iter__(self) -> Iterator[Any]:
        skip, self.skip = self.skip, 0
        for rows in islice(super().__iter__(), skip, None):
            yield self.epoch, rows


class StreamLoader(DataLoader):
    """A loader of training batches from processes, which a run resumed within an epoch continues where it stopped.

    Args:
        batches: what to read.
        sampler: draws the batches.
        arguments: of ``DataLoader``.
    """

    def __init__(self, batches: ImageBatches, sampler: EpochBatches, **arguments: Any) -> None:
        super().__init__(batches, batch_size=None, sampler=sampler, **arguments)
        self.yielded = sampler.skip  # batches of the current epoch

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        self.yielded = self.sampler.skip  # type: ignore[attr-defined]
        for batch in super().__iter__():
            self.yielded += 1
            yield batch
