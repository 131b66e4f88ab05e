"""The six bounds of the RényiCL paper as objectives on a cosine critic."""

from __future__ import annotations

from torch import Tensor

from lightning_renyicl.distributed import Group
from lightning_renyicl.objectives import functional
from lightning_renyicl.objectives.critic import CosineCritic


class CPC(CosineCritic):
    """alpha-CPC (InfoNCE when ``alpha`` is None); see :func:`functional.cpc`.

    Args:
        alpha: skew in [0, 1]; None is 1 / (K + 1) with K negatives an anchor.
        temperature: of the cosine critic.
        symmetric: whether both global views serve as target.
    """

    one_denominator = False

    def __init__(self, alpha: float | None = None, temperature: float = 0.5, symmetric: bool = True) -> None:
        super().__init__(temperature, symmetric)
        if alpha is not None:
            functional.check_alpha(alpha)
        self.alpha = alpha

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        return functional.cpc(p, n, self.alpha, group)


class MLCPC(CosineCritic):
    """alpha-MLCPC; see :func:`functional.mlcpc`.

    Args:
        alpha: skew in [0, 1].
        temperature: of the cosine critic.
        symmetric: whether both global views serve as target.
    """

    def __init__(self, alpha: float = 1 / 4096, temperature: float = 0.5, symmetric: bool = True) -> None:
        super().__init__(temperature, symmetric)
        functional.check_alpha(alpha)
        self.alpha = alpha

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        return functional.mlcpc(p, n, self.alpha, group)


class DV(CosineCritic):
    """The (skew) Donsker-Varadhan bound; see :func:`functional.dv`.

    Args:
        alpha: skew in [0, 1].
        temperature: of the cosine critic.
        symmetric: whether both global views serve as target.
    """

    def __init__(self, alpha: float = 0.0, temperature: float = 0.5, symmetric: bool = True) -> None:
        super().__init__(temperature, symmetric)
        functional.check_alpha(alpha)
        self.alpha = alpha

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        return functional.dv(p, n, self.alpha, group)


class NWJ(CosineCritic):
    """The (skew) bound of Nguyen, Wainwright and Jordan; see :func:`functional.nwj`.

    Args:
        alpha: skew in [0, 1].
        temperature: of the cosine critic.
        symmetric: whether both global views serve as target.
    """

    def __init__(self, alpha: float = 0.0, temperature: float = 0.5, symmetric: bool = True) -> None:
        super().__init__(temperature, symmetric)
        functional.check_alpha(alpha)
        self.alpha = alpha

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        return functional.nwj(p, n, self.alpha, group)


class RMLCPC(CosineCritic):
    """(alpha, gamma)-RMLCPC, the objective of RényiCL; see :func:`functional.rmlcpc`.

    Args:
        alpha: skew in [0, 1].
        gamma: order above 0; 1 is MLCPC.
        temperature: of the cosine critic.
        symmetric: whether both global views serve as target.
    """

    def __init__(
        self, alpha: float = 1 / 4096, gamma: float = 2.0, temperature: float = 0.5, symmetric: bool = True
    ) -> None:
        super().__init__(temperature, symmetric)
        functional.check_alpha(alpha)
        functional.check_gamma(gamma)
        self.alpha = alpha
        self.gamma = gamma

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        return functional.rmlcpc(p, n, self.alpha, self.gamma, group)


class Renyi(CosineCritic):
    """The Rényi bound without skew; see :func:`functional.renyi`.

    Args:
        gamma: order above 0; 1 is DV.
        temperature: of the cosine critic.
        symmetric: whether both global views serve as target.
    """

    def __init__(self, gamma: float = 2.0, temperature: float = 0.5, symmetric: bool = True) -> None:
        super().__init__(temperature, symmetric)
        functional.check_gamma(gamma)
        self.gamma = gamma

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        return functional.renyi(p, n, self.gamma, group)
