"""Mutual information: what trained critics tell of it, and what it is where distributions are known."""

from lightning_renyicl.mutual_information.correlated import CorrelatedGaussians
from lightning_renyicl.mutual_information.critics import JointCritic, SeparableCritic
from lightning_renyicl.mutual_information.metric import MutualInformation
from lightning_renyicl.objectives.ratios import log_ratio, row_log_ratio

__all__ = [
    "CorrelatedGaussians",
    "JointCritic",
    "MutualInformation",
    "SeparableCritic",
    "log_ratio",
    "row_log_ratio",
]
