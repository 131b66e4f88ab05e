r"""The RényiCL paper's statements about variance and bias, for discrete distributions where all can be computed.

P and Q are probabilities of K outcomes, r = dP/dQ, and every outcome of P is one of Q. Samples are counts: m from P, n
from Q.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from lightning_renyicl.mutual_information.divergences import discrete, probabilities
from lightning_renyicl.objectives.functional import check_alpha, check_gamma


def renyi_variance(p: ArrayLike, q: ArrayLike, gamma: float) -> float:
    r"""The limit of n · Var of the Rényi bound at its best critic log r, for m = n samples of each.

    .. math:: \frac{\mathrm{Var}_Q[r^\gamma]}{\gamma^2 E_Q[r^\gamma]^2}
              + \frac{\mathrm{Var}_P[r^{\gamma-1}]}{(\gamma-1)^2 E_P[r^{\gamma-1}]^2}

    The two logarithms of means in the bound are of independent samples, and the delta method gives each its term:
    :math:`n \mathrm{Var}[\log \bar{X}] \to \mathrm{Var}[X] / E[X]^2`. With m fixed n · Var grows without a limit, as
    the second term is then n/m times as large.

    Raises:
        ValueError: no probabilities, an outcome of P that Q lacks, gamma out of range or 1.
    """
    p, q, ratio = _ratio(p, q)
    _check_order(gamma)

    def relative(weights: np.ndarray, values: np.ndarray) -> float:
        mean = float(weights @ values)
        return float(weights @ (values - mean) ** 2) / mean**2

    inside = p > 0
    return relative(q, ratio**gamma) / gamma**2 + relative(p[inside], ratio[inside] ** (gamma - 1)) / (gamma - 1) ** 2


def printed_variance_bound(p: ArrayLike, q: ArrayLike, gamma: float) -> float:
    r"""The bound that the paper prints below that limit, for gamma above 1 (theorem "thm:highvar").

    .. math:: \frac{e^{\gamma^2 \mathrm{KL}(P \| Q)} - \gamma^2}{e^{2\gamma(\gamma-1) R_\gamma(P \| Q)}}

    Its proof takes the variance of the mean of r\ :sup:`gamma` for that of the mean of r to the power of gamma, bounds
    :math:`\gamma^2 E_P[r]` below by :math:`e^{\gamma^2 \mathrm{KL}}`, and drops the factor 1/gamma²: none of them
    holds. For P uniform on half of Q's outcomes and gamma 2 it says 3, where the limit is 1/4.
    """
    if not gamma > 1:
        raise ValueError(f"the theorem is about gamma above 1, got {gamma}")
    exponent = 2 * gamma * (gamma - 1) * discrete(p, q, gamma)
    return (math.exp(gamma**2 * discrete(p, q)) - gamma**2) / math.exp(exponent)


def renyi_estimates(
    p: ArrayLike, q: ArrayLike, gamma: float, m: int, n: int, replicates: int, seed: int = 0
) -> np.ndarray:
    """The Rényi bound at its best critic log r on m samples of P and n of Q, ``[replicates]``.

    Raises:
        ValueError: as :func:`renyi_variance`; no sample.
    """
    p, q, ratio = _ratio(p, q)
    _check_order(gamma)
    of_p, of_q = _counts(p, q, m, n, replicates, seed)
    inside = p > 0
    first = np.log(of_p[:, inside] @ ratio[inside] ** (gamma - 1) / m) / (gamma - 1)
    with np.errstate(divide="ignore"):  # no sample where r is above 0: the bound is infinite
        return first - np.log(of_q @ ratio**gamma / n) / gamma


def skew_kl_estimates(
    p: ArrayLike, q: ArrayLike, alpha: float, m: int, n: int, replicates: int, seed: int = 0
) -> np.ndarray:
    r"""The skew KL divergence of m samples of P from n of Q, which the best critic of these samples finds.

    :math:`\mathrm{KL}(P_m \| \alpha P_m + (1-\alpha) Q_n)`, the estimator of theorem "thm", ``[replicates]``; infinite
    without skew where Q's samples lack an outcome of P's.

    Raises:
        ValueError: no probabilities, an outcome of P that Q lacks, alpha out of range, no sample.
    """
    p, q, _ = _ratio(p, q)
    check_alpha(alpha)
    of_p, of_q = _counts(p, q, m, n, replicates, seed)
    of_p, of_q = of_p / m, of_q / n
    mixture = alpha * of_p + (1 - alpha) * of_q
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(of_p > 0, of_p * np.log(of_p / mixture), 0.0)
    found: np.ndarray = terms.sum(1)
    return found


def cpc_estimates(joint: ArrayLike, alpha: float, k: int, batches: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    r"""CPC at the critic log r and MLCPC at log s, on batches of k + 1 pairs with each other's y for negatives.

    log r is CPC's best critic at alpha = 1 / (k + 1), log s is MLCPC's with endless negatives.

    The mean of either exceeds the skew divergence at every alpha in (0, 1), as the logarithm of a denominator's mean is
    above the mean of its logarithm (Jensen): the finite bounds are no lower bounds of the skew divergence, as theorem
    "thm:4.2" has it. For alpha below 1/(k + 1) they may exceed the mutual information itself.

    Args:
        joint: probabilities of pairs, ``[X, Y]``.
        alpha: skew in (0, 1).
        k: number of negatives of an anchor.
        batches: number of batches.
        seed: seed that the pairs are drawn from.

    Returns:
        CPC's and MLCPC's values, ``[batches]`` each, in nats.

    Raises:
        ValueError: no probabilities of pairs, alpha out of range, or no negative.
    """
    joint = probabilities(joint)
    if joint.ndim != 2:
        raise ValueError(f"expected probabilities of pairs [X, Y], got {joint.ndim} dimensions")
    if not 0 < alpha < 1 or k < 1:
        raise ValueError(f"expected alpha in (0, 1) and at least 1 negative, got {alpha} and {k}")
    ratio = joint / np.outer(joint.sum(1), joint.sum(0))
    skewed = ratio / (alpha * ratio + 1 - alpha)
    drawn = np.random.default_rng(seed).choice(joint.size, size=(batches, k + 1), p=joint.ravel())
    x, y = np.divmod(drawn, joint.shape[1])
    others = ~np.eye(k + 1, dtype=bool)

    def scores(critic: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Exponentials for positive pairs ``[batches, k + 1]`` and negative ones ``[batches, k + 1, k]``."""
        values = critic[x[:, :, None], y[:, None, :]]
        return critic[x, y], values[:, others].reshape(batches, k + 1, k)

    positive, negative = scores(ratio)
    cpc = np.log(positive / (alpha * positive + (1 - alpha) * negative.mean(2))).mean(1)
    positive, negative = scores(skewed)
    denominator = alpha * positive.mean(1) + (1 - alpha) * negative.mean((1, 2))
    return cpc, np.log(positive).mean(1) - np.log(denominator)


def _ratio(p: ArrayLike, q: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Flat probabilities and r, which is 0 where neither has an outcome."""
    p, q = probabilities(p).ravel(), probabilities(q).ravel()
    if p.shape != q.shape:
        raise ValueError(f"expected probabilities of the same outcomes, got {len(p)} and {len(q)}")
    if (p[q == 0] > 0).any():
        raise ValueError("every outcome of P must be one of Q")
    return p, q, np.divide(p, q, out=np.zeros_like(p), where=q > 0)


def _check_order(gamma: float) -> None:
    check_gamma(gamma)
    if gamma == 1:
        raise ValueError("gamma must not be 1, where the bound is that of Donsker and Varadhan")


def _counts(p: np.ndarray, q: np.ndarray, m: int, n: int, replicates: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    if min(m, n, replicates) < 1:
        raise ValueError(f"m, n and replicates must be at least 1, got {m}, {n} and {replicates}")
    generator = np.random.default_rng(seed)
    return generator.multinomial(m, p, replicates), generator.multinomial(n, q, replicates)
