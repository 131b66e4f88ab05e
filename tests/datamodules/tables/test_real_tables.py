"""Tables of the UCI and PMLB collections, as their sites have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from datamodules import CovType, Higgs, Table
from datamodules.augmentations import FeatureCorruption, Identity

pytestmark = pytest.mark.data
VIEWS = [Identity(), FeatureCorruption(0.2)]


@pytest.fixture
def folder(data_root):
    return Path(data_root) / "tables"


@pytest.mark.parametrize(
    ("name", "arguments", "rows", "features", "cardinalities", "classes"),
    [
        ("pmlb_letter.tsv.gz", {}, 20_000, 16, 0, 26),
        ("pmlb_sleep.tsv.gz", {}, 105_908, 13, 0, 5),
        ("pmlb_connect-4.tsv.gz", {}, 67_557, 42, 0, 3),
        ("adult_data.csv.gz", {"target": "income", "impute": True}, 32_561, 14, 8, 2),
    ],
)
def test_own_tables(folder, name, arguments, rows, features, cardinalities, classes):
    data = Table(VIEWS, str(folder / name), **({"target": "target"} | arguments))
    samples = data.samples
    assert samples.inputs.shape == (rows, features)
    assert samples.inputs.isfinite().all()
    assert (len(data.cardinalities), data.num_classes) == (cardinalities, classes)
    assert sum(len(part) for part in samples.splits.values()) == rows


def test_adult_against_pandas(folder):
    data = Table(
        VIEWS,
        str(folder / "adult_data.csv.gz"),
        target="income",
        test_file=str(folder / "adult_test.csv.gz"),
        impute=True,
    )
    frame = pd.concat(
        pd.read_csv(folder / f"adult_{part}.csv.gz", skipinitialspace=True, na_values="?") for part in ("data", "test")
    )
    frame.columns = frame.columns.str.strip()
    train = data.samples.splits["train"].numpy()
    for number, name in enumerate(data.columns.numeric):
        values = frame[name].to_numpy(dtype=float)
        expected = (values - values[train].mean()) / values[train].std()
        np.testing.assert_allclose(data.samples.inputs[:, number], expected, rtol=1e-4, atol=1e-5)
    for number, (name, values) in enumerate(zip(data.columns.categorical, data.columns.categories, strict=True)):
        codes = data.samples.inputs[:, len(data.columns.numeric) + number].long()
        decoded = [None, "?", *values]
        found = pd.Series([decoded[code] for code in codes])
        known = frame[name].isin([value for value in values if value is not None]).to_numpy()
        assert (found[known].to_numpy() == frame[name].to_numpy()[known]).all()
        assert (known | frame[name].isna().to_numpy() | (codes == 1).numpy()).all()
    assert data.classes == ["<=50K", ">50K"]
    assert data.samples.target.tolist() == (frame["income"] == ">50K").astype(int).tolist()


def test_covtype(folder):
    data = CovType(VIEWS, root=str(folder))
    assert data.describe() == {
        "name": "CovType, 20,000 rows of 581,012",
        "samples": {"train": 10_800, "val": 1_200, "test": 3_120},
    }
    raw = pd.read_csv(folder / "covtype.data.gz", header=None).to_numpy()
    samples = data.samples
    assert samples.target.tolist() == (raw[:, 54] - 1).tolist()
    assert torch.equal(
        samples.inputs[:, 10:].long() - 2,
        torch.from_numpy(np.stack((raw[:, 10:14].argmax(1), raw[:, 14:54].argmax(1)), 1)),
    )
    train = samples.splits["train"]
    np.testing.assert_allclose(samples.inputs[train, :10].mean(0), 0, atol=1e-5)
    counts = torch.stack([samples.target[rows].bincount() for rows in samples.splits.values()])
    assert (counts.amax(1) - counts.amin(1) <= 1).all()


def test_higgs(folder):
    data = Higgs(VIEWS, root=str(folder))
    assert data.describe() == {
        "name": "Higgs, 35,298 rows of 11,000,000",
        "samples": {"train": 25_416, "val": 2_823, "test": 7_059},
    }
    raw = pd.read_csv(folder / "HIGGS.csv.gz", header=None).to_numpy()
    samples = data.samples
    assert samples.target.tolist() == raw[:, 0].tolist()
    train = samples.splits["train"].numpy()
    expected = (raw[:, 1:] - raw[train, 1:].mean(0)) / raw[train, 1:].std(0)
    np.testing.assert_allclose(samples.inputs, expected, rtol=1e-3, atol=1e-4)
