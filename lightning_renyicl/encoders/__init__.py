"""Encoders without training logic: ResNet and timm's networks for images, MLP for rows, GIN for graphs."""

from lightning_renyicl.encoders.backbone import Backbone
from lightning_renyicl.encoders.column_embedding import ColumnEmbedding
from lightning_renyicl.encoders.gin import GIN
from lightning_renyicl.encoders.mlp import MLP
from lightning_renyicl.encoders.resnet import ResNet
from lightning_renyicl.encoders.timm_model import TimmModel

__all__ = ["GIN", "MLP", "Backbone", "ColumnEmbedding", "ResNet", "TimmModel"]
