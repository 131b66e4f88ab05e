"""Objectives: variational bounds on (skew) KL and Rényi divergences, the modules that train on them, and labels."""

from lightning_renyicl.objectives.bounds import CPC, DV, MLCPC, NWJ, RMLCPC, Renyi
from lightning_renyicl.objectives.critic import CosineCritic
from lightning_renyicl.objectives.cross_entropy import CrossEntropy
from lightning_renyicl.objectives.objective import Context, Objective

__all__ = ["CPC", "DV", "MLCPC", "NWJ", "RMLCPC", "Context", "CosineCritic", "CrossEntropy", "Objective", "Renyi"]
