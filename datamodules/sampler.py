"""Which samples a batch has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch.utils.data.distributed import DistributedSampler

from datamodules.seeding import generator_at


class BatchIndices(DistributedSampler):
    """Yields this process's batches of a split, each as a tensor of numbers of samples.

    Training: the split is shuffled anew every epoch, cut into *global* batches of ``batch_size``, an incomplete last
    one dropped, and each global batch divided among the processes, so that the global batches don't depend on their
    number. A run resumed within an epoch leaves out the batches that it had.
    Evaluation: in order, every sample once over all processes, never padded. Being a ``DistributedSampler``, it is left
    alone by Lightning, which would pad others.

    Args:
        index: numbers of the samples of the split, ``[M]``.
        batch_size: samples in a batch over all processes.
        train: whether to shuffle, and to drop an incomplete last batch.
        seed: seed of the shuffling.
        rank: number of this process.
        world_size: number of processes.

    Attributes:
        skip: batches of the next epoch that were had before.

    Raises:
        ValueError: a batch size that the processes cannot share or that leaves one of them a single training sample,
            or more than the training samples.
    """

    def __init__(
        self, index: Tensor, batch_size: int, train: bool, seed: int = 0, rank: int = 0, world_size: int = 1
    ) -> None:
        super().__init__(index, num_replicas=world_size, rank=rank, shuffle=train, seed=seed, drop_last=train)  # type: ignore[arg-type]  # only its length counts
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        if train and batch_size == 1:
            raise ValueError("batch_size must be at least 2: one sample has no negative pair")
        if train and batch_size % world_size:
            raise ValueError(
                f"batch_size {batch_size} counts the global batch and must divide by {world_size} processes"
            )
        if train and batch_size < 2 * world_size:
            raise ValueError(
                f"batch_size {batch_size} leaves one sample for each of {world_size} processes, too few for BatchNorm: "
                f"at least {2 * world_size}"
            )
        if not train and 0 < len(index) < world_size:
            raise ValueError(f"{world_size} processes cannot share the {len(index)} samples of an evaluation")
        if train and len(index) < batch_size:
            raise ValueError(f"batch_size {batch_size} is more than the {len(index)} training samples")
        self.index = index
        self.batch_size = batch_size
        self.train = train
        self.skip = 0

    def __iter__(self) -> Iterator[Any]:
        # when the first is asked for: the iterator of a resumed run is made before its epoch is set
        return chain.from_iterable(self._remaining() for _ in range(1))

    def _remaining(self) -> Sequence[Tensor]:
        skip, self.skip = self.skip, 0
        return self.draw()[skip:]

    def draw(self) -> Sequence[Tensor]:
        """All batches of an epoch."""
        if not self.train:
            own = self.index[self.rank :: self.num_replicas]
            return own.split(self._own()) if len(own) else ()
        order = self.shuffled(self.epoch)[: len(self) * self.batch_size]
        return order.view(-1, self.num_replicas, self._own())[:, self.rank].unbind()

    def shuffled(self, epoch: int) -> Tensor:
        """All samples of the split in an epoch's order, ``[M]``."""
        return self.index[torch.randperm(len(self.index), generator=generator_at(self.seed, epoch))]

    def __len__(self) -> int:
        if self.train:
            return len(self.index) // self.batch_size
        return -(-len(range(self.rank, len(self.index), self.num_replicas)) // self._own())

    def _own(self) -> int:
        """Samples of a batch on this process."""
        return max(1, self.batch_size // self.num_replicas)
