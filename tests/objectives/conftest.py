"""The table of objectives: the equation of each as a plain loop in double precision, and the laws that it obeys.

A new objective on a critic's scores is a row of ``TABLE``; all tests of this folder and of several processes follow.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import exp, log
from statistics import fmean

import pytest
import torch
from torch import Tensor

from lightning_renyicl.objectives import CPC, DV, MLCPC, NWJ, RMLCPC, CosineCritic, Renyi, functional

Options = dict[str, float | None]


def _cpc(p, n, alpha=None):
    terms = []
    for positive, negatives in zip(p, n, strict=True):
        skew = 1 / (len(negatives) + 1) if alpha is None else alpha
        terms.append(log(exp(positive) / (skew * exp(positive) + (1 - skew) * fmean(map(exp, negatives)))))
    return fmean(terms)


def _mlcpc(p, n, alpha=0.0):
    everything = [score for negatives in n for score in negatives]
    denominator = alpha * fmean(map(exp, p)) + (1 - alpha) * fmean(map(exp, everything))
    return fmean(log(exp(positive) / denominator) for positive in p)


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


@dataclass(frozen=True)
class Row:
    """A function of critic scores, the class that trains on it, and its laws.

    Attributes:
        name: function of ``objectives.functional``.
        equation: loop over scores in double precision, with one anchor for each positive pair.
        options: arguments to test it with.
        defaults: the arguments of the class when none is given.
        objective: class, None for a function that nothing trains on.
        representatives: how many of the options, from the first, are tried where a test is expensive.
        normalises_per_anchor: whether each anchor has a denominator of its own; else scores are two sets.
        shift_invariant: whether a number added to all scores changes nothing.
        exponentiates: whether it leaves log space, and scores above 80 are refused.
        optimum: the best critic's score, from log r, from the log s of the skew mixture, and from c(x).
        limit: largest value, from alpha and gamma.
        peak: positive score at which, with negatives far below, the limit is reached, from alpha.
    """

    name: str
    equation: Callable[..., float]
    options: tuple[Options, ...]
    defaults: Options
    objective: type[CosineCritic] | None
    representatives: int = 1
    normalises_per_anchor: bool = False
    shift_invariant: bool = True
    exponentiates: bool = False
    optimum: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda log_r, log_s, row: log_s + 0.7
    limit: Callable[[float, float], float] = lambda alpha, gamma: -log(alpha) / gamma
    peak: Callable[[float], float] = lambda alpha: 5.0

    def bounds(self) -> list[Bound]:
        return [Bound(self, tuple(options.items())) for options in self.options]

    def takes(self, option: str) -> bool:
        return option in inspect.signature(self.function).parameters

    @property
    def function(self) -> Callable[..., Tensor]:
        return getattr(functional, self.name)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Bound:
    """A row of the table with one choice of its options, callable on scores."""

    row: Row
    options: tuple[tuple[str, float | None], ...]

    def __call__(self, p: Tensor, n: Tensor, **others: object) -> Tensor:
        return self.row.function(p, n, **{**dict(self.options), **others})

    def loop(self, p: Tensor, n: Tensor) -> float:
        """The equation on the same scores."""
        return self.row.equation(
            p.double().flatten().tolist(), n.double().flatten(0, -2).tolist(), **dict(self.options)
        )

    def critic(self, **critic: float) -> CosineCritic:
        """The objective of the same options."""
        return self.row.objective(**dict(self.options), **critic)

    def alpha(self, negatives: int) -> float:
        """The skew with so many negatives an anchor."""
        alpha = dict(self.options).get("alpha", 0.0)
        return 1 / (negatives + 1) if alpha is None else alpha

    @property
    def gamma(self) -> float:
        """The order of its divergence."""
        return dict(self.options).get("gamma", 1.0)

    def __str__(self) -> str:
        values = [f"{key}={value if value is None else format(value, '.4g')}" for key, value in self.options]
        return "-".join([self.row.name, *values])


def _of_ratio(log_r: Tensor, log_s: Tensor, row: Tensor) -> Tensor:
    return log_r + row


TABLE = (
    Row(
        "cpc",
        _cpc,
        ({"alpha": None}, {"alpha": 0.5}, {"alpha": 0.0}, {"alpha": 1.0}),
        {"alpha": None},
        CPC,
        representatives=2,
        normalises_per_anchor=True,
        optimum=_of_ratio,
    ),
    Row("mlcpc", _mlcpc, tuple({"alpha": alpha} for alpha in (0.5, 0.0, 1 / 4096, 1.0)), {"alpha": 1 / 4096}, MLCPC),
    Row("dv", _mlcpc, ({}, {"alpha": 0.5}), {"alpha": 0.0}, DV),
    Row(
        "nwj",
        _nwj,
        ({"alpha": 0.5}, {"alpha": 0.0}, {"alpha": 1.0}),
        {"alpha": 0.0},
        NWJ,
        shift_invariant=False,
        exponentiates=True,
        optimum=lambda log_r, log_s, row: log_s + 1,
        peak=lambda alpha: 1 - log(alpha),
    ),
    Row(
        "rmlcpc",
        _rmlcpc,
        # both forms, about gamma 1 and further away, at every skew
        tuple(
            {"alpha": alpha, "gamma": gamma}
            for alpha, gamma in (
                *((0.5, 2.0), (0.5, 1.1), (0.5, 1.0), (0.5, 0.5), (0.0, 0.5), (0.0, 0.9)),
                *((1 / 4096, 1.25), (1 / 4096, 3.0), (1.0, 2.0), (1.0, 1.1)),
            )
        ),
        {"alpha": 1 / 4096, "gamma": 2.0},
        RMLCPC,
        representatives=2,
    ),
    Row("renyi", _renyi, ({"gamma": 1.5}, {"gamma": 1.1}, {"gamma": 0.5}), {"gamma": 2.0}, Renyi),
    Row("mutual_information", _mutual_information, ({},), {}, None, normalises_per_anchor=True, optimum=_of_ratio),
)
BOUNDS = tuple(bound for row in TABLE for bound in row.bounds())
REPRESENTATIVES = tuple(bound for row in TABLE for bound in row.bounds()[: row.representatives])


def _choice(values: Iterable) -> dict:
    return {"scope": "session", "params": list(values), "ids": str}


@pytest.fixture(**_choice(TABLE))
def row(request) -> Row:
    """Every function."""
    return request.param


@pytest.fixture(**_choice(row for row in TABLE if row.objective))
def trained(request) -> Row:
    """Every function that a class trains on."""
    return request.param


@pytest.fixture(**_choice(BOUNDS))
def bound(request) -> Bound:
    """Every function with each of its options."""
    return request.param


@pytest.fixture(**_choice(bound for bound in BOUNDS if bound.row.shift_invariant))
def shift_invariant(request) -> Bound:
    """Every bound that a number added to all scores doesn't change."""
    return request.param


@pytest.fixture(**_choice(row for row in TABLE if row.takes("alpha")))
def skewed(request) -> Row:
    """Every function with a skew."""
    return request.param


@pytest.fixture(**_choice(row for row in TABLE if row.takes("gamma")))
def of_order(request) -> Row:
    """Every function with an order."""
    return request.param


@pytest.fixture(**_choice(bound for bound in BOUNDS if not bound.row.normalises_per_anchor))
def batch_bound(request) -> Bound:
    """Every bound with one denominator for the global batch."""
    return request.param


@pytest.fixture(**_choice(bound for bound in BOUNDS if not bound.row.exponentiates))
def log_bound(request) -> Bound:
    """Every bound that never exponentiates a score."""
    return request.param


@pytest.fixture(**_choice(bound for bound in REPRESENTATIVES if bound.row.objective))
def representative(request) -> Bound:
    """One bound or two of every class."""
    return request.param


@pytest.fixture(scope="session")
def loop():
    """An equation on scores: ``loop(name, p, n, **options)``."""
    rows = {row.name: row for row in TABLE}
    return lambda name, p, n, **options: Bound(rows[name], tuple(options.items())).loop(p, n)


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
