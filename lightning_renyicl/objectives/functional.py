r"""Variational bounds on divergences between positive and negative pairs, as pure functions of critic scores.

Every function takes the scores of positive pairs ``p`` (drawn from P = P_XY) and of negative pairs ``n`` (drawn from
Q = P_X P_Y) and returns its bound in nats, a scalar that is the same on every process of ``group``.

Shapes, with N anchors on this process, P positives and K negatives an anchor:
    ``p``: ``[N]`` or ``[N, P]``; ``n``: ``[N, K]`` or ``[N, P, K]``. N, P and K are equal on every process.

Numerics: scores of half precision are raised to float32, float64 stays. All but :func:`nwj` stay in log space.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from lightning_renyicl.distributed import Group, gather, global_mean
from lightning_renyicl.objectives.embeddings import full_precision
from lightning_renyicl.objectives.ranges import check_above_zero

__all__ = ["NonFiniteBoundError", "cpc", "dv", "mlcpc", "mutual_information", "nwj", "renyi", "rmlcpc"]

# Within this distance of gamma = 1 the first term of `rmlcpc` is formed about the mean score: there the plain form
# loses log(N) * eps / |gamma - 1|.
_NEAR_ONE = 0.25
# exp of a larger centred exponent approaches the range of float32, and the plain form is then exact to rounding.
_CENTRED_MAX = 30.0


class NonFiniteBoundError(ValueError):
    """An exponential bound left the range of floating point numbers."""


def check_alpha(alpha: float) -> None:
    """Raises ValueError unless ``alpha`` is a skew, a number in [0, 1]."""
    if not 0.0 <= alpha <= 1.0:
        raise ValueError(f"alpha must be in [0, 1], got {alpha}")


def check_gamma(gamma: float) -> None:
    """Raises ValueError unless ``gamma`` is a finite order above 0."""
    check_above_zero(gamma=gamma)


def checked_scores(p: Tensor, n: Tensor) -> tuple[Tensor, Tensor]:
    """Scores in full precision; raises ValueError for shapes that don't fit each other or an empty side."""
    if p.ndim not in (1, 2) or n.shape[:-1] != p.shape:
        raise ValueError(
            "expected positives [N] with negatives [N, K], or [N, P] with [N, P, K], "
            f"got {list(p.shape)} and {list(n.shape)}"
        )
    if p.numel() == 0 or n.numel() == 0:
        raise ValueError(
            "a bound needs at least two samples in the global batch (one positive and one negative pair), "
            f"got positives {list(p.shape)} and negatives {list(n.shape)}"
        )
    return full_precision(p), full_precision(n)


def log_mean_exp(x: Tensor) -> Tensor:
    """Log of the mean of e^x over all elements of this process."""
    return x.flatten().logsumexp(0) - math.log(x.numel())


def log_means(terms: Tensor) -> tuple[Tensor, ...]:
    """Logs of means over all processes, from each process's logs of means ``[W, S]``."""
    return (terms.logsumexp(0) - math.log(len(terms))).unbind()


def _log_mix(a: Tensor, b: Tensor, alpha: float) -> Tensor:
    """log(alpha e^a + (1 - alpha) e^b), with finite gradients at alpha 0 and 1."""
    log_alpha = math.log(alpha) if alpha > 0 else -math.inf
    log_rest = math.log1p(-alpha) if alpha < 1 else -math.inf
    return torch.logaddexp(a + log_alpha, b + log_rest)


def cpc(p: Tensor, n: Tensor, alpha: float | None = None, group: Group = None) -> Tensor:
    r"""Contrastive predictive coding with a skew, alpha-CPC, a bound with one denominator for each anchor.

    .. math:: I = \mathrm{mean}_i \left[ p_i - \log\left(\alpha e^{p_i}
              + \frac{1-\alpha}{K} \sum_{k} e^{n_{ik}}\right) \right]

    Eq. (2) of RényiCL (Lee and Shin, 2022), from Poole et al. (2019); each (n, p) entry is its own anchor.

    Args:
        p: scores of positive pairs.
        n: scores of negative pairs.
        alpha: skew in [0, 1]; None is 1 / (K + 1), InfoNCE (van den Oord et al., 2018); 0 leaves the positive out of
            the denominator.
        group: processes that share the batch; None is this process only.

    Raises:
        ValueError: shapes that don't fit each other, an empty side, or alpha out of range.

    >>> cpc(torch.tensor([2.0, 2.0]), torch.zeros(2, 1))
    tensor(0.5662)
    """
    p, n = checked_scores(p, n)
    negatives = n.shape[-1]
    alpha = 1.0 / (negatives + 1) if alpha is None else alpha
    check_alpha(alpha)
    denominator = _log_mix(p, n.logsumexp(-1) - math.log(negatives), alpha)
    return global_mean(p - denominator, group)


def mlcpc(p: Tensor, n: Tensor, alpha: float, group: Group = None) -> Tensor:
    r"""Multi-label CPC with a skew, alpha-MLCPC, one denominator for the global batch.

    .. math:: I = \bar{p} - \log\left(\alpha\, \overline{e^{p}} + (1-\alpha)\, \overline{e^{n}}\right)

    Eq. (3) of RényiCL (Lee and Shin, 2022), from Song and Ermon (2020).

    Args:
        p: scores of positive pairs.
        n: scores of negative pairs.
        alpha: skew in [0, 1].
        group: processes that share the batch; None is this process only.

    Raises:
        ValueError: shapes that don't fit each other, an empty side, or alpha out of range.
    """
    check_alpha(alpha)
    p, n = checked_scores(p, n)
    everywhere = gather(torch.stack([p.mean(), log_mean_exp(p), log_mean_exp(n)]), group)  # [W, 3]
    log_positive, log_negative = log_means(everywhere[:, 1:])
    return everywhere[:, 0].mean() - _log_mix(log_positive, log_negative, alpha)


def dv(p: Tensor, n: Tensor, alpha: float = 0.0, group: Group = None) -> Tensor:
    r"""The Donsker-Varadhan bound on the (alpha-skew) KL divergence.

    .. math:: I = \bar{p} - \log \overline{e^{n}} \quad (\alpha = 0)

    Eq. (1) of RényiCL (Lee and Shin, 2022): :func:`mlcpc` with another default skew.
    """
    return mlcpc(p, n, alpha, group)


def rmlcpc(p: Tensor, n: Tensor, alpha: float, gamma: float, group: Group = None) -> Tensor:
    r"""Rényi MLCPC, the bound on the alpha-skew Rényi divergence of order gamma.

    .. math:: I = \frac{1}{\gamma-1} \log \overline{e^{(\gamma-1) p}} - \frac{1}{\gamma}
              \log\left(\alpha\, \overline{e^{\gamma p}} + (1-\alpha)\, \overline{e^{\gamma n}}\right)

    RényiCL (Lee and Shin, 2022), section "Variational estimation of skew Rényi divergence". At gamma = 1 the first term
    is the mean, and the bound is :func:`mlcpc`. The value is the bound itself; the importance-weighted form of the
    paper's Algorithm 1 has the same gradient and another value.

    Args:
        p: scores of positive pairs.
        n: scores of negative pairs.
        alpha: skew in [0, 1].
        gamma: order above 0. Below about 0.01 the second term loses float32 digits, eps / gamma.
        group: processes that share the batch; None is this process only.

    Raises:
        ValueError: shapes that don't fit each other, an empty side, alpha or gamma out of range.
    """
    check_gamma(gamma)
    if gamma == 1.0:
        return mlcpc(p, n, alpha, group)
    check_alpha(alpha)
    p, n = checked_scores(p, n)
    delta = gamma - 1.0
    if abs(delta) > _NEAR_ONE:
        terms = torch.stack([log_mean_exp(gamma * p), log_mean_exp(gamma * n), log_mean_exp(delta * p)])
        log_positive, log_negative, log_first = log_means(gather(terms, group))
        return log_first / delta - _log_mix(log_positive, log_negative, alpha) / gamma
    # log mean e^u = log1p(mean expm1(u)) with u about the mean: by Jensen's inequality mean expm1(u) >= 0, so nothing
    # cancels. Where u is so large that e^u could overflow, the plain form is taken.
    centre = global_mean(p, group)
    u = delta * (p - centre)
    terms = torch.stack([log_mean_exp(gamma * p), log_mean_exp(gamma * n), log_mean_exp(u)])
    extra = torch.stack([u.clamp(max=_CENTRED_MAX).expm1().mean(), u.detach().max()])
    everywhere = gather(torch.cat([terms, extra]), group)  # [W, 5]
    log_positive, log_negative, plain = log_means(everywhere[:, :3])
    near, largest = everywhere[:, 3].mean().log1p(), everywhere[:, 4].max()
    first = centre + torch.where(largest > _CENTRED_MAX, plain, near) / delta
    return first - _log_mix(log_positive, log_negative, alpha) / gamma


def renyi(p: Tensor, n: Tensor, gamma: float, group: Group = None) -> Tensor:
    r"""The variational Rényi divergence of order gamma without skew: :func:`rmlcpc` at alpha = 0.

    .. math:: I = \frac{1}{\gamma-1} \log \overline{e^{(\gamma-1) p}} - \frac{1}{\gamma} \log \overline{e^{\gamma n}}

    RényiCL (Lee and Shin, 2022), the lemma from Birrell et al. (2021). Its variance grows exponentially with the
    divergence: it is here for comparison.
    """
    return rmlcpc(p, n, 0.0, gamma, group)


def nwj(p: Tensor, n: Tensor, alpha: float = 0.0, group: Group = None) -> Tensor:
    r"""The bound of Nguyen, Wainwright and Jordan on the (alpha-skew) KL divergence.

    .. math:: I = \bar{p} - \alpha\, \overline{e^{p-1}} - (1-\alpha)\, \overline{e^{n-1}}

    RényiCL (Lee and Shin, 2022), appendix "MI estimation between correlated Gaussians". The only bound here that
    exponentiates: with float32 it is finite for scores up to 80.

    Args:
        p: scores of positive pairs.
        n: scores of negative pairs.
        alpha: skew in [0, 1].
        group: processes that share the batch; None is this process only.

    Raises:
        ValueError: shapes that don't fit each other, an empty side, or alpha out of range.
        NonFiniteBoundError: a score so large that its exponential is not finite.
    """
    check_alpha(alpha)
    p, n = checked_scores(p, n)
    largest = torch.maximum(p.max(), n.max()).detach()
    everywhere = gather(torch.stack([p.mean(), log_mean_exp(p), log_mean_exp(n), largest]), group)  # [W, 4]
    log_positive, log_negative = log_means(everywhere[:, 1:3])
    bound = everywhere[:, 0].mean() - (_log_mix(log_positive, log_negative, alpha) - 1.0).exp()
    # the one place where a step waits for the device: an error cannot be raised without the value
    if not torch.isfinite(bound):
        if everywhere.isnan().any():
            raise NonFiniteBoundError("NWJ got scores that are NaN: the embeddings are not finite")
        raise NonFiniteBoundError(
            f"NWJ exponentiates scores and is not finite at a largest score of {everywhere[:, 3].max().item():.4g}: "
            "raise the temperature, or use DV, which stays in log space"
        )
    return bound


def mutual_information(p: Tensor, n: Tensor, group: Group = None) -> Tensor:
    r"""An estimate of the mutual information from critic scores, normalised for each anchor.

    .. math:: \hat{I} = \mathrm{mean}_i \left[ p_i - \log \sum_k e^{n_{ik}} + \log K \right]

    The paper's Algorithm 2 in closed form and log space: its alpha cancels (which does not make it unbiased). With
    several positives it is their mean. The authors' code averages the scores of all crops first: with more than two
    views that is another number, up to 1.9 nats away.

    Args:
        p: scores of positive pairs.
        n: scores of negative pairs.
        group: processes that share the batch; None is this process only.
    """
    p, n = checked_scores(p, n)
    return gather((p - n.logsumexp(-1)).mean() + math.log(n.shape[-1]), group).mean()
