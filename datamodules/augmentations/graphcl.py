"""GraphCL's choice of augmentations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from torch import Generator

from datamodules.augmentations.base import Augmentation, Compose, RandomChoice
from datamodules.augmentations.edge_perturbation import EdgePerturbation
from datamodules.augmentations.graph import AttributeMask, NodeDrop, Subgraph
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
        check_ratio(ratio)
        check_ratio(kept, "kept")
        parts: dict[str, Augmentation] = {
            "dnodes": LegacyNodeDrop() if legacy else NodeDrop(ratio),
            "subgraph": LegacySubgraph() if legacy else Subgraph(kept),
            "pedges": LegacyEdgePerturbation() if legacy else EdgePerturbation(ratio),
            "mask_nodes": AttributeMask(0.1 if legacy else ratio),
        }
        several = {f"random{n}": RandomChoice(list(parts.values())[:n]) for n in (2, 3, 4)}
        known = {**parts, **several}
        if choice not in known:
            raise ValueError(f"choice must be one of {', '.join(known)}, got {choice}")
        self.choice = choice
        self.augmentation = known[choice]
        if legacy and choice not in ("pedges", "mask_nodes"):
            self.augmentation = Compose([self.augmentation, WithoutIsolated()])

    def as_legacy(self) -> GraphCL:
        """The same choice as the original code makes it."""
        return GraphCL(self.choice, legacy=True)

    def forward(self, batch: Batch, generator: Generator) -> Batch:
        return self.augmentation(batch, generator)
