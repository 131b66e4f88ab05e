"""scikit-learn's digits as graphs. No download."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional as F

from datamodules.augmentations.base import Augmentation
from datamodules.base import Samples
from datamodules.digits import read_digits
from datamodules.graphs.in_memory import InMemoryGraphs
from datamodules.graphs.packed import PackedGraphs


class DigitsGraph(InMemoryGraphs):
    """Digits as graphs of 16 to 42 pixels with ink: a node a pixel, edges between its eight neighbours.

    A node's features are its ink in (0, 1] and its row and column in [-1, 1]. A digit may fall apart into components.

    Args:
        views: one augmentation of graphs a view.
        batch_size: samples in a batch over all processes.
    """

    def __init__(self, views: Sequence[Augmentation], batch_size: int = 128) -> None:
        super().__init__(views, batch_size, num_classes=10, in_features=3)

    def load(self) -> Samples:
        pixels, target, splits = read_digits()
        ink = pixels > 0  # [M, 64]
        place = torch.cartesian_prod(torch.arange(8), torch.arange(8))  # [64, 2], row and column
        ends = (torch.cdist(place.float(), place.float(), p=float("inf")) == 1).nonzero().T  # [2, pairs of neighbours]
        joined = ink[:, ends[0]] & ink[:, ends[1]]  # [M, pairs]
        digit, pair = joined.nonzero(as_tuple=True)  # [edges]
        node = ink.flatten().cumsum(0).view_as(pixels) - 1  # [M, 64]
        positions = (place / 3.5 - 1).expand(len(pixels), -1, -1)[ink]  # [nodes, 2]
        graphs = PackedGraphs(
            torch.cat((pixels[ink, None] / 16, positions), dim=1),
            node[digit, ends[:, pair]],
            F.pad(ink.sum(1).cumsum(0), (1, 0)),
            F.pad(joined.sum(1).cumsum(0), (1, 0)),
        )
        return Samples(graphs, target, splits)
