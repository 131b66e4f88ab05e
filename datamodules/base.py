"""The data module of everything that fits in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from lightning.pytorch import LightningDataModule
from torch import Generator, Tensor, nn
from torch.utils.data import DataLoader, Dataset

from datamodules.augmentations.base import Augmentation, check_samples, fits
from datamodules.drawing import check_few, few_of
from datamodules.sampler import BatchIndices
from datamodules.seeding import generator_at
from datamodules.stored import class_at, make, part, read

Split = Literal["train", "val", "test"]
MOST_CODES = 1000
"""Categories of a column that become columns of raw input."""


@dataclass
class Samples:
    """All samples of a data set.

    Attributes:
        inputs: what ``inputs[index]`` cuts a batch out of and ``inputs.to(device)`` moves: a tensor ``[M, ...]``, or
            whatever else a domain holds its samples in.
        target: labels ``[M]``, −1 where unknown; where samples are of several classes ``[M, C]``, 1 or 0, −1 for what
            counts as neither.
        splits: numbers of the samples of each split.
    """

    inputs: Any
    target: Tensor
    splits: dict[Split, Tensor]


class Indices(Dataset):
    """The data set whose item is its key: a loader over it yields what its sampler draws.

    Args:
        index: numbers of the samples of a split, ``[M]``.
    """

    def __init__(self, index: Tensor) -> None:
        self.index = index

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, key: Tensor) -> Tensor:
        return key


class SplitLoaders(LightningDataModule):
    """Loaders of the splits of a data set, for any number of processes and from any place within an epoch.

    Args:
        batch_size: samples in a batch over all processes.
    """

    PREDICTS_ALL: ClassVar[bool] = False
    """Whether ``predict`` is for every sample, whatever its split, or for the test split."""

    def __init__(self, batch_size: int) -> None:
        super().__init__()
        self.batch_size = batch_size
        self.seed = 0
        self._skip = 0  # batches of the next epoch that were trained on before

    @classmethod
    def load_from_checkpoint(  # type: ignore[override]
        cls, checkpoint_path: str | Path, **arguments: Any
    ) -> Any:
        """The data module that a checkpoint of the command holds, of this class or one that inherits from it.

        Args:
            checkpoint_path: the file.
            arguments: arguments in place of the checkpoint's.

        Raises:
            ValueError: a checkpoint that is damaged or holds other data, or names classes that are not of this package.
            OSError: a file that cannot be read.
        """
        checkpoint = read(Path(checkpoint_path))
        stored = part(checkpoint, cls.CHECKPOINT_HYPER_PARAMS_KEY, checkpoint_path)
        found = class_at(stored.get("_class_path"), checkpoint_path)
        if not issubclass(found, cls):
            raise ValueError(f"{checkpoint_path} holds {found.__name__}, which is no {cls.__name__}")
        own = {key: value for key, value in stored.items() if key not in ("_class_path", "_instantiator")}
        section = {"class_path": stored["_class_path"], "init_args": {**own, **arguments}}
        data = make(section, checkpoint_path)
        if found.__qualname__ in checkpoint:
            data.load_state_dict(part(checkpoint, found.__qualname__, checkpoint_path))
        return data

    @property
    def samples(self) -> Samples:
        """All samples."""
        raise NotImplementedError

    @property
    def processes(self) -> tuple[int, int]:
        """The rank of this process, and how many there are."""
        return (0, 1) if self.trainer is None else (self.trainer.global_rank, self.trainer.world_size)

    def generator(self, device: torch.device) -> Generator:
        """Random numbers of a training batch, which depend on (seed, epoch, batch index, rank) alone."""
        place = (0, 0)
        if self.trainer is not None:
            place = (self.trainer.current_epoch, self.trainer.fit_loop.batch_idx + 1)
        return generator_at(self.seed, *place, self.processes[0], device=device)

    def training_batch(self, index: Tensor) -> int:
        """The number of samples in a training batch of the samples at ``index``, over all processes."""
        return self.batch_size

    def train_sampler(self, index: Tensor) -> BatchIndices:
        """What draws this process's training batches of the samples at ``index``."""
        return BatchIndices(index, self.training_batch(index), True, self.seed, *self.processes)

    def loader(self, sampler: BatchIndices) -> DataLoader:
        """A loader of the batches that a sampler draws."""
        return index_loader(sampler)

    def in_order(self, index: Tensor) -> DataLoader:
        """Evaluation batches of the samples at ``index``, each once over all processes.

        The sampler of such a loader says which: it yields their numbers.
        """
        return self.loader(BatchIndices(index, self.batch_size, False, self.seed, *self.processes))

    def train_dataloader(self) -> DataLoader:
        sampler = self.train_sampler(self.samples.splits["train"])
        sampler.skip, self._skip = self._skip, 0
        return self.loader(sampler)

    def feature_dataloader(self, split: Split) -> DataLoader:
        """Evaluation batches of a split, in order, each sample once over all processes."""
        return self.in_order(self.samples.splits[split])

    def val_dataloader(self) -> DataLoader:
        return self.in_order(self.samples.splits["val"])

    def test_dataloader(self) -> DataLoader:
        return self.in_order(self.samples.splits["test"])

    def predict_dataloader(self) -> DataLoader:
        everything = torch.arange(len(self.samples.target))
        return self.in_order(everything if self.PREDICTS_ALL else self.samples.splits["test"])

    def state_dict(self) -> dict[str, Any]:
        """The place within the epoch, so that a run resumed there goes on with the epoch's other batches.

        A batch that is being trained on counts as one to come. A subclass adds what it fitted on training samples.
        """
        if self.trainer is None:
            return {"position": 0}
        trained = self.trainer.fit_loop.epoch_loop.batch_progress.current.processed  # type: ignore[attr-defined]
        return {"position": trained % self.trainer.num_training_batches if trained else 0}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes the place within the epoch from a checkpoint.

        Raises:
            ValueError: it says none.
        """
        position = state_dict.get("position") if isinstance(state_dict, dict) else None
        if not isinstance(position, int):
            raise ValueError(f"the checkpoint's part {type(self).__name__} has no position: it is incomplete")
        self._skip = position


class InMemoryDataModule(SplitLoaders):
    """Data held in one piece on the device that the batches are on.

    Loaders yield index tensors; a batch is cut out and augmented where the model is. A subclass implements
    :meth:`load`, and :meth:`encode` if something is fitted on training samples.

    Args:
        views: one augmentation a view; the first two are the global views.
        batch_size: samples in a batch over *all* processes, so that a configuration means the same on any number of
            devices.
        num_classes: number of labels.
        in_features: columns or node features of a sample; None for images.
        labels: training samples that training sees: a whole number is so many of each class, a fraction in (0, 1] this
            share of the labelled ones, the classes in proportion and one of each at least; None: all samples, labelled
            or not. They are drawn by the seed, once: a checkpoint keeps the seed. What is fitted on training samples is
            fitted on all of them. Where they are fewer than a batch has, all are one batch.

    Raises:
        ValueError: no view, a view of other samples, a number of labels out of range; when data is read, no label to
            draw.
    """

    ROOT_IS_A_PLACE: ClassVar[bool] = False
    """Whether the argument ``root`` says where the data lies, and not which data it is."""
    OWN: ClassVar[bool] = False
    """Whether it is a user's own data, of which nobody has said how far an untrained encoder or none gets."""
    SAMPLES: ClassVar[str | None] = None
    """What its samples are, in a word for people: images, rows or graphs; views are made for one of them."""
    WITHOUT_ENCODER: ClassVar[str | None] = None
    """What else is worth a try on raw input, for people."""

    classes: Sequence[Any] = ()
    """What the labels are called, in their order, where the data knows it."""
    names: Sequence[Any] | None = None
    """What the samples are called, in their order, where the data knows it: for people and for joins."""

    def __init__(
        self,
        views: Sequence[Augmentation],
        batch_size: int,
        num_classes: int,
        in_features: int | None = None,
        labels: int | float | None = None,
    ) -> None:
        super().__init__(batch_size)
        if labels is not None:
            check_few(labels, "data.labels")
        if not views:
            raise ValueError("data.views is empty: training needs at least one view")
        check_samples(views, self.SAMPLES)
        self.views = list(views)
        self.num_classes = num_classes
        self.in_features = in_features
        self.cardinalities: tuple[int, ...] = ()
        self.few_labels = labels
        self._drawn_by: int | None = None  # the seed that few labels were drawn by
        self.predicting = False
        self._loaded: Samples | None = None
        self._encoded: Samples | None = None

    @property
    def files(self) -> list[Path]:
        """What the data is read from, if that lies in files of its own: results go stale when they change."""
        return []

    def describe(self) -> dict[str, Any]:
        """The data as really used, for the record: its ``name`` and the ``samples`` in each split."""
        samples = {split: len(index) for split, index in self.samples.splits.items()}
        return {"name": type(self).__name__, "samples": samples}

    def load(self) -> Samples:
        """Reads the data; user mistakes and missing files are reported here."""
        raise NotImplementedError

    def encode(self, samples: Samples) -> Samples:
        """Applies what is fitted on the training samples, fitting it first unless a checkpoint brought it."""
        return samples

    def eval_view(self, inputs: Any) -> Any:
        """What evaluation does to a batch of samples in place of augmentation."""
        return inputs

    def preparation(self) -> nn.Module | None:
        """What is done to rows as they are in a file before the network has them; None: nothing.

        Images have ``eval_augmentation`` for it.
        """
        return None

    def raw_input(self, x: Any) -> Tensor:
        """What there is of a batch of N samples without an encoder, a row of numbers for each, ``[N, R]``.

        Here the samples' numbers, with one-hot columns for the codes of categories, which are a row's last ones. A
        column of more than 1,000 categories, nearly a name, is left out.

        Args:
            x: samples as evaluation has them.
        """
        rows: Tensor = x.flatten(1)
        numbers, codes = rows.tensor_split([rows.shape[1] - len(self.cardinalities)], dim=1)
        pairs = zip(codes.long().unbind(1), self.cardinalities, strict=True)
        one_hot = [F.one_hot(code, count).to(rows.dtype) for code, count in pairs if count <= MOST_CODES]
        return torch.cat([numbers, *one_hot], dim=1)

    def setup(self, stage: str | None = None) -> None:
        self.seed = torch.initial_seed()  # what seed_everything set, the same on every process
        self.predicting = stage == "predict"
        if self._loaded is None and self._encoded is None:
            self._loaded = self.load()

    @property
    def samples(self) -> Samples:
        """The encoded data. Encoding waits for the first loader, since a checkpoint's state comes after ``setup``."""
        if self._encoded is None:
            self.setup("predict" if self.predicting else None)
            assert self._loaded is not None
            self._encoded, self._loaded = self.encode(self._loaded), None
            if any(fits(view) for view in self.views):
                training = self._encoded.inputs[self._encoded.splits["train"]]
                for view in self.views:
                    view.fit(training)
            if self.few_labels is not None and not self.predicting:
                self._drawn_by = self.seed if self._drawn_by is None else self._drawn_by
                splits = self._encoded.splits
                own = few_of(splits["train"], self._encoded.target, self.few_labels, self._drawn_by)
                self._encoded.splits = {**splits, "train": own}
        return self._encoded

    def training_batch(self, index: Tensor) -> int:
        if self.few_labels is None:
            return self.batch_size
        _, processes = self.processes
        return min(self.batch_size, max(2, len(index) // processes) * processes)

    def state_dict(self) -> dict[str, Any]:
        """The place within the epoch, and the seed that few labels were drawn by."""
        drawn = {} if self._drawn_by is None else {"drawn_by": self._drawn_by}
        return {**super().state_dict(), **drawn}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self._drawn_by = state_dict.get("drawn_by")

    def take(self, index: Tensor) -> tuple[Any, Tensor]:
        """The samples and labels at ``index``, on the device of ``index``."""
        samples = self.samples
        if samples.target.device != index.device:
            samples.inputs, samples.target = samples.inputs.to(index.device), samples.target.to(index.device)
        return samples.inputs[index], samples.target[index]

    def train_batch(self, raw: Any) -> tuple[list[Any], Tensor]:
        """The views and labels of the samples at ``raw``."""
        inputs, target = self.take(raw)
        generator = self.generator(target.device)
        return [view(inputs, generator) for view in self.views], target

    def eval_batch(self, raw: Any) -> tuple[Any, Tensor]:
        """The samples at ``raw`` without augmentation, and their labels."""
        inputs, target = self.take(raw)
        return self.eval_view(inputs), target

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> tuple[Any, Tensor]:
        assert self.trainer is not None
        if self.trainer.training:
            views, target = self.train_batch(batch)
            return [self.in_precision(view) for view in views], target
        x, target = self.eval_batch(batch)
        return self.in_precision(x), target

    def in_precision(self, x: Any) -> Any:
        """A batch in the trainer's precision; Lightning itself converts one while it is still an index."""
        assert self.trainer is not None
        return apply(x, self.trainer.precision_plugin.convert_input)


def index_loader(sampler: BatchIndices) -> DataLoader:
    """A loader of a sampler's own index tensors."""
    generator = generator_at(sampler.seed)  # iterating leaves torch's random state alone
    return DataLoader(Indices(sampler.index), batch_size=None, sampler=sampler, generator=generator)


def apply(x: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """A function of a tensor, or of every tensor in a batch of another kind, which has a method for that."""
    return function(x) if isinstance(x, Tensor) else x.apply(function)
