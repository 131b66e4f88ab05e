"""Augmentations of graphs: PyG ``Batch`` objects of N graphs to the same."""

from datamodules.graphs.augmentations.edge_perturbation import EdgePerturbation
from datamodules.graphs.augmentations.graphcl import GraphCL
from datamodules.graphs.augmentations.learned_choice import LearnedChoice
from datamodules.graphs.augmentations.nodes import AttributeMask, NodeDrop, Subgraph

__all__ = ["AttributeMask", "EdgePerturbation", "GraphCL", "LearnedChoice", "NodeDrop", "Subgraph"]
