"""Digits as rows: standardised with training statistics, which travel in the state."""

from __future__ import annotations

import pytest
import torch

from datamodules import DigitsTable
from datamodules.augmentations import FeatureCorruption, Identity
from datamodules.tables.scaling import Standardizer


def digits():
    data = DigitsTable([FeatureCorruption(1.0), Identity()])
    data.setup()
    return data


def test_training_rows_are_standard_and_the_others_not_quite():
    samples = digits().samples
    train = samples.inputs[samples.splits["train"]]
    std, mean = torch.std_mean(train, dim=0, correction=0)
    torch.testing.assert_close(mean, torch.zeros(64), atol=1e-5, rtol=0)
    assert ((std - 1).abs() < 1e-4).logical_or(std == 0).all()
    assert samples.inputs[samples.splits["test"]].mean(0).abs().max() > 0.01


def test_splits_share_no_row_and_hold_every_digit():
    samples = digits().samples
    rows = torch.cat(list(samples.splits.values()))
    assert torch.equal(rows.sort().values, torch.arange(1797))
    assert [len(samples.splits[split]) for split in ("train", "val", "test")] == [1047, 300, 450]
    for split in samples.splits.values():
        assert samples.target[split].bincount().min() >= 28


def test_other_rows_do_not_matter():
    data, changed = digits(), digits()
    loaded = changed._loaded
    loaded.inputs[loaded.splits["test"]] += 100
    train = data.samples.splits["train"]
    assert torch.equal(data.samples.inputs[train], changed.samples.inputs[train])


def test_the_state_of_a_checkpoint_wins():
    data, fresh = digits(), digits()
    state = {**data.state_dict(), "scaler": {"mean": torch.ones(64), "std": torch.full((64,), 2.0)}}
    fresh.load_state_dict(state)
    raw = fresh._loaded.inputs.clone()
    torch.testing.assert_close(fresh.samples.inputs, (raw - 1) / 2)


def test_a_constant_column_is_left_unscaled():
    scaler = Standardizer()
    scaler.fit(torch.tensor([[1.0, 2.0], [1.0, 4.0]]))
    torch.testing.assert_close(scaler(torch.tensor([[2.0, 3.0]])), torch.tensor([[1.0, 0.0]]))


def test_an_unfitted_scaler_says_so():
    with pytest.raises(ValueError, match="fitted on training rows"):
        Standardizer()(torch.ones(1, 2))


def test_corruption_draws_from_encoded_training_rows():
    data = digits()
    views, _ = data.train_batch(data.samples.splits["train"][:32])
    train = data.samples.inputs[data.samples.splits["train"]]
    assert all(torch.isin(views[0][:, column], train[:, column]).all() for column in range(64))
