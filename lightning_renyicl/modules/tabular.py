"""Contrastive learning on rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from lightning_renyicl.encoders import Backbone, ColumnEmbedding
from lightning_renyicl.modules.base import ContrastiveModule
from lightning_renyicl.modules.mixing import mix
from lightning_renyicl.objectives import Mixing, Parts


class EmbeddedColumns(Backbone):
    """An encoder of rows ``[N, F]`` with the categorical columns embedded before it."""

    def __init__(self, embedding: ColumnEmbedding, encoder: Backbone) -> None:
        super().__init__(encoder.num_features)
        self.embedding = embedding
        self.encoder = encoder

    def forward(self, x: Tensor) -> Tensor:
        features: Tensor = self.encoder(self.embedding(x))
        return features


class TabularModule(ContrastiveModule):
    """Contrastive learning on rows ``[N, F]``, whose last C columns may hold codes of categories.

    Args:
        backbone: builds the encoder from the number of its inputs.
        in_features: number of columns F; the command line takes it from the data.
        cardinalities: number of codes of each of the C categorical columns; the command line takes it from the data.
        embedding_width: length of the vector that stands for a category; None: categories are one-hot.
        shared: the other arguments of :class:`ContrastiveModule`.
    """

    def __init__(
        self,
        backbone: Callable[[int], Backbone],
        in_features: int,
        cardinalities: Sequence[int] = (),
        embedding_width: int | None = 16,
        **shared: Any,
    ) -> None:
        embedding = ColumnEmbedding(in_features, cardinalities, embedding_width) if cardinalities else None
        encoder = backbone(in_features if embedding is None else embedding.out_features)
        # one call, since jsonargparse takes the second of two for that of the base's base
        super().__init__(encoder if embedding is None else EmbeddedColumns(embedding, encoder), **shared)

    def encode(self, view: Tensor, mixing: Mixing | None = None) -> tuple[Tensor, Parts | None]:
        """See :meth:`JointEmbedding.encode`; codes of categories become vectors, or one-hot, before they are mixed."""
        if mixing is None or not isinstance(self.backbone, EmbeddedColumns):
            return super().encode(view, mixing)
        return self.backbone.encoder(mix(self.backbone.embedding(view), mixing)), None
