"""Relative predictive coding: a bound of squares in place of exponentials."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from lightning_renyicl.distributed import Group, global_mean
from lightning_renyicl.objectives.critic import CosineCritic
from lightning_renyicl.objectives.embeddings import full_precision
from lightning_renyicl.objectives.functional import checked_scores
from lightning_renyicl.objectives.ranges import check_above_zero, check_not_negative


def rpc(
    p: Tensor, n: Tensor, relative: float, square_positive: float, square_negative: float, group: Group = None
) -> Tensor:
    r"""The bound of relative predictive coding.

    .. math:: I = \bar{p} - a\, \overline{n} - \frac{b}{2}\, \overline{p^2} - \frac{c}{2}\, \overline{n^2}

    Tsai et al. (2021), where a, b and c are alpha, beta and gamma. Its best critic is (r − a) / (b r + c), with r the
    ratio of joint and product density. At a = b = 0 and c = 1 that is r, and the bound (χ² + 1) / 2 with χ² the
    chi-squared divergence.

    Args:
        p: scores of positive pairs.
        n: scores of negative pairs.
        relative: weight a of negative scores, 0 or above.
        square_positive: weight b of squared positive scores, 0 or above.
        square_negative: weight c of squared negative scores, above 0.
        group: processes that share the batch; None is this process only.

    Raises:
        ValueError: shapes that don't fit each other, an empty side, or a weight out of range.
    """
    check_rpc(relative, square_positive, square_negative)
    p, n = checked_scores(p, n)
    positive = (p - square_positive / 2 * p.square()).mean()
    negative = (relative * n + square_negative / 2 * n.square()).mean()
    return global_mean(positive - negative, group)


def check_rpc(relative: float, square_positive: float, square_negative: float) -> None:
    """Raises ValueError unless the weights are finite, none below 0 and that of squared negative scores above."""
    check_not_negative(relative=relative, square_positive=square_positive)
    check_above_zero(square_negative=square_negative)


class RPC(CosineCritic):
    r"""Relative predictive coding; see :func:`rpc`.

    Its critic is the dot product of embeddings as they are, :math:`f(x, y) = x^\top y / \tau`: it stands for a ratio,
    which grows without a limit, and not for its logarithm.

    Args:
        relative: weight of negative scores, 0 or above.
        square_positive: weight of squared positive scores, 0 or above; scores stay below one over it.
        square_negative: weight of squared negative scores, above 0.
        temperature: temperature of the dot product, a finite number above 0.
        critic: further arguments of :class:`CosineCritic`.

    Raises:
        ValueError: a weight or a temperature out of range.
    """

    best_is_log_ratio = False

    def __init__(
        self,
        relative: float = 0.0,
        square_positive: float = 0.001,
        square_negative: float = 1.0,
        temperature: float = 128.0,
        **critic: Any,
    ) -> None:
        super().__init__(temperature=temperature, **critic)
        check_rpc(relative, square_positive, square_negative)
        self.relative = relative
        self.square_positive = square_positive
        self.square_negative = square_negative

    def embed(self, x: Tensor) -> Tensor:
        return full_precision(x)

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        return rpc(p, n, self.relative, self.square_positive, self.square_negative, group)

    def log_ratios(self, p: Tensor, n: Tensor, group: Group) -> dict[str, Tensor]:
        """See :meth:`CosineCritic.log_ratios`.

        ``by_critic`` is the log of the ratio (a + c f) / (1 − b f) that a score f stands for, NaN where that is not
        above 0; ``by_batch`` takes the log of its mean over negative pairs away, which is 0 for the best critic.
        """
        positive, negative = self._ratio(full_precision(p)), self._ratio(full_precision(n))
        by_critic = _log(positive)
        return {"by_critic": by_critic, "by_batch": by_critic - _log(global_mean(negative, group))}

    def _ratio(self, f: Tensor) -> Tensor:
        return (self.relative + self.square_negative * f) / (1.0 - self.square_positive * f)


def _log(ratio: Tensor) -> Tensor:
    return ratio.where(ratio > 0, math.nan).log()
