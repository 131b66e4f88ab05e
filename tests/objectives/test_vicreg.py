"""VICReg by loops, and its limits."""

from __future__ import annotations

import pytest
import torch

from lightning_renyicl.objectives import VICReg


def looped(first, second, weights):
    """The three terms, number by number."""
    samples, width = first.shape
    pairs = [(n, i) for n in range(samples) for i in range(width)]
    invariance = sum((first[n, i] - second[n, i]) ** 2 for n, i in pairs) / len(pairs)
    variance = covariance = 0.0
    for view in (first, second):
        mean = sum(view) / samples
        for i in range(width):
            for j in range(width):
                c = sum((row[i] - mean[i]) * (row[j] - mean[j]) for row in view) / (samples - 1)
                if i == j:
                    variance += max(0.0, 1 - (c.item() + 1e-4) ** 0.5) / width / 2
                else:
                    covariance += c.item() ** 2 / width
    terms = [invariance.item(), variance, covariance]
    return terms, weights[0] * invariance + weights[1] * variance + weights[2] * covariance


@pytest.mark.parametrize("width", [1, 3])
def test_against_a_loop(width):
    generator = torch.Generator().manual_seed(0)
    scale = torch.tensor([0.3, 1.0, 3.0])[:width]
    views = list(torch.randn(2, 7, width, generator=generator, dtype=torch.float64) * scale)
    terms, expected = looped(*views, weights=(2.0, 3.0, 0.7))
    loss, logs = VICReg(2.0, 3.0, 0.7)(views, views)
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=1e-12)
    assert [logs[name].item() for name in ("invariance", "variance", "covariance")] == pytest.approx(terms)


def test_equal_spread_decorrelated_views_have_no_loss():
    signs = torch.tensor([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=torch.float64)
    assert VICReg()([signs, signs], [signs, signs])[0].item() == 0.0


def test_equal_samples_have_the_whole_loss_of_variance():
    views = list(torch.ones(2, 4, 3, dtype=torch.float64))
    assert VICReg()(views, views)[0].item() == pytest.approx(25 * (1 - 0.01))


@pytest.mark.parametrize("name", ["invariance", "variance", "covariance"])
def test_weights_out_of_range(name):
    with pytest.raises(ValueError, match=f"{name} must be a finite number of at least 0, got -1"):
        VICReg(**{name: -1.0})


def test_more_than_two_views():
    views = list(torch.ones(3, 4, 2))
    with pytest.raises(ValueError, match="VICReg compares two views, got 3"):
        VICReg()(views, views[:2])


def test_one_sample():
    views = list(torch.ones(2, 1, 2))
    with pytest.raises(ValueError, match="global batch of at least 2 samples, got 1"):
        VICReg()(views, views)
