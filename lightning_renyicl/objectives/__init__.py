"""Objectives: variational bounds on (skew) KL and Rényi divergences, other methods, and training with labels."""

from lightning_renyicl.objectives.barlow_twins import BarlowTwins
from lightning_renyicl.objectives.bounds import CPC, DV, MLCPC, NWJ, RMLCPC, Renyi
from lightning_renyicl.objectives.byol import BYOL
from lightning_renyicl.objectives.cbyol import CBYOL
from lightning_renyicl.objectives.clsa import CLSA
from lightning_renyicl.objectives.critic import CosineCritic
from lightning_renyicl.objectives.cross_entropy import CrossEntropy
from lightning_renyicl.objectives.dino import DINO
from lightning_renyicl.objectives.hcl import HCL
from lightning_renyicl.objectives.imix import IMix, IMixBYOL, IMixMoCo
from lightning_renyicl.objectives.infograph import InfoGraph
from lightning_renyicl.objectives.jsd import JSD
from lightning_renyicl.objectives.mine import MINE
from lightning_renyicl.objectives.moco import MoCo
from lightning_renyicl.objectives.moco_v3 import MoCoV3
from lightning_renyicl.objectives.nnclr import NNCLR
from lightning_renyicl.objectives.objective import Context, Mixing, Objective, Parts
from lightning_renyicl.objectives.rince import RINCE
from lightning_renyicl.objectives.rpc import RPC
from lightning_renyicl.objectives.supcon import SupCon
from lightning_renyicl.objectives.swav import SwAV
from lightning_renyicl.objectives.vicreg import VICReg
from lightning_renyicl.objectives.wpc import WPC

__all__ = [
    "BYOL",
    "CBYOL",
    "CLSA",
    "CPC",
    "DINO",
    "DV",
    "HCL",
    "JSD",
    "MINE",
    "MLCPC",
    "NNCLR",
    "NWJ",
    "RINCE",
    "RMLCPC",
    "RPC",
    "WPC",
    "BarlowTwins",
    "Context",
    "CosineCritic",
    "CrossEntropy",
    "IMix",
    "IMixBYOL",
    "IMixMoCo",
    "InfoGraph",
    "Mixing",
    "MoCo",
    "MoCoV3",
    "Objective",
    "Parts",
    "Renyi",
    "SupCon",
    "SwAV",
    "VICReg",
]
