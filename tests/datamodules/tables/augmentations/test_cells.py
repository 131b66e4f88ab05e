"""Masking and feature corruption: limits, shares, and where the values come from."""

from __future__ import annotations

import pytest
import torch
from scipy.stats import chisquare

from datamodules.augmentations import Compose, FeatureCorruption, RandomMask
from datamodules.seeding import generator_at

# no row holds a value of a training row, so that a changed cell can be told; the second column is binary
TRAIN = torch.stack([torch.arange(50) % 5 + 1.0, (torch.arange(50) % 10 == 0) + 1.0, torch.arange(50) + 1.0], dim=1)
ROWS = torch.full((4000, 3), -1.0)


@pytest.fixture
def corruption():
    def build(rate):
        augmentation = FeatureCorruption(rate)
        augmentation.fit(TRAIN)
        return augmentation

    return build


def test_rate_0_changes_no_bit(corruption):
    for augmentation in (corruption(0.0), RandomMask(0.0)):
        assert torch.equal(augmentation(ROWS, generator_at(0)), ROWS)


def test_rate_1_changes_every_cell(corruption):
    assert not RandomMask(1.0)(ROWS, generator_at(0)).any()
    assert (corruption(1.0)(ROWS, generator_at(0)) > 0).all()


@pytest.mark.parametrize("rate", [0.2, 0.6])
def test_the_rate_is_the_share_that_changes(corruption, rate):
    for augmentation in (corruption(rate), RandomMask(rate)):
        changed = augmentation(ROWS, generator_at(0)) != ROWS
        # 4,000 cells a column: a standard error of 0.8 points at most
        torch.testing.assert_close(changed.float().mean(0), torch.full((3,), rate), rtol=0, atol=0.03)


def test_the_first_columns_alone_are_masked():
    masked = RandomMask(1.0, columns=2)(ROWS, generator_at(0))
    assert not masked[:, :2].any()
    assert torch.equal(masked[:, 2], ROWS[:, 2])
    drawn = RandomMask(0.4, columns=2)(ROWS, generator_at(0))
    assert torch.equal(drawn[:, :2], RandomMask(0.4)(ROWS[:, :2], generator_at(0)))
    assert torch.equal(RandomMask(0.4, columns=3)(ROWS, generator_at(0)), RandomMask(0.4)(ROWS, generator_at(0)))


def test_columns_that_rows_do_not_have():
    with pytest.raises(ValueError, match="columns, how many may be masked, is 4, and rows have 3"):
        RandomMask(0.2, columns=4)(ROWS, generator_at(0))
    with pytest.raises(ValueError, match="must be at least 1, or null for all, got 0"):
        RandomMask(0.2, columns=0)


def test_values_come_from_their_own_column_with_its_frequencies(corruption):
    corrupted = corruption(1.0)(ROWS, generator_at(1))
    for column in range(3):
        values, counts = TRAIN[:, column].unique(return_counts=True)
        assert torch.isin(corrupted[:, column], values).all()
        observed = (corrupted[:, column, None] == values).sum(0)
        assert chisquare(observed.numpy(), (counts / len(TRAIN) * len(ROWS)).numpy()).pvalue > 1e-3


def test_cells_of_a_row_are_drawn_on_their_own(corruption):
    corrupted = corruption(1.0)(ROWS, generator_at(2))
    # in the training rows the last column decides the first; in corrupted ones it doesn't
    follows = (corrupted[:, 0] == (corrupted[:, 2] - 1) % 5 + 1).float().mean()
    assert abs(follows - 0.2) < 0.03


def test_the_generator_alone_decides(corruption):
    chain = Compose([corruption(0.3), RandomMask(0.3)])
    state, before = torch.get_rng_state(), ROWS.clone()
    first, same, other = (chain(ROWS, generator_at(seed)) for seed in (0, 0, 1))
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(before, ROWS)


def test_corruption_needs_training_rows():
    with pytest.raises(ValueError, match="call fit"):
        FeatureCorruption(0.2)(ROWS, generator_at(0))


@pytest.mark.parametrize("augmentation", [FeatureCorruption, RandomMask])
@pytest.mark.parametrize("rate", [-0.1, 1.1])
def test_a_rate_is_a_share(augmentation, rate):
    with pytest.raises(ValueError, match=f"in \\[0, 1\\], got {rate}"):
        augmentation(rate)
