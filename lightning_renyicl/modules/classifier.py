"""Training with labels from a checkpoint on: the whole network, or a linear classifier of a frozen one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torchmetrics.classification import MulticlassAccuracy, MulticlassConfusionMatrix

from lightning_renyicl.accuracy import accuracies
from lightning_renyicl.checkpoints import read_checkpoint
from lightning_renyicl.configuration import section_of
from lightning_renyicl.encoders import Backbone
from lightning_renyicl.modules.joint_embedding import JointEmbedding
from lightning_renyicl.modules.scheduled import OptimizerFactory, ScheduledModule, SchedulerFactory
from lightning_renyicl.modules.steps import logs_now
from lightning_renyicl.objectives import Context, CrossEntropy


class Classifier(ScheduledModule):
    """The backbone of a checkpoint with a linear classifier, trained by cross-entropy on the first view.

    The classifier begins with normal weights of deviation 0.01 and biases of 0. Logs ``train/loss`` and ``train/top1``
    of a batch and, of the validation and the test split, ``NAME/top1``, ``NAME/macro_top1`` and, of more than five
    classes, ``NAME/top5``, shares of the samples with labels. A checkpoint of it says how its backbone is made, and
    doesn't need the one that it began with.

    Args:
        checkpoint: file of a training by the command; or the JSON text of what that says of its module, which stands in
            a checkpoint of this one.
        num_classes: number of labels C; the command line takes it from the data.
        optimizer: builds the optimizer from the parameters.
        scheduler: builds the schedule from optimizer, total steps and steps an epoch; None keeps the rate.
        pretrained: whether the backbone has the checkpoint's weights; False begins with new ones, to see what they are
            worth.
        trust_checkpoint: whether to take classes that are neither of this project nor of ``torch.optim``, and so to run
            what the checkpoint's author wanted to be run.

    Raises:
        ValueError: a checkpoint that is damaged or of another kind of module, or data without two classes.
        OSError: a file that cannot be read.
    """

    name: ClassVar[str]
    """What its scores are called."""

    def __init__(
        self,
        checkpoint: str,
        num_classes: int,
        optimizer: OptimizerFactory,
        scheduler: SchedulerFactory | None = None,
        pretrained: bool = True,
        trust_checkpoint: bool = False,
    ) -> None:
        super().__init__(optimizer, scheduler)
        in_text = checkpoint.startswith("{")
        source = "the checkpoint's model.checkpoint" if in_text else checkpoint
        stored = {} if in_text else read_checkpoint(Path(checkpoint))
        self._section = json.loads(checkpoint) if in_text else section_of(stored.get("hyper_parameters", {}))
        if "class_path" not in self._section:
            raise ValueError(f"{source} doesn't say what its module is: it is of no training by the command")
        if pretrained and not in_text:
            module = JointEmbedding.of_checkpoint(stored, source, trust_checkpoint=trust_checkpoint)
        else:
            module = JointEmbedding.made_of(self._section, source, trust_checkpoint)
        self.backbone: Backbone = module.backbone
        self.num_features = self.backbone.num_features
        self.objective = CrossEntropy()
        self.objective.build(self.num_features, num_classes)
        nn.init.normal_(self.objective.classifier.weight, std=0.01)
        nn.init.zeros_(self.objective.classifier.bias)
        # validating arguments would wait for the device at every batch
        self.confusion = MulticlassConfusionMatrix(num_classes, ignore_index=-1, validate_args=False)
        self.top5 = None
        if num_classes > 5:
            self.top5 = MulticlassAccuracy(num_classes, 5, "micro", ignore_index=-1, validate_args=False)

    def setup(self, stage: str) -> None:
        """Refuses data that the backbone wasn't made for."""
        super().setup(stage)
        own = self._section["init_args"].get("in_features")
        found = getattr(self.trainer.datamodule, "in_features", None)  # type: ignore[attr-defined]
        if None not in (own, found) and own != found:
            raise ValueError(f"the checkpoint's encoder reads {own} columns or node features, and the data has {found}")

    def forward(self, x: Any) -> Tensor:
        """The representation ``[N, num_features]``: what probes, ``predict`` and export see."""
        features: Tensor = self.backbone(x)
        return features

    def training_step(self, batch: tuple[list[Any], Tensor], batch_idx: int) -> dict[str, Tensor]:
        (view, *_), target = batch
        features = self(view)
        loss, logs = self.objective([features], [features], Context(target))
        self.divergence.note(loss.detach())
        if logs_now(self):
            self.log_dict({"train/loss": loss.detach(), "train/top1": logs["top1"]}, batch_size=len(target))
        return {"loss": loss, "features": features.detach(), "target": target}

    def validation_step(self, batch: tuple[Any, Tensor], batch_idx: int) -> dict[str, Tensor]:
        x, target = batch
        features = self(x)
        logits = self.objective.classifier(features).float()
        self.confusion.update(logits, target)
        if self.top5 is not None:
            self.top5.update(logits, target)
        return {"features": features, "target": target}

    test_step = validation_step

    def predict_step(self, batch: tuple[Any, Tensor], batch_idx: int) -> dict[str, Tensor]:
        x, target = batch
        return {"features": self(x), "target": target}

    def on_validation_epoch_end(self) -> None:
        scores = accuracies(self.confusion.compute())
        if self.top5 is not None:
            scores["top5"] = self.top5.compute()
            self.top5.reset()
        self.confusion.reset()
        for key, value in scores.items():
            self.log(f"{self.name}/{key}", value, prog_bar=key == "top1", rank_zero_only=True)

    on_test_epoch_end = on_validation_epoch_end

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Leaves in place of the file that training began with what this says of its module."""
        checkpoint.get("hyper_parameters", {})["checkpoint"] = json.dumps(self._section)


class LinearEvaluation(Classifier):
    """A linear classifier of a frozen backbone, whose BatchNorm keeps its statistics; see :class:`Classifier`.

    RényiCL, appendix "ImageNet experiments": features of random crops and flips, which are not standardised. For
    features that are computed once see the protocol ``LinearSGD``.
    """

    name = "linear_evaluation"

    def setup(self, stage: str) -> None:
        super().setup(stage)
        self.backbone.requires_grad_(False).eval()  # Lightning leaves modes as they are

    def train(self, mode: bool = True) -> LinearEvaluation:
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x: Any) -> Tensor:
        with torch.no_grad():
            return super().forward(x)


class FineTuning(Classifier):
    """Training of backbone and linear classifier, each with a rate of its own; see :class:`Classifier`.

    RényiCL, appendix "ImageNet experiments", after SimCLR (Chen et al., 2020).

    Args:
        classifier_lr: learning rate of the classifier; None: the optimizer's.
        shared: the other arguments of :class:`Classifier`.
    """

    name = "fine_tuning"

    def __init__(self, classifier_lr: float | None = None, **shared: Any) -> None:
        super().__init__(**shared)
        self.classifier_lr = classifier_lr

    def trained(self) -> list[Any]:
        if self.classifier_lr is None:
            return super().trained()
        own = {"params": list(self.objective.parameters()), "lr": self.classifier_lr}
        return [{"params": list(self.backbone.parameters())}, own]
