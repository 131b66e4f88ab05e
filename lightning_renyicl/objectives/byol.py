"""Regression of one view's embedding on the other's."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lightning_renyicl.distributed import global_mean, world_group
from lightning_renyicl.objectives.embeddings import check_views, unit
from lightning_renyicl.objectives.objective import Context, Objective


class BYOL(Objective):
    r"""BYOL's loss: the squared distance of predictions and targets of length 1, without negative pairs.

    .. math:: \sum_{t=1}^{2} \mathrm{mean}_{i,\, v \neq t} \left[ 2 - 2 \cos(q_i^{(v)}, \mathrm{sg}\, z_i^{(t)}) \right]

    Grill et al. (2020), eq. (2), with q the predictions of all views and z the targets of the two global views, which
    get no gradient. Without a momentum encoder that is SimSiam (Chen and He, 2021), whose loss is a quarter of this one
    and a constant. A predictor is what keeps both from collapse.
    """

    def forward(
        self, online: Sequence[Tensor], target: Sequence[Tensor], context: Context = Context()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The sum of both directions; see :meth:`Objective.forward`. ``logs`` holds the mean ``cosine``."""
        check_views(online, target)
        with torch.autocast(device_type=target[0].device.type, enabled=False):
            predictions = torch.stack([unit(view) for view in online], dim=1)  # [N, V, D]
            targets = torch.stack([unit(view.detach()) for view in target], dim=2)  # [N, D, 2]
            cosines = predictions @ targets  # [N, V, 2]
            own = torch.eye(len(online), 2, dtype=torch.bool, device=cosines.device)  # a view is not its own target
            cosine = global_mean(cosines.masked_fill(own, 0.0).sum(1) / (len(online) - 1), world_group())
        return 4.0 - 4.0 * cosine, {"cosine": cosine.detach()}
