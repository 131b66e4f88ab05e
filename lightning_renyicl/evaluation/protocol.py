"""What is asked of a classifier of frozen features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class LabeledFeatures:
    """A split's labelled samples.

    Attributes:
        features: representations, ``[M, F]``.
        target: labels, ``[M]``; ``[M, C]`` where a sample may be of several classes.
    """

    features: Tensor
    target: Tensor

    def on(self, device: torch.device) -> LabeledFeatures:
        """A copy on a device, which outside inference mode can take part in training."""
        return LabeledFeatures(self.features.to(device, copy=True), self.target.to(device, copy=True))

    def __add__(self, other: LabeledFeatures) -> LabeledFeatures:
        """The samples of both."""
        return LabeledFeatures(torch.cat((self.features, other.features)), torch.cat((self.target, other.target)))


class FeatureProtocol(ABC):
    """A classifier of features, which says for every test sample how much speaks for each class.

    Attributes:
        name: what its scores are called.
        needs_val: whether it needs validation samples.
    """

    name: str
    needs_val = False

    @abstractmethod
    def __call__(
        self, train: LabeledFeatures, val: LabeledFeatures, test: Tensor, num_classes: int, seed: int
    ) -> Tensor:
        """Fits to the training samples, chooses on the validation samples and classifies the others.

        Args:
            train: training samples.
            val: what choices are made on; none where ``needs_val`` is False and the data sets none aside.
            test: features to classify, ``[M, F]``.
            num_classes: number of classes C.
            seed: seed of whatever is drawn; global random state is left alone.

        Returns:
            A number for every class, of which the largest counts, ``[M, C]``.
        """
