"""The data module of everything that fits in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from lightning.pytorch import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader

from datamodules.augmentations.base import Augmentation, Nested
from datamodules.sampler import BatchIndices, Indices, TrainLoader
from datamodules.seeding import generator_at

Split = Literal["train", "val", "test"]


@dataclass
class Samples:
    """All samples of a data set.

    Attributes:
        rows: what ``rows[index]`` cuts a batch out of and ``rows.to(device)`` moves: a tensor ``[M, ...]``, or ragged
            graphs.
        target: labels ``[M]``, −1 where unknown.
        splits: rows of each split.
    """

    rows: Any
    target: Tensor
    splits: dict[Split, Tensor]


class InMemoryDataModule(LightningDataModule):
    """Data held as one tensor (or one ragged set of graphs) on the device that the batches are on.

    Loaders yield index tensors; a batch is cut out and augmented where the model is. A subclass implements
    :meth:`load`, and :meth:`encode` if something is fitted on training rows.

    Args:
        views: one augmentation a view; the first two are the global views.
        batch_size: samples in a batch over *all* processes, so that a configuration means the same on any number of
            devices.
        num_classes: number of labels.
        in_features: columns or node features of a sample; None for images.

    Raises:
        ValueError: fewer than two views.
    """

    ROOT_IS_A_PLACE: ClassVar[bool] = False
    """Whether the argument ``root`` says where the data lies, and not which data it is."""

    def __init__(
        self, views: Sequence[Augmentation], batch_size: int, num_classes: int, in_features: int | None = None
    ) -> None:
        super().__init__()
        if len(views) < 2:
            raise ValueError(f"contrastive learning needs at least 2 views, got {len(views)}")
        self.views = list(views)
        self.batch_size = batch_size
        self.num_classes = num_classes
        self.in_features = in_features
        self.cardinalities: tuple[int, ...] = ()
        self.seed = 0
        self._loaded: Samples | None = None
        self._encoded: Samples | None = None
        self._train_loader: TrainLoader | None = None
        self._skip = 0

    @property
    def files(self) -> list[Path]:
        """What the data is read from, if that lies in files of its own: results go stale when they change."""
        return []

    def describe(self) -> dict[str, Any]:
        """The data as really used, for the record: its ``name`` and the ``samples`` in each split."""
        samples = {split: len(rows) for split, rows in self.samples.splits.items()}
        return {"name": type(self).__name__, "samples": samples}

    def load(self) -> Samples:
        """Reads the data; user mistakes and missing files are reported here."""
        raise NotImplementedError

    def encode(self, samples: Samples) -> Samples:
        """Applies what is fitted on the training rows, fitting it first unless a checkpoint brought it."""
        return samples

    def eval_view(self, rows: Any) -> Any:
        """What evaluation does to a batch of rows in place of augmentation."""
        return rows

    def setup(self, stage: str | None = None) -> None:
        self.seed = torch.initial_seed()  # what seed_everything set, the same on every process
        if self._loaded is None and self._encoded is None:
            self._loaded = self.load()

    @property
    def samples(self) -> Samples:
        """The encoded data. Encoding waits for the first loader, since a checkpoint's state comes after ``setup``."""
        if self._encoded is None:
            self.setup()
            assert self._loaded is not None
            self._encoded, self._loaded = self.encode(self._loaded), None
            if any(fits(view) for view in self.views):
                train_rows = self._encoded.rows[self._encoded.splits["train"]]
                for view in self.views:
                    view.fit(train_rows)
        return self._encoded

    def take(self, index: Tensor) -> tuple[Any, Tensor]:
        """The rows and labels at ``index``, on the device of ``index``."""
        samples = self.samples
        if samples.target.device != index.device:
            samples.rows, samples.target = samples.rows.to(index.device), samples.target.to(index.device)
        return samples.rows[index], samples.target[index]

    def train_batch(self, raw: Tensor) -> tuple[list[Any], Tensor]:
        """The views and labels of the samples at ``raw``.

        Random numbers depend on (seed, epoch, batch index, rank) alone.
        """
        rows, target = self.take(raw)
        position = (0, 0, 0)
        if self.trainer is not None:
            position = (self.trainer.current_epoch, self.trainer.fit_loop.batch_idx + 1, self.trainer.global_rank)
        generator = generator_at(self.seed, *position, device=raw.device)
        return [view(rows, generator) for view in self.views], target

    def eval_batch(self, raw: Tensor) -> tuple[Any, Tensor]:
        """The samples at ``raw`` without augmentation, and their labels."""
        rows, target = self.take(raw)
        return self.eval_view(rows), target

    def on_after_batch_transfer(self, batch: Tensor, dataloader_idx: int) -> tuple[Any, Tensor]:
        assert self.trainer is not None
        # Lightning converts a batch before this hook, when it is still an index.
        convert = self.trainer.precision_plugin.convert_input
        if self.trainer.training:
            views, target = self.train_batch(batch)
            return [apply(view, convert) for view in views], target
        x, target = self.eval_batch(batch)
        return apply(x, convert), target

    def feature_dataloader(self, split: Split) -> DataLoader:
        """Index batches of a split in order, each sample once over all processes."""
        return self._loader(split)

    def train_dataloader(self) -> DataLoader:
        indices, sampler = self._sampler("train", train=True)
        self._train_loader = TrainLoader(indices, sampler, generator_at(self.seed), self._skip)
        self._skip = 0
        return self._train_loader

    def val_dataloader(self) -> DataLoader:
        return self._loader("val")

    def test_dataloader(self) -> DataLoader:
        return self._loader("test")

    def predict_dataloader(self) -> DataLoader:
        return self._loader("test")

    def state_dict(self) -> dict[str, Any]:
        """The place within the epoch, so that a run resumed there goes on with the epoch's other batches.

        A subclass adds what it fitted on training rows.
        """
        if self._train_loader is None or self.trainer is None:
            return {"position": 0}
        return {"position": self._train_loader.yielded % self.trainer.num_training_batches}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._skip = state_dict["position"]

    def _loader(self, split: Split) -> DataLoader:
        indices, sampler = self._sampler(split, train=False)
        return DataLoader(indices, batch_size=None, sampler=sampler, generator=generator_at(self.seed))

    def _sampler(self, split: Split, train: bool) -> tuple[Indices, BatchIndices]:
        rank, world_size = 0, 1
        if self.trainer is not None:
            rank, world_size = self.trainer.global_rank, self.trainer.world_size
        indices = Indices(self.samples.splits[split])
        return indices, BatchIndices(indices, self.batch_size, train, self.seed, rank, world_size)


def apply(x: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """A function of a tensor, or of every tensor of a graph batch."""
    return function(x) if isinstance(x, Tensor) else x.apply(function)


def fits(view: Augmentation) -> bool:
    """Whether any part of a view learns from training rows; cutting them out costs a copy."""
    inherited = (Augmentation.fit, Nested.fit)
    return any(type(part).fit not in inherited for part in view.modules() if isinstance(part, Augmentation))
