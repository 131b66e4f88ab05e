from __future__ import annotations

import pytest
import torch
from torch.utils.data.distributed import DistributedSampler

from datamodules.sampler import BatchIndices

ROWS = torch.arange(1000, 1101)  # a split of 101 rows of a larger set


def batches(batch_size, train, rank=0, world_size=1, epoch=0, seed=0):
    sampler = BatchIndices(ROWS, batch_size, train, seed, rank, world_size)
    sampler.set_epoch(epoch)
    drawn = list(sampler)
    assert len(drawn) == len(sampler)
    return drawn


class TestTraining:
    @pytest.mark.parametrize("world_size", [2, 3, 4])
    def test_global_batches_do_not_depend_on_the_number_of_processes(self, world_size):
        alone = batches(12, train=True, epoch=3)
        shares = [batches(12, True, rank, world_size, epoch=3) for rank in range(world_size)]
        for whole, *parts in zip(alone, *shares, strict=True):
            assert {len(part) for part in parts} == {12 // world_size}
            assert torch.equal(torch.cat(parts), whole)

    def test_an_incomplete_batch_is_dropped(self):
        drawn = batches(50, train=True)
        assert [len(batch) for batch in drawn] == [50, 50]
        rows = torch.cat(drawn)
        assert len(rows.unique()) == 100
        assert torch.isin(rows, ROWS).all()

    def test_other_epochs_and_seeds_shuffle_anew_and_drop_other_rows(self):
        drawn = [torch.cat(batches(50, True, epoch=epoch, seed=seed)) for epoch, seed in ((0, 0), (1, 0), (0, 1))]
        assert not torch.equal(drawn[0], drawn[1])
        assert not torch.equal(drawn[0], drawn[2])
        assert len({tuple(rows.sort().values.tolist()) for rows in drawn}) > 1

    def test_reproducible_and_shuffled(self):
        drawn = [torch.cat(batches(50, train=True, epoch=4)) for _ in range(2)]
        assert torch.equal(*drawn)
        assert not torch.equal(drawn[0], drawn[0].sort().values)

    def test_global_random_state_is_left_alone(self):
        state = torch.get_rng_state()
        batches(50, train=True)
        assert torch.equal(torch.get_rng_state(), state)


class TestEvaluation:
    @pytest.mark.parametrize(("world_size", "batch_size"), [(1, 50), (2, 50), (3, 51)])
    def test_each_sample_once(self, world_size, batch_size):
        shares = [batches(batch_size, False, rank, world_size) for rank in range(world_size)]
        rows = torch.cat([batch for share in shares for batch in share])
        assert len(rows) == 101
        assert torch.equal(rows.sort().values, ROWS)
        assert max(len(batch) for share in shares for batch in share) <= batch_size // world_size

    def test_a_split_without_rows_has_no_batches(self):
        sampler = BatchIndices(torch.arange(0), 6, train=False, rank=2, world_size=3)
        assert len(sampler) == 0
        assert list(sampler) == []

    def test_in_order_in_every_epoch(self):
        for epoch in (0, 1):
            assert torch.equal(torch.cat(batches(50, train=False, epoch=epoch)), ROWS)

    def test_a_batch_may_exceed_the_split(self):
        assert [len(batch) for batch in batches(500, train=False)] == [101]


def test_lightning_leaves_distributed_samplers_alone():
    assert isinstance(BatchIndices(ROWS, 10, train=False), DistributedSampler)


@pytest.mark.parametrize(
    ("batch_size", "train", "world_size", "message"),
    [
        (0, True, 1, "batch_size must be at least 1, got 0"),
        (-4, False, 1, "batch_size must be at least 1, got -4"),
        (50, True, 3, "batch_size 50 counts the global batch and must divide by 3 processes"),
        (3, True, 3, "batch_size 3 leaves one sample for each of 3 processes, too few for BatchNorm: at least 6"),
        (50, False, 102, "102 processes cannot share the 101 samples"),
        (102, True, 1, "batch_size 102 is more than the 101 training samples"),
    ],
)
def test_errors(batch_size, train, world_size, message):
    with pytest.raises(ValueError, match=message):
        BatchIndices(ROWS, batch_size, train, world_size=world_size)
