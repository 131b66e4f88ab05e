"""The training step that every domain, objective and architecture shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from lightning_renyicl.encoders import Backbone
from lightning_renyicl.heads import Head
from lightning_renyicl.modules.checks import check_average, check_views
from lightning_renyicl.modules.divergence import Divergence
from lightning_renyicl.modules.scheduled import OptimizerFactory, ScheduledModule, SchedulerFactory
from lightning_renyicl.modules.steps import feature_std, generator_of_batch, logs_now, weights_cast_once
from lightning_renyicl.momentum import MomentumTarget
from lightning_renyicl.objectives import Context, Inputs, Objective
from lightning_renyicl.objectives.queue import rows_of_queues

HeadFactory = Callable[[int], Head]


class ContrastiveModule(ScheduledModule):
    """Backbone, projector, optional predictor and optional momentum target, trained by an objective over views.

    A subclass says how its backbone is built. A batch is ``(views, target)`` in training and ``(x, target)`` else.

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
        ValueError: a predictor not as wide as its input, a schedule of torch, or labels or momentum that are lacking.
    """

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
        if momentum is None and objective.needs_momentum:
            raise ValueError(f"{type(objective).__name__} needs a momentum encoder: give model.momentum, such as 0.99")
        objective.build(width, num_classes)
        self.objective = objective
        self._ddp_params_and_buffers_to_ignore = rows_of_queues(self)  # the same on every process, and large
        self.momentum_target = (
            None if momentum is None else MomentumTarget(backbone, self.projector, momentum, momentum_end)
        )
        self.counts_steps |= momentum is not None
        self._divergence = Divergence()

    def forward(self, x: Any) -> Tensor:
        """The representation ``[N, num_features]``: what probes, ``predict`` and export see."""
        features: Tensor = self.backbone(x)
        return features

    def setup(self, stage: str) -> None:
        """Refuses a trainer or data that this module and its objective don't work with."""
        super().setup(stage)
        if stage == "fit":
            check_views(self.trainer, self.objective)

    def with_inputs(self, view: Any) -> tuple[Any, Inputs]:
        """A view whose numbers take gradients, and these numbers."""
        x = view.detach().requires_grad_()
        return x, Inputs(x)

    def compute(self, views: list[Any], labels: Tensor) -> tuple[Tensor, dict[str, Tensor], Tensor]:
        """The loss of a batch, what the objective says of it, and the features of the first view with gradient."""
        inputs: tuple[Inputs, ...] = ()
        if self.objective.reads_inputs:
            views, inputs = zip(*map(self.with_inputs, views), strict=True)  # type: ignore[assignment]
        with weights_cast_once(self.device.type):
            features = [self(view) for view in views]
            projections = [self.projector(f) for f in features]
            online = projections if self.predictor is None else [self.predictor(z) for z in projections]
        if self.momentum_target is None:
            targets = projections[:2]
        else:
            targets = [self.momentum_target(view) for view in views[:2]]
        generator = generator_of_batch(self) if self.objective.draws else None
        loss, logs = self.objective(online, targets, context=Context(labels, self.epochs_done(), generator, inputs))
        return loss, logs, features[0]

    def training_step(self, batch: tuple[list[Any], Tensor], batch_idx: int) -> dict[str, Tensor]:
        views, target = batch
        loss, logs, features = self.compute(views, target)
        first = features.detach()
        self._divergence.note(loss.detach())
        if logs_now(self):
            logs = {**logs, "feature_std": feature_std(first), "loss": loss.detach()}
            self.log_dict({f"train/{name}": value for name, value in logs.items()}, batch_size=len(target))
        return {"loss": loss, "features": first, "target": target}

    def validation_step(self, batch: tuple[Any, Tensor], batch_idx: int) -> dict[str, Tensor]:
        x, target = batch
        return {"features": self(x), "target": target}

    test_step = predict_step = validation_step

    def configure_optimizers(self) -> Any:
        if self.momentum_target is not None:
            check_average(self.dtype)
        return super().configure_optimizers()

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        self.objective.before_step(self.epochs_done())

    def on_train_epoch_start(self) -> None:
        self._divergence.start()

    def on_train_epoch_end(self) -> None:
        """Stops a run that has diverged before its checkpoint replaces the last good one."""
        self._divergence.check(self.trainer.current_epoch + 1, [*self.parameters(), *self.objective.buffers()])

    def after_step(self) -> None:
        coefficient = None
        if self.momentum_target is not None:
            coefficient = self.momentum_target.coefficient_at(self.trainer.global_step, self.total_steps)
            self.momentum_target.update(self.backbone, self.projector, coefficient)
            if logs_now(self):
                # as a tensor on the CPU: Lightning copies a number to the device, which waits for it
                self.log("train/momentum", torch.tensor(coefficient))
        self.objective.after_step(coefficient)
