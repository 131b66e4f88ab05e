"""Correlated Gaussians: the law of log r, and divergences."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import chi2, multivariate_normal

from lightning_renyicl.mutual_information import CorrelatedGaussians, divergences

PAIRS = [CorrelatedGaussians(1, 0.6), CorrelatedGaussians(2, -0.8), CorrelatedGaussians(20, 0.3)]


@pytest.fixture(params=[*PAIRS, CorrelatedGaussians(20, 0.9)], ids=lambda pair: f"{pair.dimensions}-{pair.rho}")
def pair(request):
    return request.param


def blocks(pair):
    """Means and covariances of the joint distribution and of the product of the marginals."""
    one, zero = np.eye(pair.dimensions), np.zeros(2 * pair.dimensions)
    joint = np.block([[one, pair.rho * one], [pair.rho * one, one]])
    return zero, joint, zero, np.eye(2 * pair.dimensions)


def test_mutual_information_is_the_divergence_of_the_joint_distribution(pair):
    assert pair.mutual_information == pytest.approx(divergences.gaussian(*blocks(pair)), rel=1e-12)


@pytest.mark.parametrize("nats", [0.0, 0.5, 2.0, 16.0])
def test_of_mutual_information(nats):
    assert CorrelatedGaussians.of_mutual_information(20, nats).mutual_information == pytest.approx(nats, rel=1e-12)


def test_not_as_printed_in_the_paper():
    pair = CorrelatedGaussians(20, 0.9)
    assert pair.mutual_information == pytest.approx(16.607, abs=1e-3)
    assert -10 * math.log(1 - 0.9 / 2) == pytest.approx(5.978, abs=1e-3)


@pytest.mark.parametrize("gamma", [0.3, 0.5, 1.1, 1.5, 2.0])
def test_divergence_without_skew(pair, gamma):
    expected = divergences.gaussian(*blocks(pair), gamma)
    assert pair.divergence(gamma) == pytest.approx(expected, rel=1e-10)
    assert math.isfinite(expected) is (abs((gamma - 1) * pair.rho) < 1)


@pytest.mark.parametrize("gamma", [0.02, 0.1, 0.5, 1.5, 1.9])
@pytest.mark.parametrize("pair", [CorrelatedGaussians(20, 0.95), CorrelatedGaussians(2, 0.99)], ids=["20", "2"])
def test_next_to_no_skew(pair, gamma):
    assert pair.divergence(gamma, 1e-200) == pytest.approx(pair.divergence(gamma), rel=1e-6)


def test_many_dimensions():
    assert CorrelatedGaussians(150, 0.3).expectation(np.ones_like) == pytest.approx(1.0, abs=1e-9)
    with pytest.raises(ValueError, match="up to 150 dimensions, got 151"):
        CorrelatedGaussians(151, 0.3).divergence(1.0, 0.1)


def test_where_it_ends():
    assert CorrelatedGaussians(3, 0.5).divergence(3.0) == math.inf
    assert math.isfinite(CorrelatedGaussians(3, 0.5).divergence(2.9))


def test_expectations(pair):
    assert pair.expectation(np.ones_like) == pytest.approx(1.0, abs=1e-10)
    assert pair.expectation(lambda log_r: log_r) == pytest.approx(pair.mutual_information, abs=1e-9)
    variance = pair.expectation(lambda log_r: (log_r - pair.mutual_information) ** 2)
    assert variance == pytest.approx(pair.dimensions * pair.rho**2, rel=1e-9)


@pytest.mark.parametrize("alpha", [0.01, 0.3])
@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_skew_divergence_by_a_sum_over_chi_squared(pair, gamma, alpha):
    points = (np.arange(1500) + 0.5) / 1500
    half = pair.rho / 2 * chi2(pair.dimensions).ppf(points)
    log_r = pair.mutual_information + half[:, None] - half  # of quantiles of A and B
    log_s = -np.logaddexp(math.log(alpha), math.log1p(-alpha) - log_r)
    mean = log_s.mean() if gamma == 1 else math.log(np.exp((gamma - 1) * log_s).mean()) / (gamma * (gamma - 1))
    assert pair.divergence(gamma, alpha) == pytest.approx(mean, rel=0.02 if gamma < 1 else 0.006)  # long tails


@pytest.mark.parametrize("pair", PAIRS)
def test_small_skew_is_none(pair):
    assert pair.divergence(1.0, 1e-12) == pytest.approx(pair.mutual_information, rel=1e-6)
    assert pair.divergence(0.5, 1e-12) == pytest.approx(pair.divergence(0.5), rel=1e-6)


def test_whole_skew(pair):
    assert pair.divergence(2.0, 1.0) == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("alpha", [1 / 4096, 1 / 128, 0.2])
def test_skew_shrinks_kl_by_its_share_at_least(pair, alpha):
    assert pair.divergence(1.0, alpha) < (1 - alpha) * pair.mutual_information


def test_log_ratio_against_densities(pair):
    x, y = torch.randn(2, 7, pair.dimensions, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mean, joint, _, product = blocks(pair)
    both = np.concatenate([np.repeat(x.numpy(), 7, 0), np.tile(y.numpy(), (7, 1))], axis=1)
    expected = multivariate_normal(mean, joint).logpdf(both) - multivariate_normal(mean, product).logpdf(both)
    np.testing.assert_allclose(pair.log_ratio(x, y).flatten().numpy(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("dimensions", "rho"), [(0, 0.5), (1, 1.0), (1, -1.0), (1, math.nan)])
def test_errors(dimensions, rho):
    with pytest.raises(ValueError, match="expected at least 1 dimension and rho"):
        CorrelatedGaussians(dimensions, rho)


@pytest.mark.parametrize("nats", [-1.0, math.inf, math.nan])
def test_no_such_mutual_information(nats):
    with pytest.raises(ValueError, match="finite and not negative"):
        CorrelatedGaussians.of_mutual_information(20, nats)
