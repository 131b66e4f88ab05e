"""A linear probe that trains beside the run that it watches."""

from __future__ import annotations

import logging
import math
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import nn
from torchmetrics.classification import MulticlassConfusionMatrix

from lightning_renyicl.accuracy import accuracies
from lightning_renyicl.distributed import Group, all_reduce_sum, world_group, world_size
from lightning_renyicl.evaluation.labels import check_classes

log = logging.getLogger(__name__)


class OnlineProbe(Callback):
    """Accuracy of a linear classifier on frozen features, every validation epoch.

    The classifier sees the detached features of each training step's first view, standardised by a BatchNorm without
    parameters, and takes one Adam step on them. Its weights, optimizer and random numbers are its own, and its state is
    this callback's: the run's weights, random state, ``global_step`` and model checkpoint keys are those of a run
    without it. On several processes the gradient is that of the global batch, so that all hold the same probe.

    Logs ``online_probe/top1`` and ``online_probe/macro_top1`` (shares): on the validation split during ``fit`` and
    ``validate``, on the test split during ``test``; NaN of a split without labels. Nothing is chosen on either. With a
    checkpoint of other classes than the data's it starts anew in ``fit`` and else logs nothing, with a warning.

    Args:
        learning_rate: learning rate of Adam.
        seed: seed of the classifier's initial weights.
    """

    scores_in_validation: ClassVar[bool] = True
    """Whether a training has its scores exactly if a validation runs."""

    def __init__(self, learning_rate: float = 1e-2, seed: int = 0) -> None:
        if learning_rate <= 0:
            raise ValueError(f"learning_rate must be above 0, got {learning_rate}")
        self.learning_rate = learning_rate
        self.seed = seed
        self.probe: nn.Sequential | None = None
        self.optimizer: torch.optim.Optimizer | None = None
        self.confusion: MulticlassConfusionMatrix | None = None
        self._datamodule: Any = None
        self._trained = False  # on the data's classes

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        if self.probe is not None or stage == "predict":  # which needs no labels, and may see none
            return
        num_classes: int = trainer.datamodule.num_classes  # type: ignore[attr-defined]
        if stage == "fit":
            check_classes("OnlineProbe", num_classes)
        self._datamodule = trainer.datamodule  # type: ignore[attr-defined]
        num_features: int = pl_module.num_features  # type: ignore[assignment]
        self._build(num_features, max(2, num_classes), trainer.strategy.root_device)

    def _build(self, num_features: int, num_classes: int, device: torch.device) -> None:
        linear = nn.utils.skip_init(nn.Linear, num_features, num_classes)
        generator = torch.Generator().manual_seed(self.seed)
        with torch.no_grad():
            linear.weight.uniform_(-1.0, 1.0, generator=generator).div_(math.sqrt(num_features))
            linear.bias.zero_()
        self.probe = nn.Sequential(nn.BatchNorm1d(num_features, affine=False), linear).to(device)
        self.optimizer = torch.optim.Adam(self.probe.parameters(), lr=self.learning_rate)
        # validating arguments would wait for the device at every batch
        self.confusion = MulticlassConfusionMatrix(num_classes, ignore_index=-1, validate_args=False).to(device)

    @torch.enable_grad()
    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert self.probe is not None
        assert self.optimizer is not None
        self._trained = True
        features, target = outputs["features"].float(), outputs["target"]
        with torch.autocast(features.device.type, enabled=False):
            logits = self.probe.train()(features)
            losses = F.cross_entropy(logits, target, ignore_index=-1, reduction="sum")
        group = world_group()
        labeled = all_reduce_sum((target >= 0).sum(), group)
        loss = losses * world_size(group) / labeled.clamp(min=1)  # the mean over processes is that of the samples
        self.optimizer.zero_grad()
        loss.backward()
        self._average_over_processes(self.probe, group)
        self.optimizer.step()

    @staticmethod
    def _average_over_processes(probe: nn.Sequential, group: Group) -> None:
        """Averages gradients and running statistics in one collective."""
        if group is None:
            return
        tensors = [p.grad for p in probe.parameters() if p.grad is not None]
        tensors += [b for b in probe.buffers() if b.is_floating_point()]
        flat = all_reduce_sum(torch.cat([t.flatten() for t in tensors]), group)
        flat /= world_size(group)
        for tensor, mean in zip(tensors, flat.split([t.numel() for t in tensors]), strict=True):
            tensor.copy_(mean.view_as(tensor))

    @torch.no_grad()
    def _count(self, outputs: Any) -> None:
        assert self.probe is not None
        assert self.confusion is not None
        if not self._trained:
            return
        features = outputs["features"].float()
        with torch.autocast(features.device.type, enabled=False):
            logits = self.probe.eval()(features)
        self.confusion.update(logits, outputs["target"])

    def _report(self, pl_module: LightningModule) -> None:
        assert self.confusion is not None
        if not self._trained:
            if not pl_module.trainer.sanity_checking:
                log.warning("the online probe has not been trained on the data's classes, and reports nothing")
            return
        for name, value in accuracies(self.confusion.compute()).items():
            pl_module.log(f"online_probe/{name}", value, prog_bar=name == "top1", rank_zero_only=True)
        self.confusion.reset()

    def on_validation_batch_end(self, trainer: Trainer, pl_module: LightningModule, outputs: Any, *_: Any) -> None:
        self._count(outputs)

    def on_test_batch_end(self, trainer: Trainer, pl_module: LightningModule, outputs: Any, *_: Any) -> None:
        self._count(outputs)

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._report(pl_module)

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._report(pl_module)

    def _classes(self) -> list[str]:
        """The names of the data's classes; of data whose classes have none, what it is and their number.

        A checkpoint's part for the data may have changed them since :meth:`setup`.
        """
        data = self._datamodule
        return [str(name) for name in getattr(data, "classes", ()) or (type(data).__name__, data.num_classes)]

    def state_dict(self) -> dict[str, Any]:
        if self.probe is None or self.optimizer is None:
            return {}
        state = {"probe": self.probe.state_dict(), "optimizer": self.optimizer.state_dict()}
        return {**state, "classes": self._classes()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if self.probe is None:
            return
        self._trained = state_dict.get("classes") == self._classes()
        if not self._trained:
            return
        num_classes, num_features = state_dict["probe"]["1.weight"].shape
        self._build(num_features, num_classes, next(self.probe.parameters()).device)  # data may lack some classes
        assert self.optimizer is not None
        self.probe.load_state_dict(state_dict["probe"])
        self.optimizer.load_state_dict(state_dict["optimizer"])
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate  # the checkpoint's may be of another configuration
