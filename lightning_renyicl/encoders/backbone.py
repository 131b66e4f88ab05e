"""The base type of all encoders."""

from __future__ import annotations

from torch import nn


class Backbone(nn.Module):
    """An encoder from a batch of samples to representations ``[N, num_features]``.

    Args:
        num_features: length of a representation.
    """

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.num_features = num_features
