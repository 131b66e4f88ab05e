"""Encoders without training logic: ResNet for images, MLP for rows, GIN for graphs."""

from lightning_renyicl.encoders.backbone import Backbone
from lightning_renyicl.encoders.column_embedding import ColumnEmbedding
from lightning_renyicl.encoders.gin import GIN
from lightning_renyicl.encoders.mlp import MLP
from lightning_renyicl.encoders.resnet import ResNet

__all__ = ["GIN", "MLP", "Backbone", "ColumnEmbedding", "ResNet"]
