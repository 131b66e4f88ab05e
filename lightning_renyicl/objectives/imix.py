"""Methods whose first view is mixed of two samples, which the loss takes for both."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lightning_renyicl.distributed import global_mean, world_group
from lightning_renyicl.objectives.bounds import CPC
from lightning_renyicl.objectives.critic import CosineCritic
from lightning_renyicl.objectives.embeddings import check_views, unit
from lightning_renyicl.objectives.moco import MoCo
from lightning_renyicl.objectives.objective import Context, Objective
from lightning_renyicl.objectives.ranges import check_above_zero


def lost_to_partners(queries: Tensor, keys: Tensor, context: Context) -> Tensor:
    r"""The cosine that mixed queries lose since their partners' keys take part of their own's place.

    .. math:: \mathrm{mean}_i \left[ (1 - w_i) \left( \cos(q_i, k_i) - \cos(q_i, k_{j(i)}) \right) \right]

    Args:
        queries: embeddings ``[N, D]`` of the mixed view.
        keys: embeddings ``[N, D]`` of the same samples in another view, not mixed.
        context: what holds the weights w and partners j.

    Raises:
        ValueError: a context without them.
    """
    mixing = context.mixing
    if mixing is None:
        raise ValueError("i-Mix needs the weights and partners of the samples in the first view, Context(mixing=...)")
    with torch.autocast(device_type=keys.device.type, enabled=False):
        keys = unit(keys)
        lost = (unit(queries) * (keys - keys[mixing.partner])).sum(-1)  # [N]
        return global_mean((1.0 - mixing.weight.to(lost.dtype)) * lost, world_group())


class _Mixed(CosineCritic):
    """InfoNCE in one direction with mixed queries. A subclass says what the keys are, and checks its arguments."""

    best_is_log_ratio = False

    def forward(
        self, online: Sequence[Tensor], target: Sequence[Tensor], context: Context = Context()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """One direction, for which local views are queries too, unmixed; see :meth:`CosineCritic.forward`.

        Raises:
            ValueError: a context without weights and partners.
        """
        check_views(online, target)
        lost = lost_to_partners(online[0], target[1], context) / (len(online) - 1) / self.temperature
        loss, logs = super().forward(online, target, context)
        return loss + lost, {**logs, "bound": logs["bound"] - lost.detach()}


class IMix(_Mixed, CPC):
    r"""i-Mix's N-pair loss: InfoNCE of mixed samples, which have the keys of both samples for positives.

    .. math:: \mathrm{mean}_i \left[ \log \frac{1}{K + 1} \sum_k e^{f(\tilde{x}_i, y_k)}
              - w_i f(\tilde{x}_i, y_i) - (1 - w_i) f(\tilde{x}_i, y_{j(i)}) \right],
              \qquad \tilde{x}_i = w_i x_i + (1 - w_i) x_{j(i)}

    i-Mix (Lee et al., 2021), but for a constant: the mean of two cross entropies, weighted by w. x is the first view, y
    the second, which is not mixed; weights are drawn as max(b, 1 - b), b from Beta(a, a), for each sample, and partners
    j are a permutation of a process's samples. Keys are those of the global batch, where the authors' code has those of
    a process. With weights of 1 it is InfoNCE in one direction.

    Args:
        mixing: concentration a of the weights' distribution, a finite number above 0.
        temperature: temperature tau of the cosine critic, a finite number above 0.

    Raises:
        ValueError: an argument out of range.
    """

    def __init__(self, mixing: float = 1.0, temperature: float = 0.2) -> None:
        super().__init__(None, temperature=temperature, symmetric=False)
        check_above_zero(mixing=mixing)
        self.mixing = mixing


class IMixMoCo(_Mixed, MoCo):
    """i-Mix on MoCo: :class:`IMix`, whose keys are a momentum encoder's, with those of earlier batches as negatives.

    Args:
        mixing: concentration a of the weights' distribution, a finite number above 0.
        queue: number of keys in the queue, at least 0; at first they are random directions.
        temperature: temperature tau of the cosine critic, a finite number above 0.

    Raises:
        ValueError: an argument out of range.
    """

    def __init__(self, mixing: float = 1.0, queue: int = 4096, temperature: float = 0.2) -> None:
        super().__init__(queue, temperature)
        check_above_zero(mixing=mixing)
        self.mixing = mixing


class IMixBYOL(Objective):
    r"""i-Mix on BYOL: predictions of mixed samples are drawn towards the targets of both samples.

    .. math:: \mathrm{mean}_i \left[ 2 - 2 w_i \cos(q_i, \mathrm{sg}\, z_i)
              - 2 (1 - w_i) \cos(q_i, \mathrm{sg}\, z_{j(i)}) \right]

    i-Mix (Lee et al., 2021), in one direction as in its code: q are predictions of the first view, mixed as in
    :class:`IMix`, and z targets of the second, for which predictions of local views, unmixed, count as well.

    Args:
        mixing: concentration a of the weights' distribution, a finite number above 0.

    Raises:
        ValueError: an argument out of range.
    """

    def __init__(self, mixing: float = 1.0) -> None:
        super().__init__()
        check_above_zero(mixing=mixing)
        self.mixing = mixing

    def forward(
        self, online: Sequence[Tensor], target: Sequence[Tensor], context: Context = Context()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """One direction; see :meth:`Objective.forward`. ``logs`` holds the mean ``cosine``, weighted as in the loss.

        Raises:
            ValueError: a context without weights and partners.
        """
        check_views(online, target)
        keys = target[1].detach()
        lost = lost_to_partners(online[0], keys, context)
        with torch.autocast(device_type=keys.device.type, enabled=False):
            predictions = torch.stack([unit(view) for v, view in enumerate(online) if v != 1], dim=1)  # [N, P, D]
            cosines = predictions @ unit(keys)[:, :, None]  # [N, P, 1]
            cosine = global_mean(cosines, world_group()) - lost / (len(online) - 1)
        return 2.0 - 2.0 * cosine, {"cosine": cosine.detach()}
