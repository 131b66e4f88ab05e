"""The von Mises-Fisher distribution of directions about a mean direction."""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy.special import ive, ndtr, xlogy
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from lightning_renyicl.objectives.ranges import check_above_zero

_SCORES = 8.0
"""How many standard deviations of a normal variable the table reaches."""
_NODES = 4097


def log_constant(width: int, concentration: float) -> float:
    r"""The logarithm of the density's constant, by which :math:`C e^{\kappa \mu^\top z}` integrates to 1.

    .. math:: C = \frac{\kappa^{\nu}}{(2 \pi)^{\nu + 1} I_\nu(\kappa)}, \quad \nu = \frac{D}{2} - 1

    Args:
        width: number D of dimensions.
        concentration: kappa, above 0.

    Returns:
        Nats; infinite where the Bessel function underflows, for thousands of dimensions and a small concentration.
    """
    order = width / 2 - 1
    bessel = float(ive(order, concentration))  # e^-kappa I(kappa)
    if bessel == 0:
        return math.inf
    return order * math.log(concentration) - (order + 1) * math.log(2 * math.pi) - math.log(bessel) - concentration


class VonMisesFisher(nn.Module):
    r"""Draws directions z about mean directions mu, with the density :math:`\propto e^{\kappa \mu^\top z}`.

    The distance t = 1 − mu · z has a law of its own, whose density is
    :math:`\propto e^{-\kappa t} (t (2 - t))^{(D - 3) / 2}`. A standard normal number is taken to t through a table, so
    that neither a rejection nor a wait for the device comes in between, and gradients reach mu.

    Args:
        width: number D of dimensions, at least 3.
        concentration: kappa, a finite number above 0.

    Raises:
        ValueError: too few dimensions, or a concentration out of range.
    """

    distances: Tensor

    def __init__(self, width: int, concentration: float) -> None:
        super().__init__()
        if width < 3:
            raise ValueError(f"directions are drawn in at least 3 dimensions, got embeddings of {width}")
        check_above_zero(concentration=concentration)
        log_t = np.linspace(math.log(1e-20), math.log(2), 2**17)
        t = np.exp(log_t)
        log_density = log_t - concentration * t + xlogy((width - 3) / 2, t * (2 - t))  # of log t
        density = np.exp(log_density - log_density.max())
        below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
        at = np.interp(ndtr(np.linspace(-_SCORES, _SCORES, _NODES)), below / below[-1], t)
        self.register_buffer("distances", torch.from_numpy(at), persistent=False)

    def forward(self, mean: Tensor, generator: Generator | None) -> tuple[Tensor, Tensor]:
        """One direction for each mean.

        Args:
            mean: directions ``[..., D]`` of length 1.
            generator: random numbers on the device of ``mean``; None: torch's own.

        Returns:
            Directions ``[..., D]`` and their cosines ``[...]`` with the means, which carry no gradient.
        """

        def normal(shape: torch.Size) -> Tensor:
            return torch.randn(shape, generator=generator, device=mean.device, dtype=mean.dtype)

        place = (normal(mean.shape[:-1]) / _SCORES + 1.0) * (_NODES - 1) / 2
        lower = place.long().clamp(0, _NODES - 2)
        distances = self.distances.to(mean.dtype)
        t = torch.lerp(distances[lower], distances[lower + 1], (place - lower).clamp(0.0, 1.0))
        aside = normal(mean.shape)
        aside = F.normalize(aside - (aside * mean).sum(-1, keepdim=True) * mean, dim=-1)
        z = (1.0 - t).unsqueeze(-1) * mean + (t * (2.0 - t)).sqrt().unsqueeze(-1) * aside
        return z, 1.0 - t
