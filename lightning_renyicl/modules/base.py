"""The training step that every domain, objective and architecture shares."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from lightning_renyicl.modules.checks import check_average, check_views
from lightning_renyicl.modules.joint_embedding import JointEmbedding
from lightning_renyicl.modules.steps import feature_std, logs_now


class ContrastiveModule(JointEmbedding):
    """A joint embedding that is trained by its objective; see :class:`JointEmbedding` for its arguments.

    A batch is ``(views, target)`` in training and ``(x, target)`` else.
    """

    def setup(self, stage: str) -> None:
        """Refuses a trainer or data that this module and its objective don't work with."""
        super().setup(stage)
        if stage == "fit":
            check_views(self.trainer, self.objective)

    def training_step(self, batch: tuple[list[Any], Tensor], batch_idx: int) -> dict[str, Tensor]:
        views, target = batch
        loss, logs, features = self.compute(views, target)
        first = features.detach()
        self.divergence.note(loss.detach())
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

    def learned(self) -> list[Tensor]:
        return [*super().learned(), *self.objective.buffers()]

    def after_step(self) -> None:
        coefficient = None
        if self.momentum_target is not None:
            coefficient = self.momentum_target.coefficient_at(self.trainer.global_step, self.total_steps)
            self.momentum_target.update(self.backbone, self.projector, coefficient)
            if logs_now(self):
                # as a tensor on the CPU: Lightning copies a number to the device, which waits for it
                self.log("train/momentum", torch.tensor(coefficient))
        self.objective.after_step(coefficient)
