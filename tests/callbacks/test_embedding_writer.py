"""``embeddings.parquet``: one line a sample, in order."""

from __future__ import annotations

import pandas as pd
import pytest
import torch

from datamodules import FakeTable
from lightning_renyicl.callbacks import EmbeddingWriter


class OddTable(FakeTable):
    """The test split is 101 rows in no order; a few labels are unknown."""

    def load(self):
        samples = super().load()
        order = torch.randperm(len(samples.target), generator=torch.Generator().manual_seed(3))
        samples.splits["test"] = order[:101]
        samples.target[order[:4]] = -1
        return samples


@pytest.mark.parametrize("batch_size", [50, 7, 101])
def test_rows_order_and_values(tmp_path, make, quiet_trainer, capsys, batch_size):
    module, data = make(OddTable, num_samples=128, batch_size=batch_size)
    quiet_trainer(callbacks=[EmbeddingWriter()]).predict(module, data, return_predictions=False)
    frame = pd.read_parquet(tmp_path / "embeddings.parquet")
    assert list(frame.columns) == ["row", "target", *(f"feature_{i}" for i in range(16))]
    rows = data.samples.splits["test"]
    assert frame["row"].tolist() == rows.tolist()
    assert frame["target"].tolist() == data.samples.target[rows].tolist()
    assert frame["target"].tolist()[:4] == [-1] * 4
    with torch.no_grad():
        expected = module.eval()(data.samples.rows[rows])
    found = torch.from_numpy(frame.filter(like="feature_").to_numpy())
    torch.testing.assert_close(found, expected)
    assert "101 embeddings of 16 features" in capsys.readouterr().out


def test_half_precision_is_written_as_float32(tmp_path, make, quiet_trainer):
    module, data = make()
    quiet_trainer(callbacks=[EmbeddingWriter()], precision="bf16-true").predict(module, data, return_predictions=False)
    frame = pd.read_parquet(tmp_path / "embeddings.parquet")
    assert set(frame.filter(like="feature_").dtypes.astype(str)) == {"float32"}


def test_a_limit_on_batches(tmp_path, make, quiet_trainer):
    module, data = make(num_samples=128, batch_size=16)
    quiet_trainer(callbacks=[EmbeddingWriter()], limit_predict_batches=2).predict(
        module, data, return_predictions=False
    )
    frame = pd.read_parquet(tmp_path / "embeddings.parquet")
    assert frame["row"].tolist() == data.samples.splits["test"][:32].tolist()
