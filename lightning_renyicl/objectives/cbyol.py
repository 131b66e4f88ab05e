"""BYOL through a bottleneck."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lightning_renyicl.distributed import global_mean, world_group
from lightning_renyicl.heads import Head, Predictor
from lightning_renyicl.objectives.embeddings import check_views, unit
from lightning_renyicl.objectives.objective import Context, Objective
from lightning_renyicl.objectives.ranges import check_above_zero, check_not_negative
from lightning_renyicl.objectives.vmf import VonMisesFisher, log_constant


class CBYOL(Objective):
    r"""C-BYOL's loss: BYOL's with predictions from a random code, and a charge for what it knows beyond the target.

    .. math:: \sum_{t=1}^{2} \mathrm{mean}_{i,\, v \neq t} \left[ w\, |q(z) - y_t|^2
              + \beta \left( \log e(z \mid x_v) - \log b(z \mid y_t) \right) \right]

    Lee, Arnab, Guadarrama, Canny and Fischer (2021), a conditional entropy bottleneck. The code z of a view is drawn
    from :math:`e = \mathrm{vMF}(\mu(x_v), \kappa_e)`; the prediction q is linear in it and of length 1. Targets y have
    length 1 and no gradient, and :math:`b = \mathrm{vMF}(\cdot, \kappa_b)` is about a direction that a head reads
    off y. At beta 0 and endless kappa_e it is BYOL, times w. All heads are the objective's: the predictor of the module
    is null.

    Args:
        hidden: width of the hidden layers, at least 1.
        kappa_e: concentration of the codes about their mean directions, a finite number above 0.
        kappa_b: concentration of the backward encoder, a finite number above 0.
        beta: weight of the bottleneck, a finite number of at least 0.
        weight: weight w of the prediction, a finite number of at least 0.

    Raises:
        ValueError: a concentration or weight out of range.
    """

    draws = True

    def __init__(
        self,
        hidden: int = 4096,
        kappa_e: float = 16384.0,
        kappa_b: float = 10.0,
        beta: float = 1.0,
        weight: float = 5.0,
    ) -> None:
        super().__init__()
        check_above_zero(kappa_e=kappa_e, kappa_b=kappa_b)
        check_not_negative(beta=beta, weight=weight)
        self.hidden = hidden
        self.kappa_e = kappa_e
        self.kappa_b = kappa_b
        self.beta = beta
        self.weight = weight

    def build(self, width: int, num_classes: int) -> None:
        """Makes the heads and the table that codes are drawn by; see :meth:`Objective.build`.

        Raises:
            ValueError: embeddings of fewer than three numbers, or a hidden layer without units.
        """
        self.code = VonMisesFisher(width, self.kappa_e)
        self.encoder: Head = Predictor(width, self.hidden)
        self.backward_encoder: Head = Predictor(width, self.hidden)
        self.predictor = nn.Linear(width, width)
        constants = [log_constant(width, kappa) for kappa in (self.kappa_e, self.kappa_b)]
        # a constant without gradient, which is left out where floating point has none
        self.constant = constants[0] - constants[1] if all(map(math.isfinite, constants)) else 0.0

    def forward(
        self, online: Sequence[Tensor], target: Sequence[Tensor], context: Context = Context()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The sum of both directions; see :meth:`Objective.forward`.

        ``logs`` holds the mean ``cosine`` of predictions and targets, and the ``residual`` information in nats, up to a
        constant where the densities' own are out of floating point's range.
        """
        check_views(online, target)
        means = [self.encoder(view) for view in online]
        known = [unit(view.detach()) for view in target]
        explained = [self.backward_encoder(view) for view in known]
        group = world_group()
        with torch.autocast(device_type=target[0].device.type, enabled=False):
            drawn = [self.code(unit(mean), context.generator) for mean in means]
        predictions = [self.predictor(z) for z, _ in drawn]
        cosines, residuals = [], []
        with torch.autocast(device_type=target[0].device.type, enabled=False):
            about = [unit(direction) for direction in explained]
            for t in (1, 0):
                for v, ((z, own), prediction) in enumerate(zip(drawn, predictions, strict=True)):
                    if v != t:
                        cosines.append((unit(prediction) * known[t]).sum(-1))
                        residuals.append(self.kappa_e * own - self.kappa_b * (z * about[t]).sum(-1))
            cosine = global_mean(torch.stack(cosines), group)
            residual = global_mean(torch.stack(residuals), group) + self.constant
            loss = 2.0 * (self.weight * (2.0 - 2.0 * cosine) + self.beta * residual)
        return loss, {"cosine": cosine.detach(), "residual": residual.detach()}
