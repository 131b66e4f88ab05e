r"""Divergences between known distributions, in nats.

All are the Rényi divergence as the RényiCL paper scales it (Lee and Shin, 2022, lemma from Birrell et al., 2021), of P
from the skew mixture M = alpha P + (1 - alpha) Q:

.. math:: R_\gamma^{(\alpha)}(P \| Q) = \frac{1}{\gamma(\gamma-1)} \log E_M\left[(dP/dM)^\gamma\right]

It is 1/gamma times the usual Rényi divergence, and KL(P || M) at gamma = 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from lightning_renyicl.objectives.functional import check_alpha, check_gamma


def discrete(p: ArrayLike, q: ArrayLike, gamma: float = 1.0, alpha: float = 0.0) -> float:
    r"""The divergence between two discrete distributions, by summation.

    Args:
        p: probabilities of P, of any shape.
        q: probabilities of the same outcomes under Q.
        gamma: order above 0; 1 is KL.
        alpha: skew in [0, 1].

    Returns:
        Nats; infinity where P has an outcome that M lacks and gamma is at least 1.

    Raises:
        ValueError: shapes that differ, numbers that are no probabilities, gamma or alpha out of range.

    >>> round(discrete([0.5, 0.5], [0.25, 0.75]), 4)
    0.1438
    """
    check_gamma(gamma)
    check_alpha(alpha)
    p, q = probabilities(p), probabilities(q)
    if p.shape != q.shape:
        raise ValueError(f"expected probabilities of the same outcomes, got shapes {p.shape} and {q.shape}")
    mixture = alpha * p + (1 - alpha) * q
    possible = p > 0
    p, mixture = p[possible], mixture[possible]
    if gamma >= 1 and (mixture == 0).any():
        return math.inf
    if gamma == 1:
        return float(np.sum(p * np.log(p / mixture)))
    with np.errstate(divide="ignore"):  # below gamma 1 an outcome that M lacks adds nothing
        log_total = float(logsumexp(gamma * np.log(p) + (1 - gamma) * np.log(mixture)))
    return log_total / (gamma * (gamma - 1))


def probabilities(values: ArrayLike) -> np.ndarray:
    """An array of probabilities; raises ValueError for numbers that are none."""
    array = np.asarray(values, dtype=np.float64)
    total = array.sum()
    if not array.size or (array < 0).any() or not abs(total - 1) < 1e-6:  # float32 is off by 1e-7
        least = f", the least {array.min():.6g}" if array.size else ""
        raise ValueError(f"probabilities must not be negative and sum to 1, got a sum of {total:.9g}{least}")
    return array / total


def gaussian(
    mean_p: ArrayLike, covariance_p: ArrayLike, mean_q: ArrayLike, covariance_q: ArrayLike, gamma: float = 1.0
) -> float:
    r"""The divergence between two Gaussians without skew, in closed form.

    .. math:: \frac{1}{2} \Delta^\top \Sigma_*^{-1} \Delta - \frac{1}{2\gamma(\gamma-1)}
              \log \frac{|\Sigma_*|}{|\Sigma_P|^{1-\gamma} |\Sigma_Q|^\gamma},
              \quad \Sigma_* = \gamma \Sigma_Q + (1-\gamma) \Sigma_P

    Gil, Alajaji and Linder (2013), table 2, by the paper's scale.

    Args:
        mean_p: mean of P, ``[D]``.
        covariance_p: covariance of P, ``[D, D]``, positive definite.
        mean_q: mean of Q, ``[D]``.
        covariance_q: covariance of Q, ``[D, D]``, positive definite.
        gamma: order above 0; 1 is KL.

    Returns:
        Nats; infinity where :math:`\Sigma_*` is not positive definite.

    Raises:
        ValueError: shapes that don't fit, a covariance that is not positive definite, gamma out of range.
    """
    check_gamma(gamma)
    delta = np.asarray(mean_p, dtype=np.float64) - np.asarray(mean_q, dtype=np.float64)
    p, q = (np.asarray(covariance, dtype=np.float64) for covariance in (covariance_p, covariance_q))
    if delta.ndim != 1 or p.shape != delta.shape * 2 or q.shape != p.shape:
        raise ValueError(f"expected means [D] and covariances [D, D], got {delta.shape}, {p.shape} and {q.shape}")
    log_p, log_q = _log_determinant(p), _log_determinant(q)
    if log_p is None or log_q is None:
        raise ValueError("covariances must be positive definite")
    if gamma == 1:
        distance = delta @ np.linalg.solve(q, delta)
        return float(np.trace(np.linalg.solve(q, p)) + distance - len(delta) + log_q - log_p) / 2
    between = gamma * q + (1 - gamma) * p
    log_between = _log_determinant(between)
    if log_between is None:
        return math.inf
    distance = delta @ np.linalg.solve(between, delta)
    return float(distance - (log_between - (1 - gamma) * log_p - gamma * log_q) / (gamma * (gamma - 1))) / 2


def _log_determinant(matrix: np.ndarray) -> float | None:
    """The logarithm of the determinant of a positive definite matrix; None for any other."""
    try:
        return float(2 * np.log(np.diagonal(np.linalg.cholesky(matrix))).sum())
    except np.linalg.LinAlgError:
        return None
