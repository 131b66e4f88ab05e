"""Logistic regression over a path of strengths, against scikit-learn and the conditions of a minimum."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression as Reference
from sklearn.metrics import balanced_accuracy_score

from lightning_renyicl.evaluation import LabeledFeatures, LogisticRegressionPath
from lightning_renyicl.evaluation.logistic_regression_path import PENALTIES
from lightning_renyicl.evaluation.softmax_regression import SoftmaxRegression


def blobs(samples, classes=3, width=12, noise=3.0, seed=0, dtype=torch.float64):
    """Classes that overlap, with means far from 0 and columns of very different width."""
    generator = torch.Generator().manual_seed(seed)
    target = torch.randint(classes, (samples,), generator=generator) if classes > 3 else torch.arange(samples) % classes
    centres = 2 * torch.randn(classes, width, generator=torch.Generator().manual_seed(9))
    x = 5 + centres[target] + noise * torch.randn(samples, width, generator=generator)
    return LabeledFeatures((x * torch.logspace(-2, 1, width)).to(dtype), target)


def reference(penalty, **arguments):
    return Reference(C=1 / penalty, max_iter=100_000, **({"tol": 1e-9} | arguments))


def gradient(train, penalty, classes, weight, intercept):
    """Of the mean loss, in float64 loops over samples."""
    x, target = train.features.double().numpy(), train.target.numpy()
    by_weight, by_intercept = penalty * weight / len(x), np.zeros(classes)
    for row, label in zip(x, target, strict=True):
        logits = weight @ row + intercept
        p = np.exp(logits - logits.max())
        error = p / p.sum() - np.eye(classes)[label]
        by_weight, by_intercept = by_weight + np.outer(error, row) / len(x), by_intercept + error / len(x)
    return by_weight, by_intercept


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("more", ["samples", "columns"])
def test_probabilities_along_a_path_are_scikit_learns(classes, more):
    train, test = (
        blobs(n, classes, 8 if more == "samples" else 30, seed=n) for n in (50 if more == "samples" else 20, 15)
    )
    regression = SoftmaxRegression(train.features, train.target, 1e-11, 5000)
    for penalty in (1e3, 1.0, 0.1):
        assert regression.fit(penalty)
        expected = reference(penalty, solver="newton-cholesky").fit(train.features, train.target)
        found = regression.probabilities(test.features, classes)
        np.testing.assert_allclose(found, expected.predict_proba(test.features), atol=1e-6)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-5), (torch.float64, 1e-9)])
def test_the_gradient_vanishes_as_far_as_is_said(dtype, tolerance):
    train = blobs(120, dtype=dtype)
    regression = SoftmaxRegression(train.features, train.target, tolerance, 5000)
    unit = (train.features - train.features.mean(0)).square().mean().sqrt().item()
    for penalty in (100.0, 1.0, 1e-2):
        assert regression.fit(penalty)
        weight = (regression.weight[:, :-1] @ regression.axes).double()
        intercept = regression.weight[:, -1].double() - weight @ regression.mean.double()
        by_weight, by_intercept = gradient(train, penalty, 3, weight.numpy(), intercept.numpy())
        by_weight -= np.outer(by_intercept, train.features.double().mean(0))  # of centred features
        rounding = 3e-6 if dtype == torch.float32 else 1e-12
        assert np.abs(by_weight).max() <= tolerance * unit + rounding
        assert np.abs(by_intercept).max() <= tolerance + rounding


def test_penalties_are_the_papers():
    np.testing.assert_allclose(PENALTIES, np.logspace(-6, 5, 45)[::-1])


def by_scikit_learn(train, val, metric="top1"):
    """Scores of every penalty on the validation samples."""
    scores = []
    for penalty in PENALTIES.tolist():
        given = reference(penalty, solver="newton-cholesky").fit(train.features, train.target).predict(val.features)
        right = (given == val.target.numpy()).mean()
        scores.append(right if metric == "top1" else balanced_accuracy_score(val.target, given))
    return scores


@pytest.mark.parametrize("metric", ["top1", "macro_top1"])
def test_the_choice_is_scikit_learns(metric):
    train, val, test = (blobs(n, 3, 6, 6.0, seed) for seed, n in enumerate((60, 3000, 60)))
    few = (val.target < 2) | (torch.arange(3000) % 10 == 0)  # so that both accuracies differ
    val = LabeledFeatures(val.features[few], val.target[few])
    scores = by_scikit_learn(train, val, metric)
    penalty = PENALTIES[int(np.argmax(scores))].item()
    protocol = LogisticRegressionPath(metric, tolerance=1e-8)
    assert protocol.chosen(train, val, 3) == penalty
    both = train + val
    expected = reference(penalty, solver="newton-cholesky").fit(both.features, both.target)
    found = protocol(train, val, test.features, 3, 0)
    np.testing.assert_allclose(found, expected.predict_proba(test.features), atol=1e-6)


def test_digits_in_single_precision():
    """Real scans of 4 x 4 pixels, of which half are given any label, so that the strength matters."""
    x, y = load_digits(n_class=4, return_X_y=True)
    x = x.reshape(-1, 4, 2, 4, 2).mean((2, 4)).reshape(-1, 16)
    generator = np.random.default_rng(0)
    order = generator.permutation(len(x))
    label = np.where(generator.random(len(y)) < 0.5, y, generator.integers(4, size=len(y)))
    train, val, test = (
        LabeledFeatures(torch.tensor(x[part], dtype=torch.float32) / 16, torch.tensor(label[part]))
        for part in (order[:200], order[200:500], order[500:])
    )
    with warnings.catch_warnings(action="error"):  # also of fits that do not converge
        found = LogisticRegressionPath()(train, val, test.features, 4, 0)
    exact = [LabeledFeatures(part.features.double(), part.target) for part in (train, val, test)]
    penalty = PENALTIES[int(np.argmax(by_scikit_learn(*exact[:2])))].item()
    assert LogisticRegressionPath().chosen(train, val, 4) == penalty
    both = exact[0] + exact[1]
    expected = reference(penalty, solver="newton-cholesky").fit(both.features, both.target)
    np.testing.assert_allclose(found, expected.predict_proba(exact[2].features), atol=1e-4)


def test_lengths_of_features_are_part_of_the_protocol():
    """Ten times the features is a hundredth of the penalty."""
    train, test = blobs(90), blobs(60, seed=2).features
    found = []
    for factor in (1, 10):
        regression = SoftmaxRegression(factor * train.features, train.target, 1e-10, 5000)
        assert regression.fit(0.5 * factor**2)
        found.append(regression.probabilities(factor * test, 3))
    torch.testing.assert_close(*found, rtol=0, atol=1e-6)


def test_classes_without_samples_and_columns_that_do_not_vary():
    train, test = blobs(90), blobs(60, seed=2)
    scores = []
    for column in (torch.empty(90, 0), torch.full((90, 1), 0.1)):
        regression = SoftmaxRegression(torch.cat((train.features, column), 1), 2 * train.target, 1e-9, 5000)
        assert regression.fit(1.0)
        scores.append(regression.probabilities(torch.cat((test.features, column[:60]), 1), 6))
    assert scores[0].shape == (60, 6)
    assert not scores[0][:, 1::2].any()
    torch.testing.assert_close(*scores, rtol=0, atol=1e-6)


def test_without_validation_samples_the_strongest():
    train, val = blobs(30), blobs(0, 3)
    found = LogisticRegressionPath(tolerance=1e-9)(train, val, train.features, 3, 0)
    regression = SoftmaxRegression(train.features, train.target, 1e-9, 5000)
    regression.fit(1e5)
    torch.testing.assert_close(found, regression.probabilities(train.features, 3))


def test_fits_that_do_not_converge():
    train, val = blobs(90), blobs(30, seed=1)
    with pytest.warns(UserWarning, match="did not reach"):
        LogisticRegressionPath(iterations=1)(train, val, val.features, 3, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "top5"}, "metric must be top1 or macro_top1, got top5"),
        ({"tolerance": 0.0}, "tolerance must be above 0 and iterations at least 1, got 0.0 and 5000"),
        ({"iterations": 0}, "tolerance must be above 0 and iterations at least 1, got 1e-06 and 0"),
    ],
)
def test_impossible_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        LogisticRegressionPath(**arguments)
