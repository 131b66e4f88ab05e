"""What all image data shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from datamodules.augmentations.base import Augmentation, Identity
from datamodules.base import InMemoryDataModule, Split
from datamodules.image_stream import Cut, EpochBatches, Failure, ImageBatches, StreamLoader, Whole, cut_of
from datamodules.sampler import BatchIndices, Indices
from datamodules.seeding import generator_at

Engine = Literal["device", "worker"]


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

    Raises:
        ValueError: a negative number of processes, or an engine that doesn't exist.
    """

    def __init__(
        self,
        views: Sequence[Augmentation],
        eval_augmentation: Augmentation,
        batch_size: int,
        num_classes: int,
        engine: Engine = "device",
        num_workers: int = 4,
    ) -> None:
        super().__init__(views, batch_size, num_classes)
        if num_workers < 0:
            raise ValueError(f"num_workers must not be negative, got {num_workers}")
        if engine not in ("device", "worker"):
            raise ValueError(f"engine must be device or worker, got {engine}")
        self.eval_augmentation = eval_augmentation
        self.engine = engine
        self.num_workers = num_workers
        parts = [(Whole(view), Identity()) if engine == "worker" else cut_of(view) for view in self.views]
        self._cuts: list[Cut] = [cut for cut, _ in parts]
        self._rests: list[Augmentation] = [rest for _, rest in parts]

    def take(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """The images ``[N, 3, H, W]`` in [0, 1] and labels at ``index``, on the device of ``index``."""
        rows, target = super().take(index)
        return to_float(rows), target

    def eval_view(self, rows: Tensor) -> Tensor:
        images: Tensor = self.eval_augmentation(rows, generator_at(self.seed, device=rows.device))
        return images

    @property
    def _streams(self) -> bool:
        """Whether processes read the images."""
        return self.engine == "worker" or not isinstance(self.samples.rows, Tensor)

    def train_batch(self, raw: Any) -> tuple[list[Tensor], Tensor]:
        if isinstance(raw, Tensor):
            return super().train_batch(raw)
        cuts, target = read(raw)
        generator = self._generator(target.device)
        return [rest(to_float(cut), generator) for rest, cut in zip(self._rests, cuts, strict=True)], target

    def eval_batch(self, raw: Any) -> tuple[Tensor, Tensor]:
        if isinstance(raw, Tensor):
            return super().eval_batch(raw)
        (cut,), target = read(raw)
        _, rest = cut_of(self.eval_augmentation)
        images: Tensor = rest(to_float(cut), generator_at(self.seed, device=cut.device))
        return images, target

    def views_at(self, index: Tensor, epoch: int = 0) -> list[Tensor]:
        """The views of some rows as an epoch might draw them, ``[N, 3, H, W]`` each on the CPU: to look at."""
        generator = generator_at(self.seed, epoch)
        if not self._streams:
            images, _ = self.take(index)
            return [view(images, generator) for view in self.views]
        cuts, _ = self._batches(index, self._cuts).batch((epoch, index))
        return [rest(to_float(cut), generator) for rest, cut in zip(self._rests, cuts, strict=True)]

    def train_dataloader(self) -> DataLoader:
        if not self._streams:
            return super().train_dataloader()
        batches = self._batches(self.samples.splits["train"], self._cuts)
        sampler = EpochBatches(batches, self.batch_size, True, self.seed, *self._place)  # type: ignore[arg-type]
        sampler.skip, self._skip = self._skip, 0
        loader = StreamLoader(batches, sampler, **self._processes())
        self._train_loader = loader  # type: ignore[assignment]
        return loader

    def in_order(self, index: Tensor) -> DataLoader:
        """Evaluation batches of some rows, each once over all processes."""
        if self._streams:
            batches = self._batches(index, [cut_of(self.eval_augmentation)[0]])
            sampler = BatchIndices(batches, self.batch_size, False, self.seed, *self._place)  # type: ignore[arg-type]
            return DataLoader(batches, batch_size=None, sampler=sampler, **self._processes())
        rows = Indices(index)
        sampler = BatchIndices(rows, self.batch_size, False, self.seed, *self._place)
        return DataLoader(rows, batch_size=None, sampler=sampler, generator=generator_at(self.seed))

    def _loader(self, split: Split) -> DataLoader:
        return self.in_order(self.samples.splits[split])

    def _batches(self, index: Tensor, cuts: Sequence[Cut]) -> ImageBatches:
        return ImageBatches(self.samples.rows, self.samples.target, index, cuts, self.seed)

    def _processes(self) -> dict[str, Any]:
        return {
            "num_workers": self.num_workers,
            "persistent_workers": self.num_workers > 0,
            "pin_memory": torch.cuda.is_available(),
            "generator": generator_at(self.seed),
        }

    @property
    def _place(self) -> tuple[int, int]:
        """This process and how many there are."""
        return (0, 1) if self.trainer is None else (self.trainer.global_rank, self.trainer.world_size)

    def _generator(self, device: torch.device) -> torch.Generator:
        """Draws that depend on (seed, epoch, batch index, rank) alone."""
        position = (0, 0, 0)
        if self.trainer is not None:
            position = (self.trainer.current_epoch, self.trainer.fit_loop.batch_idx + 1, self.trainer.global_rank)
        return generator_at(self.seed, *position, device=device)


def read(raw: tuple[list[Tensor], Tensor] | Failure) -> tuple[list[Tensor], Tensor]:
    """What a process has read; raises ValueError if it could not."""
    if isinstance(raw, Failure):
        raise ValueError(str(raw))
    return raw


def to_float(images: Tensor) -> Tensor:
    """Bytes as float32 in [0, 1]; what is no byte any more stays."""
    return images.float().div_(255) if images.dtype == torch.uint8 else images
