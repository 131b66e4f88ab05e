"""Networks and loss over the views of a batch, which every domain and method shares."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat
from typing import Any

from torch import Tensor

from lightning_renyicl.encoders import Backbone
from lightning_renyicl.heads import Head
from lightning_renyicl.modules.checks import check_objective
from lightning_renyicl.modules.mixing import draw_mixing, mix
from lightning_renyicl.modules.scheduled import OptimizerFactory, ScheduledModule, SchedulerFactory
from lightning_renyicl.modules.steps import generator_of_batch, weights_cast_once
from lightning_renyicl.momentum import MomentumTarget
from lightning_renyicl.objectives import Context, Mixing, Objective, Parts
from lightning_renyicl.objectives.queue import rows_of_queues

HeadFactory = Callable[[int], Head]


class JointEmbedding(ScheduledModule):
    """Backbone, projector, optional predictor and optional momentum target, and an objective over what they embed.

    A subclass says how its backbone is built, and how views of its domain are encoded where that is not one call.

    Args:
        backbone: encoder of a batch of samples.
        projector: builds the projection head from the number of features.
        objective: loss over the embeddings of the views.
        optimizer: builds the optimizer from the parameters.
        scheduler: builds the schedule from optimizer, total steps and steps an epoch; None keeps the rate.
        predictor: builds the prediction head from the projector's width; None has none.
        momentum: EMA coefficient of the momentum target at the first step; None: gradients reach both sides.
        momentum_end: EMA coefficient at the last step, reached by a half cosine; equal to ``momentum`` it is constant.
        num_classes: number of labels, for objectives that use them; the command line takes it from the data.

    Raises:
        ValueError: a predictor not as wide as its input, a schedule of torch, or what the objective needs and lacks:
            labels, momentum, an encoder with embeddings of parts, or samples that can be mixed.
    """

    MIXES = True
    """Whether a weighted sum of two samples is one, too."""

    def __init__(
        self,
        backbone: Backbone,
        projector: HeadFactory,
        objective: Objective,
        optimizer: OptimizerFactory,
        scheduler: SchedulerFactory | None = None,
        predictor: HeadFactory | None = None,
        momentum: float | None = None,
        momentum_end: float = 1.0,
        num_classes: int = 0,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.backbone = backbone
        self.num_features = backbone.num_features
        self.projector = projector(backbone.num_features)
        width = self.projector.out_features
        self.predictor = None if predictor is None else predictor(width)
        if self.predictor is not None and self.predictor.out_features != width:
            raise ValueError(
                f"the predictor must keep the projector's width {width}, got {self.predictor.out_features}"
            )
        check_objective(objective, backbone, momentum, self.MIXES)
        objective.build(width, num_classes)
        self.objective = objective
        self._ddp_params_and_buffers_to_ignore = rows_of_queues(self)  # the same on every process, and large
        self.momentum_target = (
            None if momentum is None else MomentumTarget(backbone, self.projector, momentum, momentum_end)
        )
        self.counts_steps |= momentum is not None

    def forward(self, x: Any) -> Tensor:
        """The representation ``[N, num_features]``: what probes, ``predict`` and export see."""
        features: Tensor = self.backbone(x)
        return features

    def with_inputs(self, view: Any) -> tuple[Any, Parts]:
        """A view whose numbers take gradients, and these numbers."""
        x = view.detach().requires_grad_()
        return x, Parts(x)

    def encode(self, view: Any, mixing: Mixing | None = None) -> tuple[Tensor, Parts | None]:
        """Features of a view, mixed if asked for, and embeddings of its samples' parts if the objective reads them."""
        view = mix(view, mixing)
        return self.backbone.with_parts(view) if self.objective.reads_parts else (self(view), None)

    def project(self, features: Tensor, view: Any) -> Tensor:
        """The embeddings of a view's features."""
        embeddings: Tensor = self.projector(features)
        return embeddings

    def compute(self, views: list[Any], labels: Tensor) -> tuple[Tensor, dict[str, Tensor], Tensor]:
        """The loss of a batch, what the objective says of it, and the features of a view with gradient.

        That view is the first one, or the second if the first is mixed.
        """
        mixing = None
        if self.objective.mixing is not None:
            seed = generator_of_batch(self).initial_seed()
            mixing = draw_mixing(len(labels), self.objective.mixing, seed, labels.device)
        inputs: tuple[Parts, ...] = ()
        if self.objective.reads_inputs:
            views, inputs = zip(*map(self.with_inputs, views), strict=True)  # type: ignore[assignment]
        with weights_cast_once(self.device.type):
            features, parts = zip(*map(self.encode, views, chain((mixing,), repeat(None))), strict=True)
            projections = [self.project(f, view) for f, view in zip(features, views, strict=True)]
            online = projections if self.predictor is None else [self.predictor(z) for z in projections]
        if self.momentum_target is None:
            targets = projections[:2]
        else:
            targets = [self.momentum_target(view) for view in views[:2]]
        context = Context(
            labels,
            self.epochs_done(),
            generator=generator_of_batch(self) if self.objective.draws else None,
            inputs=inputs,
            parts=parts if self.objective.reads_parts else (),
            mixing=mixing,
        )
        loss, logs = self.objective(online, targets, context=context)
        return loss, logs, features[0 if mixing is None else 1]
