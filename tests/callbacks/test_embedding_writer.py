"""``embeddings.parquet``: one line a sample, in order."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from datamodules import FakeTable
from lightning_renyicl.callbacks import EmbeddingWriter, embedding_writer


class OddTable(FakeTable):
    """The test split is 101 rows in no order; a few labels are unknown."""

    def load(self):
        samples = super().load()
        order = torch.randperm(len(samples.target), generator=torch.Generator().manual_seed(3))
        samples.splits["test"] = order[:101]
        samples.target[order[:4]] = -1
        return samples


@pytest.mark.parametrize("group", [1, 200, 2**24])
@pytest.mark.parametrize("batch_size", [50, 7, 101])
def test_rows_order_and_values(tmp_path, make, quiet_trainer, capsys, monkeypatch, batch_size, group):
    monkeypatch.setattr(embedding_writer, "GROUP", group)
    module, data = make(OddTable, num_samples=128, batch_size=batch_size)
    quiet_trainer(callbacks=[EmbeddingWriter()]).predict(module, data, return_predictions=False)
    frame = pd.read_parquet(tmp_path / "embeddings.parquet")
    assert list(frame.columns) == ["row", "target", *(f"feature_{i}" for i in range(16))]
    rows = data.samples.splits["test"]
    assert frame["row"].tolist() == rows.tolist()
    assert frame["target"].tolist() == data.samples.target[rows].tolist()
    assert frame["target"].tolist()[:4] == [-1] * 4
    with torch.no_grad():
        expected = module.eval()(data.samples.inputs[rows])
    found = torch.tensor(frame.filter(like="feature_").to_numpy())
    torch.testing.assert_close(found, expected)
    assert "101 embeddings of 16 features" in capsys.readouterr().out


class NamedTable(OddTable):
    """Rows that are called something."""

    names = tuple(f"sample {number}" for number in range(1000))


def test_names_of_samples(tmp_path, make, quiet_trainer, monkeypatch):
    monkeypatch.setattr(embedding_writer, "GROUP", 200)
    module, data = make(NamedTable, num_samples=128, batch_size=50)
    quiet_trainer(callbacks=[EmbeddingWriter()]).predict(module, data, return_predictions=False)
    frame = pd.read_parquet(tmp_path / "embeddings.parquet")
    assert list(frame.columns[:4]) == ["row", "name", "target", "feature_0"]
    assert frame["name"].tolist() == [f"sample {row}" for row in data.samples.splits["test"].tolist()]


class LabelledTable(NamedTable):
    """Rows with names of some type, whose labels have names, too."""

    names = pa.chunked_array([pa.array([None, *range(7, 1006)], pa.int32())])
    classes = ("no", "yes", "maybe", 3)


@pytest.mark.parametrize("group", [1, 2**24])
def test_names_of_labels(tmp_path, make, quiet_trainer, monkeypatch, group):
    monkeypatch.setattr(embedding_writer, "GROUP", group)
    module, data = make(LabelledTable, num_samples=128, batch_size=2)
    quiet_trainer(callbacks=[EmbeddingWriter()]).predict(module, data, return_predictions=False)
    table = pq.read_table(tmp_path / "embeddings.parquet")
    assert table.column_names[:5] == ["row", "name", "target", "target_name", "feature_0"]
    rows, target = data.samples.splits["test"].tolist(), table["target"].to_pylist()
    assert table["name"].to_pylist() == [data.names[row].as_py() for row in rows]
    assert table["name"].type == pa.int32()
    assert table["target_name"].to_pylist() == [None if label < 0 else str(data.classes[label]) for label in target]
    assert target[:4] == [-1] * 4


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


def test_a_failure_leaves_the_file_of_before(tmp_path, make, quiet_trainer, monkeypatch):
    monkeypatch.setattr(embedding_writer, "GROUP", 1)
    module, data = make(num_samples=128)
    trainer = quiet_trainer(callbacks=[EmbeddingWriter()])
    trainer.predict(module, data, return_predictions=False)
    before = (tmp_path / "embeddings.parquet").read_bytes()

    steps = iter(range(3))

    def fail(batch):
        if next(steps) == 2:
            raise RuntimeError("no memory")
        return {"features": torch.zeros(len(batch[1]), 3), "target": batch[1]}

    module.predict_step = fail
    with pytest.raises(RuntimeError, match="no memory"):
        trainer.predict(module, data, return_predictions=False)
    assert [path.name for path in tmp_path.iterdir()] == ["embeddings.parquet"]
    assert (tmp_path / "embeddings.parquet").read_bytes() == before


def test_the_same_writer_writes_again(tmp_path, make, quiet_trainer):
    module, data = make()
    trainer = quiet_trainer(callbacks=[EmbeddingWriter()])
    frames = []
    for _ in range(2):
        trainer.predict(module, data, return_predictions=False)
        frames.append(pd.read_parquet(tmp_path / "embeddings.parquet"))
    pd.testing.assert_frame_equal(*frames)
