"""Rows as they are in a file become what the network takes as the data module makes it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from datamodules import DigitsTable, Table
from datamodules.augmentations import Identity
from datamodules.tables.preparation import RowPreparation


@pytest.mark.parametrize("impute", [False, True])
def test_the_same_as_a_table(tmp_path, impute):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"a": generator.normal(1e9, 2, 50), "c": generator.choice(list("pq"), 50)})
    frame["b"] = generator.normal(0, 1, 50)
    if impute:
        frame.loc[::4, "b"] = np.nan
    frame.to_parquet(tmp_path / "x.parquet")
    data = Table([Identity()], str(tmp_path / "x.parquet"), impute=impute)
    preparation = data.preparation()
    codes = preparation.describe()["codes"]["c"]
    raw = np.stack([frame["a"], frame["b"], frame["c"].map(codes)], axis=1)
    assert preparation.in_columns == 3
    torch.testing.assert_close(preparation(torch.from_numpy(raw)), data.samples.inputs)


def test_a_missing_number_is_not_taken_for_the_mean_unless_it_may_be():
    rows = torch.tensor([[torch.nan]], dtype=torch.float64)
    assert RowPreparation(["a"], [1.0], [2.0], {})(rows).isnan().all()
    assert RowPreparation(["a"], [1.0], [2.0], {}, [0], impute=True)(rows).tolist() == [[0.0, 1.0]]


def test_the_same_as_digits():
    data = DigitsTable([Identity()])
    with pytest.raises(ValueError, match="fitted on training rows before"):
        data.preparation()
    expected = data.samples.inputs
    torch.testing.assert_close(data.preparation()(data.load().inputs.double()), expected)


def test_codes_in_words():
    described = RowPreparation([], [], [], {"c": ["x", None]}, impute=True).describe()
    assert described["codes"] == {"c": {"any other": 1, "x": 2, "missing": 3}}
