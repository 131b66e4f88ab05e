"""Barlow Twins by loops, and its limits."""

from __future__ import annotations

import pytest
import torch

from lightning_renyicl.objectives import BarlowTwins


def looped(first, second, redundancy):
    """The equation, number by number."""
    samples, width = first.shape

    def standardised(x):
        mean = sum(x) / samples
        variance = sum((row - mean) ** 2 for row in x) / samples
        return [(row - mean) / (variance + 1e-5).sqrt() for row in x]

    a, b = standardised(first), standardised(second)
    loss = 0.0
    for i in range(width):
        for j in range(width):
            c = sum(a[n][i] * b[n][j] for n in range(samples)) / samples
            loss += (c - 1) ** 2 if i == j else redundancy * c**2
    return loss


@pytest.mark.parametrize("width", [1, 3])
def test_against_a_loop(width):
    views = list(torch.randn(2, 7, width, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 5)
    expected = looped(*views, redundancy=0.2)
    torch.testing.assert_close(BarlowTwins(0.2)(views, views)[0], expected, rtol=1e-12, atol=1e-12)


def decorrelated():
    """Uncorrelated numbers of mean 0, so large that the variance is all that they are divided by."""
    signs = torch.tensor([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=torch.float64)
    return 1e4 * signs


def test_equal_decorrelated_views_have_no_loss():
    view = decorrelated()
    loss, logs = BarlowTwins()([view, view.clone()], [view, view])
    assert loss.item() == pytest.approx(0.0, abs=1e-20)
    assert logs["correlation"].item() == pytest.approx(1.0)
    assert logs["redundancy"].item() == pytest.approx(0.0, abs=1e-12)


def test_what_is_redundant_is_penalised():
    view = decorrelated()
    twice = torch.cat([view, view], dim=1)  # each number has one double
    loss, logs = BarlowTwins(0.5)([twice, twice], [twice, twice])
    assert loss.item() == pytest.approx(0.5 * 6)
    assert logs["redundancy"].item() == pytest.approx((6 / 30) ** 0.5)


def test_a_large_mean_costs_no_digits():
    """Two passes: the variance is no difference of large numbers."""
    view = torch.randn(2, 64, 3, generator=torch.Generator().manual_seed(0))
    expected = BarlowTwins()(list(view), list(view))[0]
    torch.testing.assert_close(BarlowTwins()(list(view + 1000), list(view))[0], expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("redundancy", [-0.1, float("inf"), float("nan")])
def test_weight_out_of_range(redundancy):
    with pytest.raises(ValueError, match="redundancy must be a finite number of at least 0"):
        BarlowTwins(redundancy)


def test_more_than_two_views():
    views = list(torch.ones(3, 4, 2))
    with pytest.raises(ValueError, match="BarlowTwins compares two views, got 3"):
        BarlowTwins()(views, views[:2])


def test_one_sample():
    views = list(torch.ones(2, 1, 2))
    with pytest.raises(ValueError, match="global batch of at least 2 samples, got 1"):
        BarlowTwins()(views, views)
