"""The Jensen-Shannon bound, by which Deep InfoMax trains."""

from __future__ import annotations

import math

from torch import Tensor
from torch.nn.functional import logsigmoid

from lightning_renyicl.distributed import Group, global_mean
from lightning_renyicl.objectives.critic import CosineCritic
from lightning_renyicl.objectives.embeddings import full_precision
from lightning_renyicl.objectives.functional import checked_scores
from lightning_renyicl.objectives.ratios import log_ratio

_CLIP = 5.0
"""The largest size of a negative score in SMILE, tau of its paper, as RPC's code has it."""


def jsd(p: Tensor, n: Tensor, group: Group = None) -> Tensor:
    r"""The bound on twice the Jensen-Shannon divergence.

    .. math:: I = \overline{\log 2 - \log(1 + e^{-p})} - \overline{\log(1 + e^{n}) - \log 2}

    Nowozin et al. (2016); Hjelm et al. (2019), Deep InfoMax, leave the constant out. Its best critic is log r, with r
    the ratio of joint and product density. Never above 2 log 2.

    Args:
        p: scores of positive pairs.
        n: scores of negative pairs.
        group: processes that share the batch; None is this process only.

    Raises:
        ValueError: shapes that don't fit each other, or an empty side.
    """
    p, n = checked_scores(p, n)
    return global_mean(logsigmoid(p).mean() + logsigmoid(-n).mean(), group) + 2.0 * math.log(2.0)


class JSD(CosineCritic):
    """The Jensen-Shannon bound; see :func:`jsd`.

    Args:
        critic: arguments of :class:`CosineCritic`.
    """

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        return jsd(p, n, group)

    def log_ratios(self, p: Tensor, n: Tensor, group: Group) -> dict[str, Tensor]:
        """See :meth:`CosineCritic.log_ratios`.

        ``by_critic`` is the score itself. ``by_batch`` is SMILE (Song and Ermon, 2020): normalised for the whole batch,
        as in the Donsker-Varadhan bound, by negative scores that are clipped to [−5, 5].
        """
        return {
            "by_critic": full_precision(p),
            "by_batch": log_ratio(p, full_precision(n).clamp(-_CLIP, _CLIP), 0.0, group),
        }
