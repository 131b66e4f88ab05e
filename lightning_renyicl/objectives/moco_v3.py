"""InfoNCE as MoCo v3 weighs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from lightning_renyicl.objectives.bounds import CPC
from lightning_renyicl.objectives.objective import Context


class MoCoV3(CPC):
    r"""MoCo v3's loss: InfoNCE times twice the temperature, so that gradients don't grow as the temperature falls.

    .. math:: -2 \tau \sum_{t=1}^{2} I_\mathrm{CPC}^{(t)}

    Chen, Xie and He (2021), algorithm 1, but for a constant. Keys come from a momentum encoder, queries from a
    predictor; negatives are the other samples of the batch.

    Args:
        critic: arguments of :class:`CosineCritic`.
    """

    def __init__(self, **critic: Any) -> None:
        super().__init__(None, **critic)

    def forward(
        self, online: Sequence[Tensor], target: Sequence[Tensor], context: Context = Context()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """See :meth:`CosineCritic.forward`; ``bound`` in ``logs`` is InfoNCE's, without the factor."""
        loss, logs = super().forward(online, target, context)
        return 2.0 * self.temperature * loss, logs
