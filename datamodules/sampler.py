"""Which samples a batch has."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset
from torch.utils.data.distributed import DistributedSampler

from datamodules.seeding import generator_at


class Indices(Dataset):
    """The data set whose item is its key: a loader over it yields what its sampler draws.

    Args:
        index: numbers of the samples of a split, ``[M]``.
    """

    def __init__(self, index: Tensor) -> None:
        self.index = index

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, key: Any) -> Any:
        return key

    def key(self, epoch: int, index: Tensor) -> Any:
        """What a sampler asks for to get the batch of the samples at ``index`` in an epoch."""
        return index


class BatchIndices(DistributedSampler):
    """Yields this process's batches of a split as index tensors.

    Training: the split is shuffled anew every epoch, cut into *global* batches of ``batch_size``, an incomplete last
    one dropped, and each global batch divided among the processes, so that the global batches don't depend on their
    number. A run resumed within an epoch leaves out the batches that it had.
    Evaluation: in order, every sample once over all processes, never padded. Being a ``DistributedSampler``, it is left
    alone by Lightning, which would pad others.

    Args:
        indices: the split.
        batch_size: samples in a batch over all processes.
        train: whether to shuffle, and to drop an incomplete last batch.
        seed: seed of the shuffling.
        rank: number of this process.
        world_size: number of processes.

    Attributes:
        skip: batches of the next epoch that were had before.

    Raises:
        ValueError: a batch size that the processes cannot share, or more than the training samples.
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
        self.indices = indices
        self.index = indices.index
        self.batch_size = batch_size
        self.train = train
        self.skip = 0

    def __iter__(self) -> Iterator[Any]:
        skip, self.skip = self.skip, 0
        epoch = self.epoch if self.train else 0
        for index in islice(self.draw(), skip, None):
            yield self.indices.key(epoch, index)

    def draw(self) -> Iterator[Tensor]:
        """All batches of an epoch."""
        own = self._own()
        if not self.train:
            index = self.index[self.rank :: self.num_replicas]
            yield from index.split(own) if len(index) else ()
            return
        order = self.index[torch.randperm(len(self.index), generator=generator_at(self.seed, self.epoch))]
        for batch in order[: len(self) * self.batch_size].view(-1, self.num_replicas, own):
            yield batch[self.rank]

    def __len__(self) -> int:
        if self.train:
            return len(self.index) // self.batch_size
        samples = len(range(self.rank, len(self.index), self.num_replicas))
        return -(-samples // self._own())

    def _own(self) -> int:
        """Samples of a batch on this process."""
        return max(1, self.batch_size // self.num_replicas)
