"""CovType and Higgs, from small files in their sites' format."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import torch

from datamodules import CovType, Higgs
from datamodules.augmentations import Identity, RandomMask

VIEWS = [Identity(), RandomMask(0.2)]


def covtype_lines(rows=140, seed=0):
    generator = np.random.default_rng(seed)
    for row in range(rows):
        numbers = generator.integers(-50, 3000, 10)
        wilderness, soil = np.eye(4, dtype=int)[row % 4], np.eye(40, dtype=int)[row % 40]
        yield ",".join(map(str, (*numbers, *wilderness, *soil, row % 7 + 1)))


def higgs_lines(rows=100, seed=0):
    generator = np.random.default_rng(seed)
    for row in range(rows):
        numbers = (f"{value:.6e}" for value in generator.normal(1, 2, 28))
        yield ",".join((f"{row % 2:.18e}", *numbers))


@pytest.fixture
def load(tmp_path, monkeypatch):
    """A data module of these lines, with room for few."""
    for name, value in {"ROWS": 140, "TRAINING_ROWS": 70, "TEST_ROWS": 7}.items():
        monkeypatch.setattr(CovType, name, value)
    for name, value in {"ROWS": 100, "ENOUGH": 80, "TEST_ROWS": 20, "TRAINING_ROWS": 30, "VALIDATION_ROWS": 10}.items():
        monkeypatch.setattr(Higgs, name, value)

    def _load(kind, lines):
        (tmp_path / kind.FILE).write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
        return kind(VIEWS, root=str(tmp_path))

    return _load


@pytest.fixture
def complaint(load):
    def _complaint(kind, lines):
        with pytest.raises(ValueError, match=r".") as error:
            _ = load(kind, lines).samples
        return str(error.value)

    return _complaint


@pytest.mark.parametrize(
    ("kind", "features", "cardinalities", "classes"), [(CovType, 12, (6, 42), 7), (Higgs, 28, (), 2)]
)
def test_answers_without_data(kind, features, cardinalities, classes):
    data = kind(VIEWS)
    assert (data.in_features, data.cardinalities, data.num_classes) == (features, cardinalities, classes)


def test_columns_of_covtype(load):
    lines = list(covtype_lines())
    samples = load(CovType, lines).samples
    values = np.array([line.split(",") for line in lines], dtype=float)
    train = samples.splits["train"].numpy()
    expected = (values[:, :10] - values[train, :10].mean(0)) / values[train, :10].std(0)
    np.testing.assert_allclose(samples.inputs[:, :10], expected, rtol=1e-4, atol=1e-5)
    assert samples.inputs[:, 10].tolist() == [row % 4 + 2 for row in range(140)]
    assert samples.inputs[:, 11].tolist() == [row % 40 + 2 for row in range(140)]
    assert samples.target.tolist() == [row % 7 for row in range(140)]


@pytest.mark.parametrize(("kind", "lines"), [(CovType, covtype_lines), (Higgs, higgs_lines)])
def test_more_rows_than_the_set_has(complaint, kind, lines):
    message = complaint(kind, lines(1000))
    assert f"{kind.FILE} has more than" in message
    assert message.endswith("it is another file")


def test_splits_of_covtype(load):
    data = load(CovType, covtype_lines())
    splits = data.samples.splits
    assert splits["test"].tolist() == list(range(70, 140))
    assert torch.cat((splits["train"], splits["val"])).sort().values.tolist() == list(range(70))
    assert data.samples.target[splits["val"]].tolist() == sorted(
        range(7), key=data.samples.target[splits["val"]].tolist().index
    )
    assert data.describe() == {"name": "CovType", "samples": {"train": 63, "val": 7, "test": 70}}


def test_splits_of_a_shorter_covtype(load):
    data = load(CovType, covtype_lines(110))
    splits, target = data.samples.splits, data.samples.target
    assert torch.cat(list(splits.values())).sort().values.tolist() == list(range(70))
    assert target[splits["test"]].bincount().tolist() == [1] * 7
    assert data.describe()["name"] == "CovType, 110 rows of 140"


def test_columns_of_higgs(load):
    lines = list(higgs_lines())
    samples = load(Higgs, lines).samples
    values = np.array([line.split(",") for line in lines], dtype=float)
    others = np.random.RandomState(1).permutation(80)
    used = np.sort(np.concatenate((others[:40], np.arange(80, 100))))
    train = np.sort(others[:30])
    expected = (values[used, 1:] - values[train, 1:].mean(0)) / values[train, 1:].std(0)
    np.testing.assert_allclose(samples.inputs, expected, rtol=1e-4, atol=1e-5)
    assert samples.target.tolist() == values[used, 0].tolist()
    assert used[samples.splits["train"].numpy()].tolist() == train.tolist()
    assert used[samples.splits["val"].numpy()].tolist() == sorted(others[30:40])
    assert used[samples.splits["test"].numpy()].tolist() == list(range(80, 100))


def test_splits_of_a_shorter_higgs(load):
    data = load(Higgs, higgs_lines(75))
    assert data.samples.splits["test"].tolist() == list(range(60, 75))
    assert torch.cat(list(data.samples.splits.values())).sort().values.tolist() == list(range(75))
    assert data.describe() == {"name": "Higgs, 75 rows of 100", "samples": {"train": 54, "val": 6, "test": 15}}


@pytest.mark.parametrize(("kind", "lines"), [(CovType, covtype_lines), (Higgs, higgs_lines)])
def test_test_rows_have_no_influence(load, kind, lines):
    before = load(kind, lines())
    train = before.samples.splits["train"]
    changed = list(lines())
    for row in range(len(changed) - 5, len(changed)):
        label, *rest = changed[row].split(",")
        changed[row] = ",".join((label, str(float(rest[0]) * 1e3), *rest[1:]))
    after = load(kind, changed)
    assert torch.equal(after.samples.inputs[train], before.samples.inputs[train])
    assert not torch.equal(after.samples.inputs, before.samples.inputs)


@pytest.mark.parametrize(("kind", "lines"), [(CovType, covtype_lines), (Higgs, higgs_lines)])
def test_scaler_comes_with_a_checkpoint(load, kind, lines):
    trained = load(kind, lines())
    numbers = trained.samples.inputs[:, : kind.NUMERIC]
    other = load(kind, lines(seed=1))
    other.load_state_dict({**trained.state_dict(), "position": 0})
    raw = other.load().inputs[:, : kind.NUMERIC]
    assert torch.equal(other.samples.inputs[:, : kind.NUMERIC], trained.scaler(raw))
    assert not torch.equal(trained.scaler(raw), numbers)


@pytest.mark.parametrize(("kind", "lines"), [(CovType, covtype_lines), (Higgs, higgs_lines)])
def test_preparation_is_what_encoding_does(load, kind, lines):
    data = load(kind, lines())
    raw, expected = data.load().inputs.double(), data.samples.inputs
    torch.testing.assert_close(data.preparation()(raw), expected)
    values = data.preparation().describe()["codes"].values()
    assert [max(codes.values()) + 1 for codes in values] == list(kind.CARDINALITIES)


def test_complaints_of_covtype(complaint):
    last = list(covtype_lines(69))
    assert "has 69 rows, fewer than the 70 for training" in complaint(CovType, last)
    lines = list(covtype_lines())
    unmarked = [*lines[:8], lines[8].replace(",1,0,0,0,", ",0,0,0,0,", 1), *lines[9:]]
    assert "row 9: not one wilderness is marked" in complaint(CovType, unmarked)
    labels = [*lines[:3], lines[3][:-1] + "8", *lines[4:]]
    assert "row 4: the last column is no label from 1 to 7" in complaint(CovType, labels)
    short = [*lines[:3], lines[3][:-2], *lines[4:]]
    assert "no table of 55 numbers or damaged" in complaint(CovType, short)


@pytest.mark.parametrize("value", ["", "x", "nan", "inf"])
def test_complaints_of_values(complaint, value):
    lines = list(higgs_lines())
    label, _, *rest = lines[5].split(",")
    message = complaint(Higgs, [*lines[:5], ",".join((label, value, *rest)), *lines[6:]])
    assert "HIGGS.csv.gz" in message
    assert "column 2" in message
    assert "row 6" in message.lower().replace("#", "")


def test_complaints_of_higgs(complaint):
    lines = list(higgs_lines())
    assert "row 2: the first column is no label, 0 or 1" in complaint(Higgs, [lines[0], "2" + lines[1][1:], *lines[2:]])


def test_no_file_and_no_network(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr(torch.hub, "download_url_to_file", refuse)
    with pytest.raises(FileNotFoundError, match=r"no HIGGS\.csv\.gz in .*get https.*put HIGGS\.csv\.gz"):
        _ = Higgs(VIEWS, root=str(tmp_path)).samples


def test_a_download_is_read(tmp_path, monkeypatch, load):
    content = gzip.compress("".join(f"{line}\n" for line in higgs_lines()).encode())

    def fetch(url, path, progress):
        with open(path, "wb") as file:
            file.write(content)

    monkeypatch.setattr(torch.hub, "download_url_to_file", fetch)
    assert len(Higgs(VIEWS, root=str(tmp_path / "data")).samples.target) == 60
