"""Each bound at its best critic, which its row of the table tells, is its divergence.

With r = dP/dQ, M = alpha P + (1 - alpha) Q and s = dP/dM: CPC at log r + c(x); DV, MLCPC and RMLCPC at log s + const;
NWJ at 1 + log s; the plain Rényi bound at log r + const.
"""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import trapezoid


def estimate(bound, log_p, log_n, row_shift):
    """The bound with its best critic, from log r of the pairs; ``row_shift [N]`` stands for c(x)."""
    alpha = bound.alpha(log_n.shape[-1])

    def score(log_r, shift):
        log_s = -torch.logaddexp(torch.full_like(log_r, log(alpha)), log(1 - alpha) - log_r)
        return bound.row.optimum(log_r, log_s, shift)

    return bound(score(log_p, row_shift), score(log_n, row_shift[:, None]))


def log(weight):
    return math.log(weight) if weight > 0 else -math.inf


def divergence(expectation, alpha, gamma):
    """R_gamma(P || M), KL at gamma 1, from ``expectation(function of r)`` under P."""
    if gamma == 1:
        return expectation(lambda r: np.log(r / (alpha * r + 1 - alpha)))
    # E_M[s^gamma] = E_P[s^(gamma - 1)]; the paper's R_gamma carries 1 / (gamma (gamma - 1))
    return math.log(expectation(lambda r: (r / (alpha * r + 1 - alpha)) ** (gamma - 1))) / (gamma * (gamma - 1))


COUNTS = np.array([[9, 2, 1, 3], [1, 8, 2, 2], [2, 1, 12, 5]])


def test_discrete_pairs_enumerated(bound):
    joint = COUNTS / COUNTS.sum()
    ratio = joint / np.outer(joint.sum(1), joint.sum(0))
    # Each pair as often as its probability says, and for each x every y as often as the marginal of y says.
    x, y = np.indices(COUNTS.shape).reshape(2, -1).repeat(COUNTS.ravel(), axis=1)
    log_r = torch.from_numpy(np.log(ratio))
    rows = torch.tensor([0.3, -1.2, 2.0], dtype=torch.float64)[x]
    value = estimate(bound, log_r[x, y], log_r[x[:, None], y[None, :]], rows)
    expected = divergence(lambda function: (joint * function(ratio)).sum(), bound.alpha(len(x)), bound.gamma)
    assert value.item() == pytest.approx(expected, rel=1e-12, abs=1e-14)


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


def test_gaussian_samples(bound):
    def errors(samples, negatives, runs=16):
        truth = divergence(gaussian_expectation, bound.alpha(negatives), bound.gamma)
        generator = torch.Generator().manual_seed(0)
        found = []
        for _ in range(runs):
            x, noise = torch.randn(2, samples, generator=generator, dtype=torch.float64)
            others = torch.randn(samples, negatives, generator=generator, dtype=torch.float64)
            log_p = log_ratio(x, RHO * x + math.sqrt(1 - RHO**2) * noise)
            found.append(estimate(bound, log_p, log_ratio(x[:, None], others), torch.sin(5 * x)))
        return torch.stack(found) - truth

    few, many = errors(50, 2), errors(800, 32)
    if bound.alpha(1) == 1:  # both sides are one distribution
        assert many.abs().max() < 1e-12
        return
    assert many.square().mean().sqrt() < few.square().mean().sqrt() / 2.5
    # Five standard errors, and the bias of a logarithm of a mean: as 1/K of an anchor's negatives, as 1/N of a batch.
    bias = 0.1 / 32 if bound.row.normalises_per_anchor else 1 / 800
    assert abs(many.mean()) < 5 * many.std() / len(many) ** 0.5 + bias
