"""The table of bounds and their equations as plain loops in double precision."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from statistics import fmean

import pytest
import torch
from torch import Tensor

from lightning_renyicl.objectives import functional

GAMMAS = (0.5, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0)
SKEWS = (0.0, 1 / 4096, 0.5, 1.0)


def _cpc(p, n, alpha=None):
    terms = []
    for positive, negatives in zip(p, n, strict=True):
        skew = 1 / (len(negatives) + 1) if alpha is None else alpha
        terms.append(log(exp(positive) / (skew * exp(positive) + (1 - skew) * fmean(map(exp, negatives)))))
    return fmean(terms)


def _mlcpc(p, n, alpha):
    everything = [score for negatives in n for score in negatives]
    denominator = alpha * fmean(map(exp, p)) + (1 - alpha) * fmean(map(exp, everything))
    return fmean(log(exp(positive) / denominator) for positive in p)


def _dv(p, n, alpha=0.0):
    return _mlcpc(p, n, alpha)


def _rmlcpc(p, n, alpha, gamma):
    if gamma == 1:
        return _mlcpc(p, n, alpha)
    first = log(fmean(exp((gamma - 1) * score) for score in p)) / (gamma - 1)
    positive = fmean(exp(gamma * score) for score in p)
    negative = fmean(exp(gamma * score) for negatives in n for score in negatives)
    return first - log(alpha * positive + (1 - alpha) * negative) / gamma


def _renyi(p, n, gamma):
    return _rmlcpc(p, n, 0.0, gamma)


def _nwj(p, n, alpha=0.0):
    positive = fmean(exp(score - 1) for score in p)
    negative = fmean(exp(score - 1) for negatives in n for score in negatives)
    return fmean(p) - alpha * positive - (1 - alpha) * negative


def _mutual_information(p, n, alpha=0.25):
    # The paper's Algorithm 2: the skewed ratio of each anchor first, then the ratio that it was made from.
    terms = []
    for positive, negatives in zip(p, n, strict=True):
        skewed = exp(positive) / (alpha * exp(positive) + (1 - alpha) * fmean(map(exp, negatives)))
        terms.append(log((1 - alpha) * skewed / (1 - alpha * skewed)))
    return fmean(terms)


def _loop(name: str, p: Tensor, n: Tensor, **options: float | None) -> float:
    """An equation of the above, with one anchor for each positive pair."""
    return globals()[f"_{name}"](p.double().flatten().tolist(), n.double().flatten(0, -2).tolist(), **options)


@dataclass(frozen=True)
class Bound:
    """A function of the table with its options, callable on scores."""

    name: str
    options: tuple[tuple[str, float | None], ...]

    def __call__(self, p: Tensor, n: Tensor) -> Tensor:
        return getattr(functional, self.name)(p, n, **dict(self.options))

    def loop(self, p: Tensor, n: Tensor) -> float:
        """The equation on the same scores."""
        return _loop(self.name, p, n, **dict(self.options))

    def __str__(self) -> str:
        return "-".join([self.name, *(f"{key}={value:.4g}" for key, value in self.options if value is not None)])


def _table() -> list[Bound]:
    rows: list[tuple[str, dict[str, float | None]]] = [("cpc", {"alpha": None}), ("mutual_information", {})]
    for alpha in SKEWS:
        rows += [(name, {"alpha": alpha}) for name in ("cpc", "mlcpc", "dv", "nwj")]
        rows += [("rmlcpc", {"alpha": alpha, "gamma": gamma}) for gamma in GAMMAS]
    rows += [("renyi", {"gamma": gamma}) for gamma in GAMMAS]
    return [Bound(name, tuple(options.items())) for name, options in rows]


@pytest.fixture(scope="session", params=_table(), ids=str)
def bound(request) -> Bound:
    return request.param


@pytest.fixture(scope="session", params=[b for b in _table() if b.name != "nwj"], ids=str)
def log_bound(request) -> Bound:
    """The bounds that never exponentiate a score."""
    return request.param


@pytest.fixture(scope="session")
def loop():
    return _loop


@pytest.fixture(scope="session")
def draw():
    """Draws positive and negative scores: ``draw(shape of p, K, seed=..., scale=..., dtype=...)``."""

    def scores(shape, negatives, seed=0, scale=2.0, dtype=torch.float64):
        generator = torch.Generator().manual_seed(seed)
        p = scale * torch.randn(shape, generator=generator, dtype=torch.float64)
        n = scale * torch.randn((*shape, negatives), generator=generator, dtype=torch.float64)
        return p.to(dtype), n.to(dtype)

    return scores


@pytest.fixture(scope="session")
def weighted_loss():
    """The loss of the paper's Algorithm 1 with its sign and its double exponent mended.

    Scores are averaged with detached weights, so its gradient is that of minus the bound while its value is another.
    """

    def average(terms: list[tuple[float, Tensor, Tensor]]) -> Tensor:
        total = sum(share * weight.mean() for share, _, weight in terms)
        return sum(share * (score * weight).mean() for share, score, weight in terms) / total

    def loss(p: Tensor, n: Tensor, alpha: float, gamma: float) -> Tensor:
        fixed_p, fixed_n = p.detach(), n.detach()
        pull = average([(1.0, p, ((gamma - 1) * fixed_p).exp())])
        push = average([(alpha, p, (gamma * fixed_p).exp()), (1 - alpha, n, (gamma * fixed_n).exp())])
        return push - pull

    return loss
