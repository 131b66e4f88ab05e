"""Logistic regression as a protocol."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression as Reference
from sklearn.preprocessing import StandardScaler

from lightning_renyicl.evaluation import LogisticRegression
from lightning_renyicl.evaluation.protocol import LabeledFeatures


def blobs(samples, classes=3, width=6, noise=1.5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    target = torch.arange(samples) % classes
    means = 2 * torch.randn(classes, width, generator=torch.Generator().manual_seed(9))
    return LabeledFeatures(5 + means[target] + noise * torch.randn(samples, width, generator=generator), target)


def reference(train, test, strength):
    scaler = StandardScaler().fit(train.features.numpy())
    classifier = Reference(C=strength, max_iter=1000).fit(scaler.transform(train.features.numpy()), train.target)
    return torch.from_numpy(classifier.predict_proba(scaler.transform(test.numpy()))).double()


def test_probabilities_are_scikit_learns():
    train, val, test = blobs(90), blobs(30, seed=1), blobs(60, seed=2).features
    scores = LogisticRegression([0.1])(train, val, test, 3, 0)
    torch.testing.assert_close(scores.double(), reference(train + val, test, 0.1), rtol=0, atol=1e-2)


def test_the_strength_is_chosen_on_validation_samples():
    train, val, test = (blobs(n, width=30, noise=3.0, seed=seed) for seed, n in enumerate((60, 90, 60)))
    test = test.features
    strengths = [1e-4, 1e-2, 1.0]
    correct = [(reference(train, val.features, c).argmax(1) == val.target).sum().item() for c in strengths]
    best = strengths[int(np.argmax(correct))]
    assert correct.count(max(correct)) == 1  # so that the choice shows
    scores = LogisticRegression(strengths[::-1], iterations=1000)(train, val, test, 3, 0)
    torch.testing.assert_close(scores.double(), reference(train + val, test, best), rtol=0, atol=1e-2)


def test_columns_that_do_not_vary_and_classes_without_samples():
    train, val, test = blobs(90), blobs(30, seed=1), blobs(60, seed=2)
    constant = [
        LabeledFeatures(torch.cat((part.features, torch.full((len(part.target), 1), 0.1)), 1), part.target)
        for part in (train, val, test)
    ]
    scores = LogisticRegression()(train, val, test.features, 5, 0)
    again = LogisticRegression()(*constant[:2], constant[2].features, 5, 0)
    assert scores.shape == (60, 5)
    assert not scores[:, 3:].any()
    torch.testing.assert_close(scores, again, rtol=0, atol=1e-2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"strengths": []}, r"strengths must be above 0, got \[\]"),
        ({"strengths": [0.0]}, r"strengths must be above 0, got \[0.0\]"),
        ({"iterations": 0}, "iterations must be at least 1, got 0"),
    ],
)
def test_impossible_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        LogisticRegression(**arguments)
