"""Images that processes of their own read, decode and crop while the network trains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, get_worker_info

from datamodules.augmentations.base import Augmentation, Identity
from datamodules.images.cuts import Cut, Whole, cut_of
from datamodules.images.decoding import Encoded, decode
from datamodules.sampler import BatchIndices
from datamodules.seeding import generator_at

if TYPE_CHECKING:
    from datamodules.images.base import ImageDataModule


@dataclass(frozen=True)
class EncodedImages:
    """Images as they are stored.

    Attributes:
        items: one an image.
    """

    items: Sequence[Encoded]

    def __len__(self) -> int:
        return len(self.items)


def image_at(images: Tensor | EncodedImages, number: int) -> Image.Image:
    """One of the images, stored or decoded ``[M, 3, H, W]``."""
    if isinstance(images, EncodedImages):
        return decode(images.items[number])
    return Image.fromarray(images[number].permute(1, 2, 0).numpy())


def name_at(images: Tensor | EncodedImages, number: int) -> str:
    """What a message calls one of the images."""
    return images.items[number].name if isinstance(images, EncodedImages) else f"image {number}"


class Failure(str):
    """What a process that reads images has to say in place of a batch, one line.

    Raised there, it would come with a traceback in its message. Lightning moves batches to devices and takes strings
    for what they are.
    """


class ImageBatches(Dataset):
    """A data set whose items are whole batches: a view ``[N, 3, H, W]`` for each cut, and the labels.

    Args:
        images: all images, stored or decoded.
        target: labels of the images, ``[M]``.
        index: numbers of the images of a split.
        cuts: what is done to an image for each view.
        seed: seed of the draws, which depend on (seed, epoch, image, view) alone.
    """

    def __init__(
        self, images: Tensor | EncodedImages, target: Tensor, index: Tensor, cuts: Sequence[Cut], seed: int
    ) -> None:
        self.images = images
        self.target = target
        self.index = index
        self.cuts = list(cuts)
        self.seed = seed

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, drawn: Any) -> tuple[list[Tensor], Tensor] | Failure:
        if get_worker_info() is None:
            return self.drawn(drawn)
        try:
            return self.drawn(drawn)
        except (OSError, ValueError) as error:
            return Failure(str(error))

    def drawn(self, drawn: Any) -> tuple[list[Tensor], Tensor]:
        """The batch of what a sampler has drawn."""
        return self.batch(0, drawn)

    def batch(self, epoch: int, index: Tensor) -> tuple[list[Tensor], Tensor]:
        """The batch of the images at ``index`` in an epoch."""
        views: list[list[Tensor]] = [[] for _ in self.cuts]
        for number in index.tolist():
            image = image_at(self.images, number)
            for place, (view, cut) in enumerate(zip(views, self.cuts, strict=True)):
                # five numbers, since a batch's generator has four
                view.append(cut(image, generator_at(self.seed, epoch, number, place, 0)))
        return [self._stack(view, index) for view in views], self.target[index]

    def _stack(self, images: list[Tensor], index: Tensor) -> Tensor:
        for number, image in zip(index.tolist(), images, strict=True):
            if image.shape != images[0].shape:
                sizes = " and ".join(f"{one.shape[2]} x {one.shape[1]}" for one in (image, images[0]))
                raise ValueError(
                    f"{name_at(self.images, number)} is not as large as others, {sizes} pixels: "
                    "a view has to begin with RandomResizedCrop, and eval_augmentation with CenterCrop"
                )
        return torch.stack(images)


class TrainingBatches(ImageBatches):
    """Batches as :class:`EpochIndices` draws them."""

    def drawn(self, drawn: tuple[int, Tensor]) -> tuple[list[Tensor], Tensor]:
        return self.batch(*drawn)


class EpochIndices(BatchIndices):
    """Training batches with their epoch, which a process that outlives it cannot know."""

    def __iter__(self) -> Iterator[Any]:
        return ((self.epoch, index) for index in super().__iter__())


class StreamedImages:
    """Images that processes read, and cut to one size; what follows the crop happens on the network's device.

    Args:
        data: the data module.
        whole: whether the processes do all of a view, with torchvision and timm.
    """

    train_sampler: type[BatchIndices] = EpochIndices

    def __init__(self, data: ImageDataModule, whole: bool) -> None:
        self.data = data
        parts = [(Whole(view), Identity()) if whole else cut_of(view) for view in data.views]
        self.cuts: list[Cut] = [cut for cut, _ in parts]
        self.views: Sequence[Augmentation] = [rest for _, rest in parts]
        self.eval_cut, self.eval_view = cut_of(data.eval_augmentation)

    def loader(self, sampler: BatchIndices) -> DataLoader:
        kind, cuts = (TrainingBatches, self.cuts) if sampler.train else (ImageBatches, [self.eval_cut])
        samples, processes = self.data.samples, self.data.num_workers
        return DataLoader(
            kind(samples.inputs, samples.target, sampler.index, cuts, self.data.seed),
            batch_size=None,
            sampler=sampler,
            generator=generator_at(sampler.seed),
            num_workers=processes,
            persistent_workers=processes > 0,
            pin_memory=torch.cuda.is_available(),
        )

    def read(self, raw: tuple[list[Tensor], Tensor] | Failure) -> tuple[list[Tensor], Tensor]:
        """What a process has read; raises ValueError if it could not."""
        if isinstance(raw, Failure):
            raise ValueError(str(raw))
        return raw

    def at(self, index: Tensor, epoch: int) -> list[Tensor]:
        samples = self.data.samples
        return ImageBatches(samples.inputs, samples.target, index, self.cuts, self.data.seed).batch(epoch, index)[0]
