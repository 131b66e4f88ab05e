"""How much of graphs an augmentation leaves."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch import Generator

from datamodules.augmentations.base import Augmentation, Nested
from datamodules.graphs.augmentations.edge_perturbation import EdgePerturbation

if TYPE_CHECKING:
    from torch_geometric.data import Batch


class WithRemaining(Nested):
    """An augmentation of graphs that says with the batch what fraction of nodes and edges remained.

    ``kept_nodes`` and ``kept_edges`` are numbers of nodes and directed edges over those of before. Edges that an
    :class:`EdgePerturbation` added do not count as kept, unless a later part of a ``Compose`` removed some of them:
    then fewer are counted as kept than are.

    Shapes: a ``Batch`` of N graphs to a ``Batch`` of N graphs.

    Args:
        augmentation: an augmentation of graphs.
    """

    def __init__(self, augmentation: Augmentation) -> None:
        super().__init__([augmentation])

    def forward(self, batch: Batch, generator: Generator) -> Batch:
        perturbations = [part for part in self.modules() if isinstance(part, EdgePerturbation)]
        for perturbation in perturbations:
            perturbation.added_edges = 0  # one that no graph draws is not called
        view = self.augmentations[0](batch, generator)
        view = copy.copy(view) if view is batch else view
        added = sum(perturbation.added_edges for perturbation in perturbations)
        # as tensors on the CPU: Lightning copies a number to the device, which waits for it
        view.kept_nodes = torch.tensor(len(view.x) / len(batch.x))
        view.kept_edges = torch.tensor((view.edge_index.shape[1] - added) / max(1, batch.edge_index.shape[1]))
        return view
