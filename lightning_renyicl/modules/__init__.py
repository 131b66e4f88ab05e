"""LightningModules: one base, one subclass a domain."""

from lightning_renyicl.modules.base import ContrastiveModule
from lightning_renyicl.modules.critic import CriticModule
from lightning_renyicl.modules.graph import GraphModule
from lightning_renyicl.modules.tabular import TabularModule
from lightning_renyicl.modules.vision import VisionModule

__all__ = ["ContrastiveModule", "CriticModule", "GraphModule", "TabularModule", "VisionModule"]
