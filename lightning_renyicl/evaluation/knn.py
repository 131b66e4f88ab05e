"""Classification by the nearest training samples."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from lightning_renyicl.evaluation.protocol import FeatureProtocol, LabeledFeatures

PAIRS = 2**24
"""Similarities that are held at once, 64 MiB of them."""


class KNN(FeatureProtocol):
    """Weighted k nearest neighbours by cosine similarity (Wu et al., 2018, section 3.4).

    A class has as score the sum of exp(s / temperature) over those of the k most similar samples that are of it, where
    s is their similarity. Training and validation samples are neighbours, since nothing is chosen or fitted.

    Args:
        neighbors: number k of neighbours that vote; all samples where there are fewer.
        temperature: temperature of the neighbours' weights.

    Raises:
        ValueError: arguments that are not positive.
    """

    name = "knn"

    def __init__(self, neighbors: int = 20, temperature: float = 0.07) -> None:
        if neighbors < 1 or temperature <= 0:
            raise ValueError(f"neighbors and temperature must be above 0, got {neighbors} and {temperature}")
        self.neighbors = neighbors
        self.temperature = temperature

    def __call__(
        self, train: LabeledFeatures, val: LabeledFeatures, test: Tensor, num_classes: int, seed: int
    ) -> Tensor:
        samples = train + val
        bank = F.normalize(samples.features, dim=1)
        k = min(self.neighbors, len(bank))
        scores = []
        for features in test.split(max(1, PAIRS // len(bank))):
            similarity, nearest = (F.normalize(features, dim=1) @ bank.mT).topk(k)  # [n, k]
            # relative to the nearest, which changes no order and keeps the sum in range
            weight = ((similarity - similarity[:, :1]) / self.temperature).exp()
            votes = weight.new_zeros(len(features), num_classes)
            scores.append(votes.scatter_add_(1, samples.target[nearest], weight))
        return torch.cat(scores)
