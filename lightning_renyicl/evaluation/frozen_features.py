"""Evaluation of a trained encoder by what can be read off its features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from lightning.pytorch import LightningModule, Trainer
from torchmetrics.functional.classification import multiclass_confusion_matrix

from lightning_renyicl.accuracy import accuracies
from lightning_renyicl.evaluation.features import features_of
from lightning_renyicl.evaluation.labels import OMIT_CALLBACK, check_classes
from lightning_renyicl.evaluation.protocol import FeatureProtocol, LabeledFeatures
from lightning_renyicl.evaluation.tested import Tested


class FrozenFeatures(Tested):
    """Runs protocols on the representations of the whole training, validation and test splits, in ``lightning test``.

    The representations are computed once and shared by all protocols; those of the test split are the test loop's own,
    unless that is limited to a part of it. Logs ``NAME/top1`` and ``NAME/macro_top1``,
    shares of the test split's labelled samples, by the protocols' names.

    Attributes:
        fingerprint: mean absolute score that each protocol gave, for :class:`ReplayRecorder`.

    Args:
        protocols: classifiers to run, each under a name of its own.

    Raises:
        ValueError: no protocol, or two of one name; in ``test``, data with fewer than two classes or a split without a
            label, the validation split where no protocol needs it excepted, or features that are not finite.
    """

    only_in_test: ClassVar[bool] = True
    """Whether a training is the same with and without this callback."""
    prefix = ""

    def __init__(self, protocols: Sequence[FeatureProtocol]) -> None:
        super().__init__()
        names = [protocol.name for protocol in protocols]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"protocols must be at least one, each once, got {', '.join(names) or 'none'}")
        self.protocols = list(protocols)
        self.fingerprint: dict[str, torch.Tensor] = {}

    def samples(self, trainer: Trainer, pl_module: LightningModule, split: str) -> LabeledFeatures:
        """What the protocols get of a split."""
        loader: Any = trainer.test_dataloaders
        if split == "test" and trainer.num_test_batches == [len(loader)]:
            return LabeledFeatures(*self.taken(loader))
        return LabeledFeatures(*features_of(trainer, trainer.datamodule.feature_dataloader(split), pl_module))  # type: ignore[attr-defined]

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        check_classes(type(self).__name__, trainer.datamodule.num_classes)  # type: ignore[attr-defined]
        train, val, test = (self.samples(trainer, pl_module, split) for split in ("train", "val", "test"))
        self._tested = []  # where the test loop was limited
        self.report(trainer, pl_module, train, val, test, "test")

    def report(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        train: LabeledFeatures,
        val: LabeledFeatures,
        test: LabeledFeatures,
        split: str,
    ) -> None:
        """Logs what every protocol scores on the last samples, which are of the split named."""
        name, num_classes = type(self).__name__, trainer.datamodule.num_classes  # type: ignore[attr-defined]
        needed = [("training", train), (split, test)]
        if any(protocol.needs_val for protocol in self.protocols):
            needed.append(("validation", val))
        for part, samples in needed:
            if not len(samples.target):
                raise ValueError(f"{name} needs labels, and the {part} split has none: {OMIT_CALLBACK}")
        if not all(part.features.isfinite().all() for part in (train, val, test)):
            raise ValueError(f"{name} needs finite features: the encoder has diverged")
        if not trainer.is_global_zero:
            return
        with torch.inference_mode(False):
            train, val, test = (part.on(pl_module.device) for part in (train, val, test))
        for protocol in self.protocols:
            with torch.inference_mode(False), torch.enable_grad():
                scores = protocol(train, val, test.features, num_classes, torch.initial_seed())
            self.fingerprint[f"{self.prefix}{protocol.name}"] = scores.double().abs().mean()
            confusion = multiclass_confusion_matrix(scores.cpu(), test.target.cpu(), num_classes)
            for key, value in accuracies(confusion).items():
                pl_module.log(f"{self.prefix}{protocol.name}/{key}", value.to(pl_module.device), rank_zero_only=True)
