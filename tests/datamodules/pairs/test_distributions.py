"""Pairs of known mutual information against densities, sums and an estimate by nearest neighbours."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import dblquad
from scipy.stats import chi2, kstest, multivariate_normal, multivariate_t, norm, t
from sklearn.feature_selection import mutual_info_regression

from datamodules.pairs import DiscretePairs, GaussianPairs, StudentPairs, UniformPairs, correlation
from datamodules.seeding import generator_at

KINDS = [GaussianPairs, UniformPairs, StudentPairs]


@pytest.mark.parametrize("nats", [0.7, 1.5])
@pytest.mark.parametrize(
    "pairs",
    [GaussianPairs(1), GaussianPairs(1, cubed=True), UniformPairs(1), StudentPairs(1, 5.0)],
    ids=["gaussian", "cubed", "uniform", "student"],
)
def test_nearest_neighbours_find_the_mutual_information(pairs, nats):
    x, y = pairs.sample(4000, nats, generator_at(0))
    # ranks change nothing that is to be found, and help where tails are long
    x, y = (part.argsort(0).argsort(0).double() / len(part) for part in (x, y))
    found = mutual_info_regression(x.numpy(), y.squeeze(1).numpy(), n_neighbors=5, random_state=0)[0]
    assert found == pytest.approx(nats, abs=0.06)


def test_gaussians_by_their_density():
    rho = correlation(1.5)
    joint = multivariate_normal([0, 0], [[1, rho], [rho, 1]])

    def integrand(y, x):
        log_p = joint.logpdf((x, y))
        return math.exp(log_p) * (log_p - norm.logpdf(x) - norm.logpdf(y))

    assert dblquad(integrand, -7, 7, -7, 7, epsabs=1e-5)[0] == pytest.approx(1.5, abs=1e-4)


@pytest.mark.parametrize("freedom", [2.0, 5.0])
def test_students_by_their_density(freedom):
    nats = 1.0
    rho = correlation(nats - StudentPairs(1, freedom).smallest)
    joint, marginal = multivariate_t([0, 0], [[1, rho], [rho, 1]], df=freedom), t(freedom)
    sample = np.stack(
        [part.squeeze(1).numpy() for part in StudentPairs(1, freedom).sample(40_000, nats, generator_at(0))], 1
    )
    log_r = joint.logpdf(sample) - marginal.logpdf(sample).sum(1)
    assert log_r.mean() == pytest.approx(nats, abs=5 * float(log_r.std()) / 200)
    for part in sample.T:
        assert kstest(part, marginal.cdf).pvalue > 1e-3


@pytest.mark.parametrize("nats", [0.2, 0.5, 1.7])
def test_uniform_noise_by_its_density(nats):
    x, y = (part.squeeze(1).numpy() for part in UniformPairs(1).sample(40_000, nats, generator_at(0)))
    width = np.abs(y - x).max()  # of the noise
    density = (np.minimum(y + width, 1) - np.maximum(y - width, 0)) / (2 * width)  # of y
    log_r = -np.log(2 * width) - np.log(density)
    assert log_r.mean() == pytest.approx(nats, abs=0.01 + 5 * float(log_r.std()) / 200)
    assert kstest(x, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("nats", [0.0, 0.4, 2.0])
def test_discrete_symbols_by_counting(nats):
    x, y = DiscretePairs(1, 8).sample(200_000, nats, generator_at(0))
    joint = (x.T @ y / len(x)).double()
    expected = joint.sum(1, keepdim=True) * joint.sum(0)
    found = (joint * (joint / expected).log()).nansum().item()
    assert found == pytest.approx(nats, abs=0.002)


@pytest.mark.parametrize("pairs", [GaussianPairs(3), UniformPairs(3), StudentPairs(3), DiscretePairs(3, 4)])
def test_shapes_and_seeds(pairs):
    first, again, other = (pairs.sample(16, 2.0, generator_at(seed)) for seed in (0, 0, 1))
    for part in (0, 1):
        assert first[part].shape == (16, pairs.features)
        assert first[part].dtype == torch.float32
        assert torch.equal(first[part], again[part])
        assert not torch.equal(first[part], other[part])


@pytest.mark.parametrize("kind", [GaussianPairs, UniformPairs])
def test_pairs_close_to_the_largest_mutual_information_differ(kind):
    x, y = kind(1).sample(10_000, 11.9, generator_at(0))
    assert (x == y).float().mean() < 0.02


def test_cubes_are_the_cubes_of_the_same_pairs():
    plain, cubed = (GaussianPairs(2, cubed).sample(8, 1.0, generator_at(0)) for cubed in (False, True))
    assert torch.equal(plain[0], cubed[0])
    assert torch.equal(plain[1] ** 3, cubed[1])


def test_independent_pairs_are_uncorrelated():
    for kind in (GaussianPairs, UniformPairs):
        x, y = kind(1).sample(10_000, 0.0, generator_at(0))
        assert abs(np.corrcoef(x.squeeze(1), y.squeeze(1))[0, 1]) < 0.05


def test_coordinates_of_students_share_their_scale():
    x, y = StudentPairs(20, 3.0).sample(4000, StudentPairs(20, 3.0).smallest, generator_at(0))
    together = (x.square().sum(1) + y.square().sum(1)) / 40
    assert kstest((3 / together).numpy(), chi2(3).cdf).statistic < 0.15  # 40 numbers tell the scale but for a little


@pytest.mark.parametrize(
    ("pairs", "nats", "message"),
    [
        (GaussianPairs(2), -0.1, "of 0 to below 24 nats, got -0.1"),
        (GaussianPairs(2), math.nan, "got nan"),
        (UniformPairs(1), 12.0, "below 12 nats, got 12"),
        (StudentPairs(2, 1.0), 0.1, "StudentPairs of 2 dimensions have a mutual information of 0"),
        (DiscretePairs(2, 2), 1.4, "of 0 to below 1.386 nats, got 1.4"),
    ],
)
def test_mutual_information_that_there_is_not(pairs, nats, message):
    with pytest.raises(ValueError, match=message):
        pairs.sample(4, nats, generator_at(0))


@pytest.mark.parametrize("kind", [*KINDS, DiscretePairs])
def test_no_dimension(kind):
    with pytest.raises(ValueError, match="dimensions must be at least 1, got 0"):
        kind(0)


def test_other_errors():
    with pytest.raises(ValueError, match="freedom must be a finite number above 0, got 0"):
        StudentPairs(1, 0)
    with pytest.raises(ValueError, match="symbols must be at least 2, got 1"):
        DiscretePairs(1, 1)
