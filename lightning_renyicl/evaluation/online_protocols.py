"""Protocols on the features of a run, every validation epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from lightning.pytorch import LightningModule, Trainer

from datamodules.drawing import drawn
from lightning_renyicl.evaluation.features import features_of
from lightning_renyicl.evaluation.frozen_features import FrozenFeatures
from lightning_renyicl.evaluation.labels import check_classes
from lightning_renyicl.evaluation.protocol import FeatureProtocol, LabeledFeatures


class OnlineProtocols(FrozenFeatures):
    """Runs protocols that choose nothing, such as :class:`KNN`, every validation epoch of ``fit``, and in ``test``.

    They get labelled training samples, at most as many as the argument says, drawn by the seed with the classes in
    proportion, encoded without augmentation, and classify the validation split, in ``test`` the test split. Logs
    ``online/NAME/top1`` and ``online/NAME/macro_top1`` by the protocols' names. The run is left alone.

    Args:
        protocols: classifiers to run, each under a name of its own.
        training: largest number of training samples.

    Raises:
        ValueError: no protocol, two of one name, one that chooses on validation samples, or no training sample; data
            with fewer than two classes or a split without a label, or features that are not finite.
    """

    only_in_test: ClassVar[bool] = False
    scores_in_validation: ClassVar[bool] = True
    """Whether a training has its scores exactly if a validation runs."""
    prefix = "online/"

    def __init__(self, protocols: Sequence[FeatureProtocol], training: int = 5000) -> None:
        super().__init__(protocols)
        choosing = [protocol.name for protocol in protocols if protocol.needs_val]
        if choosing:
            raise ValueError(
                f"OnlineProtocols scores validation samples, on which {', '.join(choosing)} would choose: give it a "
                "protocol that chooses nothing, such as KNN or one with a single rate or strength"
            )
        if training < 1:
            raise ValueError(f"training must be at least 1 sample, got {training}")
        self.training = training

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        if stage == "fit":
            check_classes("OnlineProtocols", trainer.datamodule.num_classes)  # type: ignore[attr-defined]

    def samples(self, trainer: Trainer, pl_module: LightningModule, split: str) -> LabeledFeatures:
        if split == "val":
            return LabeledFeatures(torch.empty(0), torch.empty(0, dtype=torch.long))
        if split == "test":
            return super().samples(trainer, pl_module, split)
        data: Any = trainer.datamodule  # type: ignore[attr-defined]
        target, index = data.samples.target.cpu(), data.samples.splits["train"].cpu()
        index = index[target[index] >= 0]
        index = index[drawn(target[index], self.training, torch.initial_seed())].sort().values
        return LabeledFeatures(*features_of(trainer, data.in_order(index), pl_module))

    def on_validation_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._tested = []

    def on_validation_batch_end(self, trainer: Trainer, pl_module: LightningModule, outputs: Any, *_: Any) -> None:
        self.on_test_batch_end(trainer, pl_module, outputs)

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        scored = LabeledFeatures(*self.taken(trainer.val_dataloaders))
        if not trainer.sanity_checking:
            train, none = (self.samples(trainer, pl_module, split) for split in ("train", "val"))
            self.report(trainer, pl_module, train, none, scored, "validation")
