r"""Distributions of pairs whose mutual information is known, ``x`` and ``y`` ``[N, D]`` each.

Closed forms are those of Czyż, Grabowski, Vogt, Beerenwinkel and Marx (2023) and the works that they name.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from scipy.optimize import brentq
from scipy.special import digamma, gammaln
from torch import Generator, Tensor

LARGEST = 12.0
"""Nats of a coordinate; from about 16 on the float32 numbers of many pairs are equal."""


class Pairs(ABC):
    """Pairs of D coordinates with any mutual information in a range.

    Args:
        dimensions: coordinates D of an ``x``, and of a ``y``.

    Raises:
        ValueError: no dimension.
    """

    def __init__(self, dimensions: int = 20) -> None:
        if dimensions < 1:
            raise ValueError(f"dimensions must be at least 1, got {dimensions}")
        self.dimensions = dimensions

    @property
    def features(self) -> int:
        """Numbers of an ``x``, and of a ``y``."""
        return self.dimensions

    @property
    def smallest(self) -> float:
        """What the mutual information in nats is at least."""
        return 0.0

    @property
    def largest(self) -> float:
        """What the mutual information in nats is below."""
        return self.smallest + self.dimensions * LARGEST

    @abstractmethod
    def draw(self, pairs: int, nats: float, generator: Generator) -> tuple[Tensor, Tensor]:
        """Draws what :meth:`sample` does, for a number of nats that is in range."""

    def sample(self, pairs: int, nats: float, generator: Generator) -> tuple[Tensor, Tensor]:
        """Independent pairs in float32.

        Args:
            pairs: number of pairs N.
            nats: mutual information of a pair, all coordinates together.
            generator: source of the draws.

        Raises:
            ValueError: mutual information that such pairs cannot have.
        """
        if not self.smallest <= nats < self.largest:
            raise ValueError(
                f"{type(self).__name__} of {self.dimensions} dimensions have a mutual information of "
                f"{self.smallest:.4g} to below {self.largest:.4g} nats, got {nats}"
            )
        return self.draw(pairs, nats, generator)


def correlation(nats: float) -> float:
    """The correlation of two Gaussians with so much mutual information, −log(1 − rho²)/2."""
    return math.sqrt(-math.expm1(-2 * nats))


def correlated(pairs: int, dimensions: int, nats: float, generator: Generator) -> tuple[Tensor, Tensor]:
    """Standard normal pairs, with so much mutual information in each coordinate."""
    x, noise = torch.randn(2, pairs, dimensions, generator=generator)
    return x, correlation(nats) * x + math.exp(-nats) * noise


class GaussianPairs(Pairs):
    """Correlated Gaussians, perhaps with ``y`` cubed, which no mutual information notices.

    Args:
        dimensions: coordinates D of an ``x``, and of a ``y``.
        cubed: whether ``y`` is the third power (Poole et al., 2019).
    """

    def __init__(self, dimensions: int = 20, cubed: bool = False) -> None:
        super().__init__(dimensions)
        self.cubed = cubed

    def draw(self, pairs: int, nats: float, generator: Generator) -> tuple[Tensor, Tensor]:
        x, y = correlated(pairs, self.dimensions, nats / self.dimensions, generator)
        return x, y**3 if self.cubed else y


class UniformPairs(Pairs):
    r"""X uniform in (0, 1), and Y as much plus noise that is uniform in (−e, e).

    In each coordinate the mutual information is :math:`e - \log 2e` for e up to 1/2, :math:`1 / 4e` beyond.
    """

    def draw(self, pairs: int, nats: float, generator: Generator) -> tuple[Tensor, Tensor]:
        each = nats / self.dimensions
        x, noise = torch.rand(2, pairs, self.dimensions, generator=generator)
        if each == 0:
            return x, noise
        width = (
            1 / (4 * each) if each < 0.5 else brentq(lambda e: e - math.log(2 * e) - each, 0.5 * math.exp(-each), 0.5)
        )
        return x, x + width * (2 * noise - 1)


class StudentPairs(Pairs):
    r"""Correlated Gaussians that one chi-squared number divides: Student's distribution in 2D dimensions.

    Their tails are long, and even without correlation they are dependent: the mutual information is that of the
    Gaussians plus :math:`f(\nu) + f(\nu + 2D) - 2 f(\nu + D)` with :math:`f(t) = \log \Gamma(t/2) - (t/2)\, \psi(t/2)`.

    Args:
        dimensions: coordinates D of an ``x``, and of a ``y``.
        freedom: degrees of freedom nu.

    Raises:
        ValueError: no dimension, or degrees of freedom that are not above 0.
    """

    def __init__(self, dimensions: int = 20, freedom: float = 3.0) -> None:
        super().__init__(dimensions)
        if not 0 < freedom < math.inf:
            raise ValueError(f"freedom must be a finite number above 0, got {freedom}")
        self.freedom = freedom

    @property
    def smallest(self) -> float:
        def f(t: float) -> float:
            return float(gammaln(t / 2) - t / 2 * digamma(t / 2))

        return f(self.freedom) + f(self.freedom + 2 * self.dimensions) - 2 * f(self.freedom + self.dimensions)

    def draw(self, pairs: int, nats: float, generator: Generator) -> tuple[Tensor, Tensor]:
        x, y = correlated(pairs, self.dimensions, (nats - self.smallest) / self.dimensions, generator)
        shape = torch.full((pairs, 1), self.freedom / 2)
        chi_squared = 2 * torch._standard_gamma(shape, generator=generator)
        scale = (self.freedom / chi_squared).sqrt()
        return scale * x, scale * y


class DiscretePairs(Pairs):
    """Symbols that agree in some fraction of pairs and are independent else, as one-hot numbers.

    Args:
        dimensions: independent symbols of an ``x``, and of a ``y``.
        symbols: number of symbols.

    Raises:
        ValueError: no dimension, or fewer than two symbols.
    """

    def __init__(self, dimensions: int = 1, symbols: int = 8) -> None:
        super().__init__(dimensions)
        if symbols < 2:
            raise ValueError(f"symbols must be at least 2, got {symbols}")
        self.symbols = symbols

    @property
    def features(self) -> int:
        return self.dimensions * self.symbols

    @property
    def largest(self) -> float:
        return self.dimensions * math.log(self.symbols)

    def information(self, agreement: float) -> float:
        """Nats of one symbol for a fraction of pairs that agree by rule."""
        same = agreement / self.symbols + (1 - agreement) / self.symbols**2  # probability of one pair of equal symbols
        other = (1 - agreement) / self.symbols**2
        terms = [(self.symbols, same), (self.symbols * (self.symbols - 1), other)]
        return sum(count * p * math.log(p * self.symbols**2) for count, p in terms if p > 0)

    def draw(self, pairs: int, nats: float, generator: Generator) -> tuple[Tensor, Tensor]:
        each = nats / self.dimensions
        agreement = brentq(lambda part: self.information(part) - each, 0.0, 1.0)
        x, other = torch.randint(self.symbols, (2, pairs, self.dimensions), generator=generator)
        agrees = torch.rand(pairs, self.dimensions, generator=generator) < agreement
        y = torch.where(agrees, x, other)
        first, second = (torch.nn.functional.one_hot(part, self.symbols).float().flatten(1) for part in (x, y))
        return first, second
