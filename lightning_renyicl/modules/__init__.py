"""LightningModules: one base, one subclass a domain, and those that train with labels from a checkpoint on."""

from lightning_renyicl.modules.base import ContrastiveModule
from lightning_renyicl.modules.classifier import FineTuning, LinearEvaluation
from lightning_renyicl.modules.critic import CriticModule
from lightning_renyicl.modules.graph import GraphModule
from lightning_renyicl.modules.tabular import TabularModule
from lightning_renyicl.modules.vision import VisionModule

__all__ = [
    "ContrastiveModule",
    "CriticModule",
    "FineTuning",
    "GraphModule",
    "LinearEvaluation",
    "TabularModule",
    "VisionModule",
]
