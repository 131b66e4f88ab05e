"""Evaluation of a trained encoder by what can be read off its features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor
from torchmetrics.functional.classification import multiclass_confusion_matrix

from lightning_renyicl.callbacks.accuracy import LEAVE_OUT, accuracies
from lightning_renyicl.callbacks.features import features_of


@dataclass(frozen=True)
class Labelled:
    """A split's labelled samples.

    Attributes:
        features: ``[M, F]``.
        target: labels, ``[M]``.
    """

    features: Tensor
    target: Tensor

    def on(self, device: torch.device) -> Labelled:
        """A copy on a device, which outside inference mode can take part in training."""
        return Labelled(self.features.to(device, copy=True), self.target.to(device, copy=True))

    def __add__(self, other: Labelled) -> Labelled:
        """The samples of both."""
        return Labelled(torch.cat((self.features, other.features)), torch.cat((self.target, other.target)))


class FeatureProtocol(ABC):
    """A classifier of features, which says for every test sample how much speaks for each class.

    Attributes:
        name: what its scores are called.
        needs_val: whether it needs validation samples.
    """

    name: str
    needs_val = False

    @abstractmethod
    def __call__(self, train: Labelled, val: Labelled, test: Tensor, num_classes: int, seed: int) -> Tensor:
        """Fits to the training samples, chooses on the validation samples and classifies the others.

        Args:
            train: training samples.
            val: what choices are made on; none where ``needs_val`` is False and the data sets none aside.
            test: features to classify, ``[M, F]``.
            num_classes: number of classes C.
            seed: of whatever is drawn; global random state is left alone.

        Returns:
            A number for every class, of which the largest counts, ``[M, C]``.
        """


class FrozenFeatures(Callback):
    """Runs protocols on the representations of the whole training, validation and test splits, in ``lightning test``.

    The representations are computed once and shared by all protocols. Logs ``NAME/top1`` and ``NAME/macro_top1``,
    shares of the test split's labelled samples, by the protocols' names.

    Attributes:
        fingerprint: mean absolute score that each protocol gave, for :class:`ReplayRecorder`.

    Args:
        protocols: what to run.

    Raises:
        ValueError: no protocol, or two of one name; in ``test``, data with fewer than two classes or a split without a
            label, the validation split where no protocol needs it excepted, or features that are not finite.
    """

    prefix = ""

    def __init__(self, protocols: Sequence[FeatureProtocol]) -> None:
        names = [protocol.name for protocol in protocols]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"protocols must be at least one, each once, got {', '.join(names) or 'none'}")
        self.protocols = list(protocols)
        self.fingerprint: dict[str, Tensor] = {}

    def samples(self, trainer: Trainer, pl_module: LightningModule, split: str) -> Labelled:
        """What the protocols get of a split."""
        return Labelled(*features_of(trainer, split, pl_module))

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        name, num_classes = type(self).__name__, trainer.datamodule.num_classes  # type: ignore[attr-defined]
        if num_classes < 2:
            raise ValueError(f"{name} needs labels of two classes, and the data has {num_classes}: {LEAVE_OUT}")
        train, val, test = (self.samples(trainer, pl_module, split) for split in ("train", "val", "test"))
        needed = [("training", train), ("test", test)]
        if any(protocol.needs_val for protocol in self.protocols):
            needed.append(("validation", val))
        for split, samples in needed:
            if not len(samples.target):
                raise ValueError(f"{name} needs labels, and the {split} split has none: {LEAVE_OUT}")
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
