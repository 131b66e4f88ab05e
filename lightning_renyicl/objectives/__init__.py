"""Objectives: variational bounds on (skew) KL and Rényi divergences, and the modules that train on them."""

from lightning_renyicl.objectives.bounds import CPC, DV, MLCPC, NWJ, RMLCPC, Renyi
from lightning_renyicl.objectives.critic import CosineCritic
from lightning_renyicl.objectives.objective import Objective

__all__ = ["CPC", "DV", "MLCPC", "NWJ", "RMLCPC", "CosineCritic", "Objective", "Renyi"]
