"""Batches of indices for data that is held in memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from datamodules.seeding import generator_at


class Indices(Dataset):
    """The data set whose item is its key: a loader over it yields what its sampler draws.

    Args:
        index: rows of a split, ``[M]``.
    """

    def __init__(self, index: Tensor) -> None:
        self.index = index

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, index: Tensor) -> Tensor:
        return index


class BatchIndices(DistributedSampler):
    """Yields this process's batches of a split as index tensors.

    Training: the split is shuffled anew every epoch, cut into *global* batches of ``batch_size``, the ragged one
    dropped, and each global batch divided among the processes, so that the global batches don't depend on their number.
    Evaluation: in order, every sample once over all processes, never padded. Being a ``DistributedSampler``, it is left
    alone by Lightning, which would pad others.

    Args:
        indices: rows of the split.
        batch_size: samples in a batch over all processes.
        train: whether to shuffle and to drop the ragged batch.
        seed: of the shuffling.
        rank: this process.
        world_size: number of processes.

    Raises:
        ValueError: a batch size that the processes cannot share, or more than the training rows.
    """

    def __init__(
        self, indices: Indices, batch_size: int, train: bool, seed: int = 0, rank: int = 0, world_size: int = 1
    ) -> None:
        super().__init__(indices, num_replicas=world_size, rank=rank, shuffle=train, seed=seed, drop_last=train)
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        if train and batch_size == 1:
            raise ValueError("batch_size must be at least 2: one sample has no negative pair")
        if train and batch_size % world_size:
            raise ValueError(
                f"batch_size {batch_size} counts the global batch and must divide by {world_size} processes"
            )
        if not train and 0 < len(indices) < world_size:
            raise ValueError(f"{world_size} processes cannot share the {len(indices)} samples of an evaluation")
        if train and len(indices) < batch_size:
            raise ValueError(f"batch_size {batch_size} is more than the {len(indices)} training samples")
        self.index = indices.index
        self.batch_size = batch_size
        self.train = train

    def __iter__(self) -> Iterator[Tensor]:
        own = self._own()
        if not self.train:
            share = self.index[self.rank :: self.num_replicas]
            yield from share.split(own) if len(share) else ()
            return
        order = self.index[torch.randperm(len(self.index), generator=generator_at(self.seed, self.epoch))]
        for batch in order[: len(self) * self.batch_size].view(-1, self.num_replicas, own):
            yield batch[self.rank]

    def __len__(self) -> int:
        if self.train:
            return len(self.index) // self.batch_size
        share = len(range(self.rank, len(self.index), self.num_replicas))
        return -(-share // self._own())

    def _own(self) -> int:
        """Samples of a batch on this process."""
        return max(1, self.batch_size // self.num_replicas)


class TrainLoader(DataLoader):
    """A loader of index batches that a run resumed within an epoch continues where it stopped.

    Args:
        indices: the split.
        sampler: draws its batches.
        generator: what the loader draws its workers' seed from, so that iterating leaves torch's random state alone.
        skip: batches of the first epoch that were had before.
    """

    def __init__(self, indices: Indices, sampler: BatchIndices, generator: torch.Generator, skip: int = 0) -> None:
        super().__init__(indices, batch_size=None, sampler=sampler, generator=generator)
        self._skip = skip
        self.yielded = skip  # batches of the current epoch

    def __iter__(self) -> Iterator[Tensor]:  # type: ignore[override]
        self.yielded, self._skip = self._skip, 0
        for batch in islice(super().__iter__(), self.yielded, None):
            self.yielded += 1
            yield batch
