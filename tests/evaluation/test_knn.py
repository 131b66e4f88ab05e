"""Nearest neighbours, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.neighbors import KNeighborsClassifier

from lightning_renyicl.evaluation import KNN
from lightning_renyicl.evaluation.protocol import LabeledFeatures


def draw(count, seed):
    generator = torch.Generator().manual_seed(seed)
    return LabeledFeatures(torch.randn(count, 6, generator=generator), torch.randint(4, (count,), generator=generator))


@pytest.mark.parametrize("pairs", [1, 500, 2**24])
@pytest.mark.parametrize(("neighbors", "temperature"), [(1, 0.07), (20, 0.07), (20, 1.0), (1000, 0.2)])
def test_against_scikit_learn(neighbors, temperature, pairs, monkeypatch):
    monkeypatch.setattr("lightning_renyicl.evaluation.knn.PAIRS", pairs)
    train, val, test = draw(101, 0), draw(20, 1), draw(30, 2).features
    both = train + val
    oracle = KNeighborsClassifier(
        min(neighbors, 121), metric="cosine", weights=lambda distance: np.exp((1 - distance) / temperature)
    )
    expected = oracle.fit(both.features.double(), both.target).predict_proba(test.double())
    found = KNN(neighbors, temperature)(train, val, test, 4, seed=0)
    torch.testing.assert_close(found / found.sum(1, keepdim=True), torch.from_numpy(expected).float())


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_lengths_do_not_matter(scale):
    train, val, test = draw(101, 0), draw(20, 1), draw(30, 2).features
    longer = LabeledFeatures(train.features * scale, train.target)
    torch.testing.assert_close(KNN()(longer, val, test, 4, seed=0), KNN()(train, val, test * scale, 4, seed=0))


def test_a_low_temperature_is_the_nearest():
    train, val, test = draw(101, 0), draw(20, 1), draw(30, 2).features
    found = KNN(20, 1e-4)(train, val, test, 4, seed=0)
    assert found.isfinite().all()
    assert torch.equal(found.argmax(1), KNN(1)(train, val, test, 4, seed=0).argmax(1))


@pytest.mark.parametrize("arguments", [{"neighbors": 0}, {"temperature": 0.0}])
def test_arguments_out_of_range(arguments):
    with pytest.raises(ValueError, match="must be above 0, got"):
        KNN(**arguments)
