"""The six bounds of the RényiCL paper as objectives on a cosine critic."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from lightning_renyicl.distributed import Group
from lightning_renyicl.objectives import functional
from lightning_renyicl.objectives.critic import CosineCritic


class _Skewed(CosineCritic):
    """A bound on a divergence from the skew mixture of positive and negative pairs.

    Args:
        alpha: skew in [0, 1], the weight of positive pairs in the mixture that they are told from.
        critic: arguments of :class:`CosineCritic`.
    """

    def __init__(self, alpha: float = 0.0, **critic: Any) -> None:
        super().__init__(**critic)
        functional.check_alpha(alpha)
        self.alpha = alpha


class _OfOrder(CosineCritic):
    """A bound on a Rényi divergence.

    Args:
        gamma: order of the Rényi divergence, above 0; 1 is the KL divergence, as in MLCPC and DV.
        critic: arguments of :class:`CosineCritic`.
    """

    def __init__(self, gamma: float = 2.0, **critic: Any) -> None:
        super().__init__(**critic)
        functional.check_gamma(gamma)
        self.gamma = gamma


class CPC(CosineCritic):
    """alpha-CPC (InfoNCE when ``alpha`` is None); see :func:`functional.cpc`.

    Args:
        alpha: skew in [0, 1], the weight of the positive pair in its anchor's denominator; None is 1 / (K + 1) with K
            negatives an anchor, InfoNCE.
        critic: arguments of :class:`CosineCritic`.
    """

    normalises_per_anchor = True

    def __init__(self, alpha: float | None = None, **critic: Any) -> None:
        super().__init__(**critic)
        if alpha is not None:
            functional.check_alpha(alpha)
        self.alpha = alpha

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        return functional.cpc(p, n, self.alpha, group)


class MLCPC(_Skewed):
    """alpha-MLCPC; see :func:`functional.mlcpc`."""

    def __init__(self, alpha: float = 1 / 4096, **critic: Any) -> None:
        super().__init__(alpha, **critic)

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        return functional.mlcpc(p, n, self.alpha, group)


class DV(_Skewed):
    """The (skew) Donsker-Varadhan bound; see :func:`functional.dv`."""

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        return functional.dv(p, n, self.alpha, group)


class NWJ(_Skewed):
    """The (skew) bound of Nguyen, Wainwright and Jordan; see :func:`functional.nwj`."""

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        return functional.nwj(p, n, self.alpha, group)


class RMLCPC(_Skewed, _OfOrder):
    """(alpha, gamma)-RMLCPC, the objective of RényiCL; see :func:`functional.rmlcpc`."""

    def __init__(self, alpha: float = 1 / 4096, gamma: float = 2.0, **critic: Any) -> None:
        super().__init__(alpha, gamma=gamma, **critic)

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        return functional.rmlcpc(p, n, self.alpha, self.gamma, group)


class Renyi(_OfOrder):
    """The Rényi bound without skew; see :func:`functional.renyi`."""

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        return functional.renyi(p, n, self.gamma, group)
