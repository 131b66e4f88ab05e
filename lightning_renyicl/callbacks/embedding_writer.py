"""What ``lightning predict`` leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from lightning_renyicl.atomic import replacing
from lightning_renyicl.sample_order import sample_order

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

GROUP = 2**24
"""Numbers that are written at once, 64 MiB of them: what is in memory doesn't grow with the data."""


class EmbeddingWriter(Callback):
    """Writes representations to ``embeddings.parquet`` in the run folder.

    Columns: ``row`` (the sample's number in its data set), ``name`` (of data whose samples have ``names``, such as the
    files of images, or a table's column ``id``), ``target`` (−1 where unknown), ``target_name`` (of data that knows
    what its ``classes`` are called; null where unknown), ``feature_0`` … On several processes each writes its share,
    ``embeddings-RANK.parquet``. The file is there once it is whole.
    """

    def __init__(self) -> None:
        self._file = ExitStack()
        self._writer: ParquetWriter | None = None
        self._waiting: list[tuple[Tensor, Tensor]] = []  # features and targets that are not written yet
        self._rows = torch.empty(0)
        self._names: pa.ChunkedArray | None = None
        self._classes: Sequence[Any] = ()
        self._width = 0
        self._written = 0

    def on_predict_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        import pyarrow as pa

        self._rows, self._written, self._writer = sample_order(trainer.predict_dataloaders), 0, None
        data = trainer.datamodule  # type: ignore[attr-defined]
        names = getattr(data, "names", None)
        # of one type for the whole file
        self._names = names if names is None or isinstance(names, pa.ChunkedArray) else pa.chunked_array([names])
        self._classes = [str(label) for label in getattr(data, "classes", ())]

    def on_predict_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int, *_: int
    ) -> None:
        features = outputs["features"].float().cpu()
        self._waiting.append((features, outputs["target"].cpu()))
        if features.numel() * len(self._waiting) >= GROUP:  # batches are of one size but for the last
            self._write(self._path(trainer))

    def on_predict_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        path = self._path(trainer)
        if self._waiting:
            self._write(path)
        self._file.close()
        if self._writer is not None:
            print(f"{self._written} embeddings of {self._width} features: {path}")

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        self._waiting.clear()
        self._file.__exit__(type(exception), exception, exception.__traceback__)

    @staticmethod
    def _path(trainer: Trainer) -> Path:
        rank = f"-{trainer.global_rank}" if trainer.world_size > 1 else ""
        return Path(trainer.default_root_dir) / f"embeddings{rank}.parquet"

    def _write(self, path: Path) -> None:
        """Adds what is waiting to the file, which the first call opens."""
        import pandas as pd
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        features, target = (torch.cat(column) for column in zip(*self._waiting, strict=True))
        self._waiting.clear()
        rows = self._rows[self._written :][: len(target)]
        self._width = features.shape[1]
        frame = pd.DataFrame(features.numpy(), columns=[f"feature_{i}" for i in range(self._width)])
        frame.insert(0, "target", target.numpy())
        frame.insert(0, "row", rows.numpy())
        table = pa.Table.from_pandas(frame, preserve_index=False)
        if self._classes:
            labels = [self._classes[label] if label >= 0 else None for label in target.tolist()]
            table = table.add_column(2, "target_name", pa.array(labels, pa.string()))
        if self._names is not None:
            table = table.add_column(1, "name", self._names.take(pa.array(rows.numpy())))
        if self._writer is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = self._file.enter_context(replacing(path))
            self._writer = self._file.enter_context(ParquetWriter(partial, table.schema))
        self._writer.write_table(table)
        self._written += len(target)
