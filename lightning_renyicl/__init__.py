"""Contrastive representation learning with the skew Rényi divergence on images, tables and graphs."""
