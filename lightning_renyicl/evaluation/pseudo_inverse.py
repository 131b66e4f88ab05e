"""Linear evaluation in closed form."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from lightning_renyicl.evaluation.protocol import FeatureProtocol, LabeledFeatures

ROWS = 2**13
"""Samples that are looked at together."""


class PseudoInverse(FeatureProtocol):
    """Linear regression from features to one-hot labels, W = [X 1]⁺ Y, by the pseudo-inverse, in float64.

    X has training and validation samples, since nothing is chosen. The QR decomposition of [X 1 Y] is built up from
    blocks of samples, so that it takes no more memory than (F + C)² numbers; its triangle holds all that least squares
    depend on. Directions with singular values below the rounding of the largest are left out, so that features may
    depend on each other linearly.
    """

    name = "pseudo_inverse"

    def __call__(
        self, train: LabeledFeatures, val: LabeledFeatures, test: Tensor, num_classes: int, seed: int
    ) -> Tensor:
        samples = train + val
        width = samples.features.shape[1] + 1
        triangle = torch.zeros(0, width + num_classes, dtype=torch.float64, device=test.device)
        for features, target in zip(samples.features.split(ROWS), samples.target.split(ROWS), strict=True):
            block = torch.cat((with_one(features), F.one_hot(target, num_classes).double()), dim=1)
            triangle = torch.linalg.qr(torch.cat((triangle, block)), mode="r").R
        left, right = triangle[:, :width], triangle[:, width:]
        weight = torch.linalg.pinv(left, rtol=len(samples.target) * torch.finfo(torch.float64).eps) @ right
        return torch.cat([with_one(features) @ weight for features in test.split(ROWS)])


def with_one(features: Tensor) -> Tensor:
    """Features ``[M, F]`` in float64 with a constant column, ``[M, F + 1]``."""
    return F.pad(features.double(), (0, 1), value=1.0)
