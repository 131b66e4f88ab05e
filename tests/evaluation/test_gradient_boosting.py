"""Trees on features, against scikit-learn's own and their limits."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier

from lightning_renyicl.evaluation import GradientBoosting
from lightning_renyicl.evaluation.protocol import LabeledFeatures


def draw(count, seed):
    """Labels that no line tells apart."""
    features = torch.randn(count, 3, generator=torch.Generator().manual_seed(seed))
    return LabeledFeatures(features, (features[:, 0] * features[:, 1] > 0).long() * 2)  # label 1 never comes


def test_against_scikit_learn():
    train, val, test = draw(400, 0), draw(100, 1), draw(100, 2)
    scores = GradientBoosting(trees=30)(train, val, test.features, 4, seed=3)
    assert scores.shape == (100, 4)
    expected = HistGradientBoostingClassifier(max_iter=30, early_stopping=True, random_state=3)
    expected.fit(train.features, train.target, X_val=val.features.numpy(), y_val=val.target.numpy())
    np.testing.assert_allclose(scores[:, [0, 2]], expected.predict_proba(test.features))
    assert scores[:, [1, 3]].abs().max() == 0
    assert (scores.argmax(1) == test.target).float().mean() > 0.85


def test_stops_by_validation_samples():
    train, test = draw(400, 0), draw(100, 2)
    noise = LabeledFeatures(train.features, torch.randint(2, (400,), generator=torch.Generator().manual_seed(0)) * 2)
    few = GradientBoosting(trees=200)(noise, draw(100, 1), test.features, 3, seed=0)
    many = HistGradientBoostingClassifier(max_iter=200, early_stopping=False, random_state=0)
    many.fit(noise.features, noise.target)
    assert few.max() < many.predict_proba(test.features).max() - 0.1


def test_no_trees():
    with pytest.raises(ValueError, match="trees must be at least 1, got 0"):
        GradientBoosting(trees=0)


def test_a_class_that_only_validates_has_no_part():
    train, val, test = draw(400, 0), draw(100, 1), draw(100, 2)
    other = LabeledFeatures(val.features[:20] + 9, torch.full((20,), 3))
    torch.testing.assert_close(
        GradientBoosting(trees=30)(train, val + other, test.features, 4, seed=3),
        GradientBoosting(trees=30)(train, val, test.features, 4, seed=3),
    )


def test_all_trees_without_validation_samples():
    train, test = draw(400, 0), draw(100, 2)
    scores = GradientBoosting(trees=30)(train, draw(0, 1), test.features, 3, seed=3)
    expected = HistGradientBoostingClassifier(max_iter=30, early_stopping=False, random_state=3)
    expected.fit(train.features, train.target)
    np.testing.assert_allclose(scores[:, [0, 2]], expected.predict_proba(test.features))


def test_few_samples():
    """20 samples, which leaves of 20 cannot divide."""
    train, test = draw(20, 0), draw(100, 2)
    scores = GradientBoosting(trees=30)(train, draw(0, 1), test.features, 3, seed=3)
    assert scores.std(0).max() > 0.1
    expected = HistGradientBoostingClassifier(max_iter=30, early_stopping=False, min_samples_leaf=1, random_state=3)
    expected.fit(train.features, train.target)
    np.testing.assert_allclose(scores[:, [0, 2]], expected.predict_proba(test.features))
