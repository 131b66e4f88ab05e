"""C-BYOL: its code's distribution, its two terms and its limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.integrate import cumulative_trapezoid
from scipy.special import ive
from scipy.stats import kstest, vonmises_fisher

from lightning_renyicl.objectives import BYOL, CBYOL, Context
from lightning_renyicl.objectives.embeddings import unit
from lightning_renyicl.objectives.vmf import VonMisesFisher, log_constant

LAWS = [(3, 0.1), (3, 1e6), (4, 10.0), (64, 10.0), (256, 16384.0), (8, 1e10)]


def directions(count, width, seed=0):
    return unit(torch.randn(count, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64))


@pytest.mark.parametrize(("width", "kappa"), LAWS)
def test_mean_cosine(width, kappa):
    """The ratio of Bessel functions, whose distance from 1 the sampler's own is compared with."""
    mean = directions(1, width).expand(40_000, width)
    _, cosine = VonMisesFisher(width, kappa).double()(mean, torch.Generator().manual_seed(1))
    expected = float(1 - ive(width / 2, kappa) / ive(width / 2 - 1, kappa))
    if kappa > 1e8:  # the ratio cancels there: gamma's mean
        expected = (width - 1) / (2 * kappa)
    assert (1 - cosine).mean().item() == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("width", "kappa"), [(3, 0.1), (4, 10.0), (64, 10.0)])
def test_law_of_the_cosine(width, kappa):
    mean = directions(1, width).expand(5000, width)
    _, cosine = VonMisesFisher(width, kappa).double()(mean, torch.Generator().manual_seed(2))

    w = np.linspace(-1, 1, 200_001)
    density = np.exp(kappa * (w - 1)) * (1 - w * w) ** ((width - 3) / 2)
    below = cumulative_trapezoid(density, w, initial=0)
    assert kstest(cosine.numpy(), lambda at: np.interp(at, w, below / below[-1])).pvalue > 1e-3


def test_directions_are_about_the_mean_on_all_sides():
    mean = directions(1, 4)
    z, cosine = VonMisesFisher(4, 5.0).double()(mean.expand(100_000, 4), torch.Generator().manual_seed(0))
    torch.testing.assert_close(z.norm(dim=1), torch.ones(100_000, dtype=torch.float64))
    torch.testing.assert_close((z * mean).sum(1), cosine)
    aside = z - cosine[:, None] * mean
    assert aside.mean(0).abs().max() < 0.01
    theirs = vonmises_fisher(mean[0].numpy(), 5.0).rvs(100_000, random_state=0)
    torch.testing.assert_close(torch.cov(z.T), torch.cov(torch.from_numpy(theirs).T), atol=0.01, rtol=0)


@pytest.mark.parametrize(("width", "kappa"), [(3, 0.5), (16, 10.0), (256, 16384.0), (512, 100.0)])
def test_constant_against_scipy(width, kappa):
    mean = directions(1, width)[0].numpy()
    expected = vonmises_fisher(mean, kappa).logpdf(mean) - kappa
    assert log_constant(width, kappa) == pytest.approx(expected, rel=1e-9)


def test_a_constant_out_of_range_is_left_out():
    assert log_constant(8192, 10.0) == math.inf
    objective = CBYOL(hidden=4)
    objective.build(8192, 0)
    assert objective.constant == 0


@torch.no_grad()
def test_two_terms_against_a_loop():
    torch.manual_seed(0)
    objective = CBYOL(hidden=8, kappa_e=50.0, kappa_b=3.0, beta=0.7, weight=2.0)
    objective.build(4, 0)
    objective.double()
    views = [directions(6, 4, seed) * (seed + 1) for seed in range(4)]
    online, target = views[:2], views[2:]
    loss, logs = objective(online, target, Context(generator=torch.Generator().manual_seed(5)))
    generator, total, codes = torch.Generator().manual_seed(5), 0.0, []
    for view in online:
        mean = unit(objective.encoder(view))
        codes.append((mean, objective.code(mean, generator)[0]))
    constants = log_constant(4, 50.0) - log_constant(4, 3.0)
    for t in (0, 1):
        mean, z = codes[1 - t]
        y = unit(target[t])
        about = unit(objective.backward_encoder(y))
        q = unit(objective.predictor(z))
        for i in range(6):
            distance = float(((q[i] - y[i]) ** 2).sum())
            residual = 50.0 * float(mean[i] @ z[i]) - 3.0 * float(about[i] @ z[i]) + constants
            total += (2.0 * distance + 0.7 * residual) / 6
    assert loss.item() == pytest.approx(total, rel=1e-10)
    assert logs["residual"].item() == pytest.approx(
        sum(
            50.0 * (m * z).sum(1) - 3.0 * (unit(objective.backward_encoder(unit(target[1 - v]))) * z).sum(1)
            for v, (m, z) in enumerate(codes)
        )
        .mean()
        .item()
        / 2
        + constants,
        rel=1e-10,
    )


def test_without_a_bottleneck_it_is_byol():
    torch.manual_seed(0)
    objective = CBYOL(hidden=8, kappa_e=1e16, beta=0.0, weight=3.0)
    objective.build(4, 0)
    objective.double()
    views = [directions(6, 4, seed) for seed in range(5)]
    online, target = views[:3], views[3:]
    loss, _ = objective(online, target, Context(generator=torch.Generator().manual_seed(0)))
    plain, _ = BYOL()([objective.predictor(unit(objective.encoder(view))) for view in online], target)
    assert loss.item() == pytest.approx(3.0 * plain.item(), rel=1e-6)


def test_the_same_generator_draws_the_same_codes():
    objective = CBYOL(hidden=8)
    objective.build(4, 0)
    online, target = [directions(6, 4).float() for _ in range(2)], [directions(6, 4, 1).float()] * 2
    losses = [objective(online, target, Context(generator=torch.Generator().manual_seed(s)))[0] for s in (0, 0, 1)]
    assert losses[0] == losses[1] != losses[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kappa_e": 0.0}, "kappa_e must be a finite number above 0, got 0.0"),
        ({"kappa_b": math.inf}, "kappa_b must be a finite number above 0, got inf"),
        ({"beta": -1.0}, "beta must be a finite number of at least 0, got -1.0"),
        ({"weight": math.nan}, "weight must be a finite number of at least 0, got nan"),
    ],
)
def test_arguments_out_of_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        CBYOL(**arguments)


def test_embeddings_that_are_too_short():
    with pytest.raises(ValueError, match="at least 3 dimensions, got embeddings of 2"):
        CBYOL().build(2, 0)
