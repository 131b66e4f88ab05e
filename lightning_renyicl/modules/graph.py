"""Contrastive learning on graphs."""

from __future__ import annotations

from collections.abc import Callable

from lightning_renyicl.encoders import Backbone
from lightning_renyicl.modules.base import ContrastiveModule, HeadFactory, OptimizerFactory, SchedulerFactory
from lightning_renyicl.objectives import Objective


class GraphModule(ContrastiveModule):
    """Contrastive learning on ``Batch`` objects of N graphs.

    Args:
        backbone: builds the encoder from the number of node features.
        in_features: number of node features F; the command line takes it from the data.
        projector: builds the projection head from the number of features.
        objective: loss over the embeddings of the views.
        optimizer: builds the optimizer from the parameters.
        scheduler: builds the schedule from optimizer, total steps and steps an epoch; None keeps the rate.
        predictor: builds the prediction head from the projector's width; None has none.
        momentum: EMA coefficient of the momentum target at the first step, 1 at the last by a half cosine; None has no
            momentum target.
    """

    def __init__(
        self,
        backbone: Callable[[int], Backbone],
        in_features: int,
        projector: HeadFactory,
        objective: Objective,
        optimizer: OptimizerFactory,
        scheduler: SchedulerFactory | None = None,
        predictor: HeadFactory | None = None,
        momentum: float | None = None,
    ) -> None:
        super().__init__(backbone(in_features), projector, objective, optimizer, scheduler, predictor, momentum)
