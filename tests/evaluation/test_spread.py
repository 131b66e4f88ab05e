"""How features are spread, against float64 loops, NumPy and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from lightning_renyicl.evaluation.spread import alignment, deviation, effective_rank, ranks, uniformity


def features(count=23, width=7, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, width, generator=generator) * torch.arange(1, width + 1) + 0.5


def unit(x):
    return x.double().numpy() / np.linalg.norm(x.double().numpy(), axis=1, keepdims=True)


def test_alignment_against_a_loop():
    x, y = features(), features(seed=1)
    expected = np.mean([np.sum((a - b) ** 2) for a, b in zip(unit(x), unit(y), strict=True)])
    assert alignment(x, y).item() == pytest.approx(expected, rel=1e-5)
    assert alignment(x, 3 * x).item() == pytest.approx(0, abs=1e-6)
    assert alignment(x, -x).item() == pytest.approx(4, rel=1e-6)


def test_uniformity_against_a_loop():
    rows = unit(x := features())
    values = [math.exp(-2 * np.sum((a - b) ** 2)) for i, a in enumerate(rows) for b in rows[:i]]
    assert uniformity(x).item() == pytest.approx(math.log(np.mean(values)), rel=1e-5)
    assert uniformity(torch.ones(5, 3)).item() == pytest.approx(0, abs=1e-6)


def test_uniformity_of_an_even_circle():
    """For the uniform distribution on the circle it is log(e⁻⁴ I₀(4))."""
    angle = 2 * math.pi * torch.arange(1000) / 1000
    found = uniformity(torch.stack((angle.cos(), angle.sin()), 1)).item()
    assert found == pytest.approx(math.log(np.exp(-4) * np.i0(4.0)), abs=5e-3)


def test_deviation_against_numpy():
    x = features()
    assert deviation(x).item() == pytest.approx(unit(x).std(0, ddof=1).mean() * math.sqrt(7), rel=1e-5)
    assert deviation(torch.ones(5, 3)).item() == 0
    assert deviation(torch.randn(20_000, 16, generator=torch.Generator().manual_seed(0))).item() == pytest.approx(
        1, abs=0.01
    )


def test_ranks_against_numpy():
    x = features()
    rows = x.double().numpy()
    of_covariance = np.linalg.eigvalsh(np.cov(rows.T))
    for name, values in (("effective_rank", of_covariance), ("rankme", np.linalg.svd(rows, compute_uv=False))):
        p = values / values.sum()
        assert ranks(x)[name].item() == pytest.approx(math.exp(-(p * np.log(p)).sum()), rel=1e-4)


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_ranks_of_even_features(rank):
    assert effective_rank(torch.tensor([2.0] * rank + [0.0] * 4)).item() == pytest.approx(rank)
    x = torch.cat((torch.eye(rank), -torch.eye(rank))) @ torch.eye(rank, 9)
    assert ranks(x) == {name: pytest.approx(rank, rel=1e-5) for name in ("effective_rank", "rankme")}


def test_ranks_of_collapsed_features():
    found = ranks(torch.ones(6, 4))
    assert found["effective_rank"].item() == 1
    assert found["rankme"].item() == pytest.approx(1, abs=1e-4)
