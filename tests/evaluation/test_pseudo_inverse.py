"""Linear regression to one-hot labels, against NumPy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression

from lightning_renyicl.evaluation import PseudoInverse, pseudo_inverse
from lightning_renyicl.evaluation.protocol import LabeledFeatures


def draw(count, width=6, classes=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(count, width, generator=generator) * 10 ** torch.linspace(-2, 2, width) + 5
    return LabeledFeatures(features, torch.randint(classes, (count,), generator=generator))


def expected(train, test):
    """By the singular values of all samples at once."""
    x = np.pad(train.features.double().numpy(), ((0, 0), (0, 1)), constant_values=1)
    weight = np.linalg.lstsq(x, np.eye(3)[train.target.numpy()], rcond=None)[0]
    return torch.from_numpy(np.pad(test.double().numpy(), ((0, 0), (0, 1)), constant_values=1) @ weight)


@pytest.mark.parametrize("rows", [7, 50, 2**13])
def test_against_numpy(rows, monkeypatch):
    monkeypatch.setattr("lightning_renyicl.evaluation.pseudo_inverse.ROWS", rows)
    train, val, test = draw(101, seed=0), draw(20, seed=1), draw(30, seed=2).features
    found = PseudoInverse()(train, val, test, 3, seed=0)
    torch.testing.assert_close(found, expected(train + val, test), rtol=1e-8, atol=1e-8)
    fitted = LinearRegression().fit((train + val).features.double(), np.eye(3)[(train + val).target])
    torch.testing.assert_close(found, torch.from_numpy(fitted.predict(test.double())), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("rows", [7, 2**13])
def test_features_that_depend_on_each_other(rows, monkeypatch):
    monkeypatch.setattr("lightning_renyicl.evaluation.pseudo_inverse.ROWS", rows)

    def doubled(part):
        x = part.features
        return LabeledFeatures(torch.cat((x, x[:, :3], torch.zeros(len(x), 1), x[:, 3:4] * 2), dim=1), part.target)

    train, val, test = draw(101, seed=0), draw(20, seed=1), draw(30, seed=2)
    found = PseudoInverse()(doubled(train), doubled(val), doubled(test).features, 3, seed=0)
    torch.testing.assert_close(found, expected(train + val, test.features), rtol=1e-6, atol=1e-6)


def test_fewer_samples_than_features():
    train, val, test = draw(8, width=20), draw(5, width=20, seed=1), draw(30, width=20, seed=2).features
    found = PseudoInverse()(train, val, test, 3, seed=0)
    torch.testing.assert_close(found, expected(train + val, test), rtol=1e-6, atol=1e-6)
    both = train + val
    assert torch.equal(PseudoInverse()(train, val, both.features, 3, seed=0).argmax(1), both.target)


def test_with_one():
    assert pseudo_inverse.with_one(torch.tensor([[2.0, 3.0]])).tolist() == [[2, 3, 1]]
