"""What ``lightning predict`` leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import BasePredictionWriter

from lightning_renyicl.callbacks.rows import rows_seen


class EmbeddingWriter(BasePredictionWriter):
    """Writes representations to ``embeddings.parquet`` in the run folder.

    Columns: ``row`` (the sample's number in its data set), ``target`` (−1 where unknown), ``feature_0`` … On several
    processes each writes its share, ``embeddings-RANK.parquet``.
    """

    def __init__(self) -> None:
        super().__init__(write_interval="epoch")

    def write_on_epoch_end(
        self, trainer: Trainer, pl_module: LightningModule, predictions: Sequence[Any], batch_indices: Sequence[Any]
    ) -> None:
        import pandas as pd

        features = torch.cat([p["features"] for p in predictions]).float().cpu().numpy()
        frame = pd.DataFrame(features, columns=[f"feature_{i}" for i in range(features.shape[1])])
        frame.insert(0, "target", torch.cat([p["target"] for p in predictions]).cpu().numpy())
        frame.insert(0, "row", rows_seen(trainer.predict_dataloaders, len(frame)).numpy())
        share = f"-{trainer.global_rank}" if trainer.world_size > 1 else ""
        path = Path(trainer.default_root_dir) / f"embeddings{share}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        frame.to_parquet(path, index=False)
        print(f"{len(frame)} embeddings of {features.shape[1]} features: {path}")
