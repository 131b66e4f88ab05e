"""The training step that every domain, objective and architecture shares."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from lightning.pytorch import LightningModule
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from lightning_renyicl.distributed import all_reduce_sum, world_group
from lightning_renyicl.encoders import Backbone
from lightning_renyicl.heads import Head
from lightning_renyicl.modules.checks import check_scheduler
from lightning_renyicl.modules.stored import StoredModule
from lightning_renyicl.momentum import MomentumTarget, cosine_momentum
from lightning_renyicl.objectives import Context, Objective

OptimizerFactory = Callable[[Iterable], Optimizer]
SchedulerFactory = Callable[[Optimizer, int, int], LRScheduler]
HeadFactory = Callable[[int], Head]


class ContrastiveModule(StoredModule):
    """Backbone, projector, optional predictor and optional momentum target, trained by an objective over views.

    A subclass says how its backbone is built. A batch is ``(views, target)`` in training and ``(x, target)`` else.

    Args:
        backbone: encoder of a batch of samples.
        projector: builds the projection head from the number of features.
        objective: loss over the embeddings of the views.
        optimizer: builds the optimizer from the parameters.
        scheduler: builds the schedule from optimizer, total steps and steps an epoch; None keeps the rate.
        predictor: builds the prediction head from the projector's width; None has none.
        momentum: EMA coefficient of the momentum target at the first step, 1 at the last by a half cosine; None has no
            momentum target, and gradients reach both sides.
        num_classes: number of labels, for objectives that use them; the command line takes it from the data.

    Raises:
        ValueError: a predictor whose output is not as wide as its input, a schedule of torch, or too few labels for the
            objective.
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
        num_classes: int = 0,
    ) -> None:
        super().__init__()
        check_scheduler(scheduler)
        self.backbone = backbone
        self.num_features = backbone.num_features
        self.projector = projector(backbone.num_features)
        width = self.projector.out_features
        self.predictor = None if predictor is None else predictor(width)
        if self.predictor is not None and self.predictor.out_features != width:
            raise ValueError(
                f"the predictor must keep the projector's width {width}, got {self.predictor.out_features}"
            )
        objective.build(width, num_classes)
        self.objective = objective
        self.momentum_target = None if momentum is None else MomentumTarget(backbone, self.projector, momentum)
        self._optimizer = optimizer
        self._scheduler = scheduler
        self._loss: Tensor | None = None  # of the last training step
        self._learns: Tensor | None = None  # whether any loss of the epoch is finite

    def forward(self, x: Any) -> Tensor:
        """The representation ``[N, num_features]``: what probes, ``predict`` and export see."""
        features: Tensor = self.backbone(x)
        return features

    def training_step(self, batch: tuple[list[Any], Tensor], batch_idx: int) -> dict[str, Tensor]:
        views, target = batch
        with weights_cast_once(self.device.type):
            features = [self(view) for view in views]
            projections = [self.projector(f) for f in features]
            online = projections if self.predictor is None else [self.predictor(z) for z in projections]
        if self.momentum_target is None:
            targets = projections[:2]
        else:
            targets = [self.momentum_target(view) for view in views[:2]]
        loss, logs = self.objective(online, targets, context=Context(labels=target))
        first = features[0].detach()
        self._loss = loss.detach()
        finite = self._loss.isfinite()
        self._learns = finite if self._learns is None else self._learns | finite
        if logs_now(self):
            logs = {**logs, "feature_std": feature_std(first), "loss": self._loss}
            self.log_dict({f"train/{name}": value for name, value in logs.items()}, batch_size=len(target))
        return {"loss": loss, "features": first, "target": target}

    def validation_step(self, batch: tuple[Any, Tensor], batch_idx: int) -> dict[str, Tensor]:
        x, target = batch
        return {"features": self(x), "target": target}

    test_step = validation_step

    def predict_step(self, batch: tuple[Any, Tensor], batch_idx: int) -> dict[str, Tensor]:
        return self.validation_step(batch, batch_idx)

    def configure_optimizers(self) -> Any:
        optimizer = self._optimizer([p for p in self.parameters() if p.requires_grad])
        # A hook of the optimizer itself runs once for each step that happened: not for micro-batches of an accumulated
        # gradient, and not for a step that the gradient scaler skipped (but for fused optimizers, which skip inside).
        optimizer.register_step_post_hook(self._follow)
        if self.momentum_target is not None and self.dtype in (torch.float16, torch.bfloat16):
            raise ValueError(
                f"the momentum encoder's average stands still in {self.dtype}: use a mixed precision or momentum null"
            )
        if self._scheduler is None and self.momentum_target is None:
            return optimizer
        self.trainer.fit_loop.setup_data()  # with max_steps alone nothing else has counted the batches yet
        self.total_steps = total_steps = self._total_steps()
        if self._scheduler is None:
            return optimizer
        steps_per_epoch = math.ceil(self.trainer.num_training_batches / self.trainer.accumulate_grad_batches)
        scheduler = self._scheduler(optimizer, total_steps, steps_per_epoch)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

    def on_train_epoch_start(self) -> None:
        self._learns = None

    def on_train_epoch_end(self) -> None:
        """Stops a run that has diverged before its checkpoint replaces the last good one.

        Weights are not finite, or no loss of the epoch was; a gradient scaler skips single steps of these.
        """
        if self._loss is None or self._learns is None:
            return
        finite = torch.stack([self._learns, *(parameter.isfinite().all() for parameter in self.parameters())])
        if not finite.all():
            what = "weights are not finite" if finite[0] else "no loss is finite"
            raise ValueError(
                f"{what} after epoch {self.trainer.current_epoch + 1}, the last loss is {self._loss.item():.4g}: lower "
                "the learning rate, and look at train/feature_std, which falls towards 0 when features collapse"
            )

    def _total_steps(self) -> int:
        total_steps = self.trainer.estimated_stepping_batches
        if math.isinf(total_steps):
            raise ValueError("schedules need the length of the training: set trainer.max_epochs or trainer.max_steps")
        return int(total_steps)

    def _follow(self, *_: Any) -> None:
        if self.momentum_target is None:
            return
        coefficient = cosine_momentum(self.momentum_target.coefficient, self.trainer.global_step, self.total_steps)
        self.momentum_target.update(self.backbone, self.projector, coefficient)
        if logs_now(self):
            # as a tensor on the CPU: Lightning copies a number to the device, which waits for it
            self.log("train/momentum", torch.tensor(coefficient))


def weights_cast_once(device_type: str) -> torch.autocast:
    """Mixed precision, if it is on, with weights that are cast once for all views; their gradients add up as cast.

    Lightning 2.6 switches torch's cache of cast weights off, as what is first cast without gradients would have none
    later. Steps of wide networks then take up to a third longer. A momentum target's weights are cast for each view.
    """
    enabled = torch.is_autocast_enabled(device_type)
    return torch.autocast(device_type, torch.get_autocast_dtype(device_type), enabled, cache_enabled=True)


def logs_now(module: LightningModule) -> bool:
    """Whether a training step logs: where loggers look, and in the last batch of an epoch.

    Every metric of a step costs as much as a layer of a small network. Callbacks that monitor something within an epoch
    see what loggers saw last.
    """
    trainer = module._trainer
    if trainer is None or trainer.is_last_batch:
        return True
    every = trainer.log_every_n_steps  # type: ignore[attr-defined]
    return every > 0 and (trainer.global_step + 1) % every == 0


def feature_std(features: Tensor) -> Tensor:
    """Standard deviation of L2-normalised features over the global batch, averaged over D and times sqrt(D).

    Near 1 for features spread over the sphere, near 0 for collapsed ones.

    Shapes: ``[N, D]`` to a scalar.
    """
    unit = F.normalize(features.float(), dim=-1)
    group = world_group()
    total = all_reduce_sum(torch.cat([unit.sum(0), unit.new_full((1,), len(unit))]), group)  # and the number of samples
    squares = all_reduce_sum((unit - total[:-1] / total[-1]).square().sum(0), group)
    return (squares / (total[-1] - 1).clamp(min=1)).sqrt().mean() * math.sqrt(features.shape[-1])
