"""Pairs whose mutual information is known."""

from datamodules.pairs.distributions import DiscretePairs, GaussianPairs, Pairs, StudentPairs, UniformPairs, correlation
from datamodules.pairs.stepwise import StepwisePairs

__all__ = [
    "DiscretePairs",
    "GaussianPairs",
    "Pairs",
    "StepwisePairs",
    "StudentPairs",
    "UniformPairs",
    "correlation",
]
