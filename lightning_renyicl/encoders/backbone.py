"""The base type of all encoders."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from lightning_renyicl.objectives import Parts


class Backbone(nn.Module):
    """An encoder from a batch of samples to representations ``[N, num_features]``.

    Args:
        num_features: length of a representation.
    """

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.num_features = num_features

    def with_parts(self, x: Any) -> tuple[Tensor, Parts]:
        """Representations ``[N, num_features]``, and those of the parts that samples are made of, such as nodes.

        Raises:
            NotImplementedError: an encoder of samples that have no parts.
        """
        raise NotImplementedError(f"{type(self).__name__} has no embeddings of parts of samples")
