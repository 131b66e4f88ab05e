"""GraphCL's choice of augmentations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

import torch
from torch import Generator, nn

from datamodules.augmentations.base import Augmentation, Compose, RandomChoice
from datamodules.augmentations.edge_perturbation import EdgePerturbation
from datamodules.augmentations.graph import AttributeMask, InducedSubgraph, NodeDrop, Subgraph, induced
from datamodules.augmentations.graphcl_legacy import (
    LegacyEdgePerturbation,
    LegacyNodeDrop,
    LegacySubgraph,
    WithoutIsolated,
)
from datamodules.augmentations.sampling import check_ratio

if TYPE_CHECKING:
    from torch_geometric.data import Batch

Choice = Literal["dnodes", "subgraph", "pedges", "mask_nodes", "random2", "random3", "random4"]


class OneForEachGraph(Augmentation):
    """Applies to every graph one of several augmentations, drawn uniformly for it.

    As :class:`RandomChoice`, sooner: the batch is not taken apart, each augmentation leaves the others' graphs alone.

    Args:
        parts: to draw from: an :class:`InducedSubgraph`, or what takes the graphs to change as a third argument.
    """

    def __init__(self, parts: Sequence[Augmentation]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, batch: Batch, generator: Generator) -> Batch:
        drawn = torch.randint(len(self.parts), (batch.num_graphs,), generator=generator, device=generator.device)  # [N]
        kept = None
        for number, part in enumerate(self.parts):
            if isinstance(part, InducedSubgraph):
                own = part.kept(batch, generator, drawn == number)
                kept = own if kept is None else kept & own
            else:
                batch = part(batch, generator, drawn == number)
        return batch if kept is None else induced(batch, kept)


class GraphCL(Augmentation):
    """One of GraphCL's augmentations, or one drawn for every graph by itself (You et al., 2020).

    The names are those of its command line: ``dnodes`` (:class:`NodeDrop`), ``subgraph`` (:class:`Subgraph`),
    ``pedges`` (:class:`EdgePerturbation`), ``mask_nodes`` (:class:`AttributeMask`); ``random2`` draws from the first
    two, ``random3`` from the first three and ``random4`` from all, uniformly.

    Shapes: a ``Batch`` of N graphs to a ``Batch`` of N graphs.

    Args:
        choice: which.
        ratio: share of nodes to drop or mask, or of edges to replace, in [0, 1].
        kept: share of nodes that a subgraph keeps, in [0, 1].
        legacy: what the original code does instead, at its own shares; ``TUDataset``'s ``legacy`` sets it together with
            the self-loops that belong to it.

    Raises:
        ValueError: an unknown choice or a share outside [0, 1].
    """

    def __init__(self, choice: Choice, ratio: float = 0.1, kept: float = 0.2, legacy: bool = False) -> None:
        super().__init__()
        if choice not in get_args(Choice):
            raise ValueError(f"choice must be one of {', '.join(get_args(Choice))}, got {choice}")
        self.choice = choice
        check_ratio(kept, "kept")
        parts = [NodeDrop(ratio), Subgraph(kept), EdgePerturbation(ratio), AttributeMask(ratio)]
        combine: type[OneForEachGraph | RandomChoice] = OneForEachGraph
        if legacy:
            parts = [LegacyNodeDrop(), LegacySubgraph(), LegacyEdgePerturbation(), AttributeMask(0.1)]
            combine = RandomChoice
        names = get_args(Choice)[: len(parts)]
        self.augmentation = parts[names.index(choice)] if choice in names else combine(parts[: int(choice[-1])])
        if legacy and choice not in ("pedges", "mask_nodes"):
            self.augmentation = Compose([self.augmentation, WithoutIsolated()])

    def as_legacy(self) -> GraphCL:
        """The same choice as the original code makes it."""
        return GraphCL(self.choice, legacy=True)

    def forward(self, batch: Batch, generator: Generator) -> Batch:
        return self.augmentation(batch, generator)
