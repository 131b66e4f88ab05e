"""Each bound at its own optimal critic is its divergence.

With r = dP/dQ, M = alpha P + (1 - alpha) Q and s = dP/dM: CPC at log r + c(x); DV, MLCPC and RMLCPC at log s + const;
NWJ at 1 + log s; the plain Rényi bound at log r + const.
"""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import trapezoid

from lightning_renyicl.objectives import functional as f

# name of the bound, alpha, gamma of the divergence that it estimates
BOUNDS = [
    *[(name, alpha, 1.0) for name in ("cpc", "mlcpc", "dv", "nwj") for alpha in (0.0, 0.05, 0.5)],
    *[("rmlcpc", alpha, gamma) for alpha in (0.05, 0.5) for gamma in (0.5, 0.9, 1.0, 1.1, 2.0, 3.0)],
    *[("renyi", 0.0, gamma) for gamma in (0.5, 1.1, 1.5)],
]


def estimate(name, alpha, gamma, log_p, log_n, row_shift):
    """The bound with its optimal critic, from log r of the pairs; ``row_shift [N]`` stands for c(x)."""

    def skewed(log_r):
        return log_r - torch.logaddexp(log_r + math.log(alpha), torch.full_like(log_r, math.log1p(-alpha)))

    if name == "cpc":
        return f.cpc(log_p + row_shift, log_n + row_shift[:, None], alpha)
    if name == "renyi":
        return f.renyi(log_p + 0.7, log_n + 0.7, gamma)
    log_s, log_s_n = (log_p, log_n) if alpha == 0 else (skewed(log_p), skewed(log_n))
    if name == "nwj":
        return f.nwj(log_s + 1, log_s_n + 1, alpha)
    if name == "rmlcpc":
        return f.rmlcpc(log_s + 0.7, log_s_n + 0.7, alpha, gamma)
    return getattr(f, name)(log_s + 0.7, log_s_n + 0.7, alpha)


def divergence(expectation, alpha, gamma):
    """R_gamma(P || M), KL at gamma 1, from ``expectation(function of r)`` under P."""
    if gamma == 1:
        return expectation(lambda r: np.log(r / (alpha * r + 1 - alpha)))
    # E_M[s^gamma] = E_P[s^(gamma - 1)]; the paper's R_gamma carries 1 / (gamma (gamma - 1))
    return math.log(expectation(lambda r: (r / (alpha * r + 1 - alpha)) ** (gamma - 1))) / (gamma * (gamma - 1))


COUNTS = np.array([[9, 2, 1, 3], [1, 8, 2, 2], [2, 1, 12, 5]])


@pytest.mark.parametrize(("name", "alpha", "gamma"), BOUNDS)
def test_discrete_pairs_enumerated(name, alpha, gamma):
    joint = COUNTS / COUNTS.sum()
    ratio = joint / np.outer(joint.sum(1), joint.sum(0))
    # Each pair as often as its probability says, and for each x every y as often as the marginal of y says.
    x, y = np.indices(COUNTS.shape).reshape(2, -1).repeat(COUNTS.ravel(), axis=1)
    log_r = torch.from_numpy(np.log(ratio))
    rows = torch.tensor([0.3, -1.2, 2.0], dtype=torch.float64)[x]
    value = estimate(name, alpha, gamma, log_r[x, y], log_r[x[:, None], y[None, :]], rows)
    expected = divergence(lambda function: (joint * function(ratio)).sum(), alpha, gamma)
    assert value.item() == pytest.approx(expected, rel=1e-12)


RHO = 0.3  # E_Q r^(2 gamma) is finite at gamma = 1.5: the plain Rényi bound has a variance


def log_ratio(x, y):
    return (RHO * x * y - RHO**2 * (x**2 + y**2) / 2) / (1 - RHO**2) - math.log1p(-(RHO**2)) / 2


GRID = np.linspace(-9, 9, 181)  # the trapezoidal rule converges exponentially on smooth tails


def gaussian_expectation(function):
    """The mean of a function of r over pairs of standard normals with correlation RHO."""
    x, y = np.meshgrid(GRID, GRID, indexing="ij")
    density = np.exp(log_ratio(x, y) - (x**2 + y**2) / 2) / (2 * math.pi)
    return trapezoid(trapezoid(density * function(np.exp(log_ratio(x, y))), GRID), GRID)


def test_quadrature_gives_the_closed_form():
    assert divergence(gaussian_expectation, 0.0, 1.0) == pytest.approx(-math.log(1 - RHO**2) / 2, rel=1e-12)


@pytest.mark.parametrize(("name", "alpha", "gamma"), BOUNDS)
def test_gaussian_samples(name, alpha, gamma):
    truth = divergence(gaussian_expectation, alpha, gamma)

    def errors(samples, negatives, runs=16):
        generator = torch.Generator().manual_seed(0)
        found = []
        for _ in range(runs):
            x, noise = torch.randn(2, samples, generator=generator, dtype=torch.float64)
            others = torch.randn(samples, negatives, generator=generator, dtype=torch.float64)
            log_p = log_ratio(x, RHO * x + math.sqrt(1 - RHO**2) * noise)
            found.append(estimate(name, alpha, gamma, log_p, log_ratio(x[:, None], others), torch.sin(5 * x)))
        return torch.stack(found) - truth

    few, many = errors(50, 2), errors(800, 32)
    assert many.square().mean().sqrt() < few.square().mean().sqrt() / 2.5
    # Five standard errors, and the bias of a logarithm of a mean: it falls as 1/K for CPC and as 1/N for the others.
    assert abs(many.mean()) < 5 * many.std() / len(many) ** 0.5 + (0.1 / 32 if name == "cpc" else 1 / 800)
