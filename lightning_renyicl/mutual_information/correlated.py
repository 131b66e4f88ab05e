"""Pairs of correlated Gaussians, whose every skew divergence is an integral over a line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln, kve
from torch import Tensor

from lightning_renyicl.objectives.functional import check_alpha, check_gamma

MOST_DIMENSIONS = 150


@dataclass(frozen=True)
class CorrelatedGaussians:
    r"""X and Y standard normal in D dimensions, of correlation rho in each.

    With P = P_XY, Q = P_X P_Y and r = dP/dQ, under P

    .. math:: \log r = I(X;Y) + \frac{\rho}{2} (A - B), \quad I(X;Y) = -\frac{D}{2} \log(1 - \rho^2)

    for independent chi-squared A and B of D degrees of freedom: so in the coordinates (x + y)/√2 and (x − y)/√2. The
    difference has the density of a symmetric variance-gamma distribution. (The RényiCL paper prints
    log(1 − rho/2), which is right at rho 0 and 1/2 alone.)

    Attributes:
        dimensions: number D of dimensions of X, and of Y.
        rho: correlation of X and Y in each dimension, in (−1, 1).
    """

    dimensions: int
    rho: float

    def __post_init__(self) -> None:
        if self.dimensions < 1 or not -1 < self.rho < 1:
            raise ValueError(f"expected at least 1 dimension and rho in (-1, 1), got {self.dimensions} and {self.rho}")

    @classmethod
    def of_mutual_information(cls, dimensions: int, nats: float) -> CorrelatedGaussians:
        """The pair of positive correlation that has so much mutual information.

        Raises:
            ValueError: a negative or infinite number of nats.
        """
        if not 0 <= nats < math.inf:
            raise ValueError(f"mutual information must be finite and not negative, got {nats}")
        return cls(dimensions, math.sqrt(-math.expm1(-2 * nats / dimensions)))

    @property
    def mutual_information(self) -> float:
        """The mutual information I(X;Y) in nats."""
        return -self.dimensions / 2 * math.log1p(-(self.rho**2))

    def log_ratio(self, x: Tensor, y: Tensor) -> Tensor:
        """The log r of every x ``[N, D]`` with every y ``[M, D]``, ``[N, M]``; the diagonal is that of the pairs."""
        rho = self.rho
        squares = x.square().sum(1, keepdim=True) + y.square().sum(1)  # [N, M]
        return (rho * (x @ y.T) - rho**2 / 2 * squares) / (1 - rho**2) + self.mutual_information

    def expectation(self, function: Callable[[float], float]) -> float:
        """The mean of a function of log r over P, by quadrature.

        Raises:
            ValueError: more dimensions than Bessel's functions in floating point allow.
        """
        return self._integral(lambda log_density, log_r: math.exp(log_density) * function(log_r))

    def _integral(self, integrand: Callable[[float, float], float], reach: float = 1.0) -> float:
        """The integral over A − B of a function of the logarithm of its density and of log r.

        ``reach`` is how many times as far from 0 as for a mean of moderate values it matters.
        """
        if self.dimensions > MOST_DIMENSIONS:
            raise ValueError(f"expectations are for up to {MOST_DIMENSIONS} dimensions, got {self.dimensions}")
        order = (self.dimensions - 1) / 2
        log_scale = -math.log(2 * math.sqrt(math.pi)) - gammaln(self.dimensions / 2)

        def at(t: float) -> float:
            distance = max(abs(t), 1e-300)  # of A - B from 0
            # kve(v, z) is e^z times Bessel's K
            bessel = math.log(kve(order, distance / 2))
            log_density = log_scale + order * math.log(distance / 4) - distance / 2 + bessel
            return integrand(log_density, self.mutual_information + self.rho / 2 * t)

        far = 12 * math.sqrt(4 * self.dimensions) + 80  # e^(-t/2) t^(D-1) beyond is below rounding
        middle = 2 * math.sqrt(self.dimensions)
        edges = [-far, -4 * middle, -middle, 0, middle, 4 * middle, far]
        edges = edges if reach == 1 else [-far * reach, *edges, far * reach]
        return sum(quad(at, low, high, epsabs=1e-13, epsrel=1e-11, limit=200)[0] for low, high in pairwise(edges))

    def divergence(self, gamma: float = 1.0, alpha: float = 0.0) -> float:
        r"""The skew Rényi divergence of P from Q in nats, KL at gamma = 1; see :mod:`divergences`.

        Without skew in closed form: :math:`E_P[r^{\gamma-1}] = e^{(\gamma-1) I} (1 - (\gamma-1)^2 \rho^2)^{-D/2}`,
        infinite from :math:`|(\gamma-1) \rho| = 1` on.

        Raises:
            ValueError: gamma or alpha out of range.
        """
        check_gamma(gamma)
        check_alpha(alpha)
        if alpha == 0:
            spread = 1 - ((gamma - 1) * self.rho) ** 2
            if gamma == 1:
                return self.mutual_information
            if spread <= 0:
                return math.inf
            return (self.mutual_information - self.dimensions / 2 * math.log(spread) / (gamma - 1)) / gamma

        def log_s(log_r: float) -> float:
            """The logarithm of the ratio s to the mixture."""
            rest = math.log1p(-alpha) if alpha < 1 else -math.inf
            return -float(np.logaddexp(math.log(alpha), rest - log_r))

        if gamma == 1:
            return self.expectation(log_s)
        # s^(gamma - 1) grows with |log r|: without an end below gamma 1, above it until alpha s is 1
        growth = abs((gamma - 1) * self.rho)
        end = math.inf if gamma < 1 else 1 - math.log(alpha)
        reach = min(1 / (1 - growth) if growth < 1 else math.inf, end)
        found = self._integral(lambda log_p, log_r: math.exp(log_p + (gamma - 1) * log_s(log_r)), reach)
        return math.log(found) / (gamma * (gamma - 1))
