"""A linear classifier by SGD, against a plain loop."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression as Reference
from sklearn.preprocessing import StandardScaler
from torch import nn

from lightning_renyicl.evaluation import LinearSGD
from lightning_renyicl.evaluation.protocol import LabeledFeatures


def samples(count, seed, classes=3, width=5, spread=1.0):
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(classes, width, generator=torch.Generator().manual_seed(99))
    target = torch.randint(classes, (count,), generator=generator)
    return LabeledFeatures(centres[target] * 3 + spread * torch.randn(count, width, generator=generator) + 7, target)


def loop(train, test, rate, epochs, batch_size, seed, weight_decay=0.0):
    """What one classifier gives, from torch's own layers."""
    mean, std = train.features.mean(0), train.features.std(0, correction=0)
    layer = nn.Linear(train.features.shape[1], 3)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.SGD(layer.parameters(), lr=rate, momentum=0.9, weight_decay=weight_decay)
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = rate * 0.2 ** sum(epoch >= int(epochs * share) for share in (0.8, 0.9, 0.95))
        for batch in torch.randperm(len(train.target), generator=generator).split(batch_size):
            logits = layer((train.features[batch] - mean) / std)
            optimizer.zero_grad()
            nn.functional.cross_entropy(logits, train.target[batch]).backward()
            optimizer.step()
    with torch.no_grad():
        return layer((test - mean) / std)


@pytest.mark.parametrize("weight_decay", [0.0, 0.05])
def test_one_rate_against_a_loop(weight_decay):
    train, val, test = samples(160, 0), samples(20, 1), samples(30, 2)
    protocol = LinearSGD([0.5], epochs=20, batch_size=16, weight_decay=weight_decay)
    found = protocol(train, val, test.features, 3, seed=4)
    expected = loop(train + val, test.features, 0.5, 20, 16, seed=4, weight_decay=weight_decay)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_few_samples_take_ten_steps_an_epoch():
    train, test = samples(67, 0), samples(30, 2).features
    found = LinearSGD([0.5], epochs=5)(train, samples(0, 1), test, 3, seed=4)
    torch.testing.assert_close(found, loop(train, test, 0.5, 5, 6, seed=4), rtol=1e-4, atol=1e-4)
    assert LinearSGD([0.5], epochs=5)(samples(3, 0), samples(0, 1), test, 3, seed=4).isfinite().all()


def test_a_single_epoch_has_the_whole_rate():
    train, val, test = samples(160, 0), samples(20, 1), samples(30, 2)
    once = LinearSGD([0.5], epochs=1, batch_size=16)(train, val, test.features, 3, seed=4)
    expected = loop(train + val, test.features, 0.5 / 0.2**3, 1, 16, seed=4)  # whose drops come before its epoch
    torch.testing.assert_close(once, expected, rtol=1e-4, atol=1e-4)


def test_the_rate_is_chosen_on_validation_samples():
    train, val, test = (samples(count, seed, spread=6.0) for seed, count in enumerate((160, 400, 30)))
    rates = [1e-4, 0.3, 1000.0]
    scores = [loop(train, val.features, rate, 10, 16, seed=4).argmax(1) for rate in rates]
    assert all((scores[1] != other).float().mean() > 0.02 for other in scores[::2])
    val = LabeledFeatures(val.features, scores[1])  # which only one of them gets all right
    found = LinearSGD(rates[::-1], epochs=10, batch_size=16)(train, val, test.features, 3, seed=4)
    expected = loop(train + val, test.features, 0.3, 10, 16, seed=4)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


def test_of_rates_that_are_equally_right_the_smallest_is_taken():
    train, val, test = samples(160, 0, spread=0.1), samples(20, 1, spread=0.1), samples(30, 2)
    assert all(torch.equal(loop(train, val.features, rate, 5, 16, 4).argmax(1), val.target) for rate in (0.1, 0.5))
    found = LinearSGD([0.5, 0.1], epochs=5, batch_size=16)(train, val, test.features, 3, seed=4)
    torch.testing.assert_close(found, loop(train + val, test.features, 0.1, 5, 16, seed=4), rtol=1e-4, atol=1e-4)


def test_rates_side_by_side_are_those_alone():
    train, test = samples(160, 0), samples(30, 2).features
    rates = LinearSGD().learning_rates
    protocol = LinearSGD(epochs=10, batch_size=16, weight_decay=0.01)
    together = protocol._fit(train, test, rates, 3, 4)
    for rate, found in zip(rates, together, strict=True):
        expected = loop(train, test, rate, 10, 16, seed=4, weight_decay=0.01)
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
    assert not torch.allclose(together[0], together[1], rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    ("rates", "correct", "message"),
    [
        ([0.1, 1.0, 10.0], [3, 2, 1], "the smallest of its learning rates, 0.1, on the validation split: a smaller"),
        ([0.1, 1.0, 10.0], [1, 2, 3], "the largest of its learning rates, 10, on the validation split: a larger"),
        ([0.1, 1.0, 10.0], [1, 3, 2], None),
        ([0.1, 1.0, 10.0], [3, 3, 1], None),  # the smallest is taken, and one within is as good
        ([0.1, 1.0, 10.0], [1, 3, 3], None),
        ([0.3], [], None),
    ],
)
def test_the_first_or_last_rate_is_warned_of(monkeypatch, rates, correct, message):
    """Of each rate the first of its validation scores are right, as many as ``correct`` says."""
    val, test = LabeledFeatures(torch.zeros(3, 2), torch.zeros(3, dtype=torch.long)), torch.zeros(1, 2)
    right = torch.tensor([1.0, 0.0])

    def fit(self, train, of, tried, num_classes, seed):
        if len(tried) == 1:
            return [torch.zeros(len(of), 2)]
        return [torch.where(torch.arange(3)[:, None] < count, right, right.flip(0)) for count in correct]

    monkeypatch.setattr(LinearSGD, "_fit", fit)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LinearSGD(rates)(val, val, test, 2, 0)
    assert len(caught) == (message is not None)
    for warning in caught:
        assert message in str(warning.message)
        assert "give learning_rates a wider grid" in str(warning.message)


@pytest.mark.slow
def test_default_rates_score_as_logistic_regression_does():
    """On the digits' pixels: rates from 1 to 5 alone are 0.8 points behind, these 0.2."""
    digits = load_digits()
    found, expected = [], []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(digits.target))
        parts = [torch.from_numpy(part) for part in np.split(order, [900, 1200])]
        x, y = torch.from_numpy(digits.data).float(), torch.from_numpy(digits.target)
        train, val, test = (LabeledFeatures(x[part], y[part]) for part in parts)
        scores = LinearSGD()(train, val, test.features, 10, seed)
        found.append((scores.argmax(1) == test.target).float().mean().item())
        expected.append(logistic_regression(train, val, test))
    assert np.mean(found) > np.mean(expected) - 0.005


def logistic_regression(train, val, test):
    """Test accuracy of scikit-learn's, its strength chosen on the validation samples."""

    def accuracy(fitted, other, strength):
        scaler = StandardScaler().fit(fitted.features.numpy())
        classifier = Reference(C=strength, max_iter=1000).fit(scaler.transform(fitted.features.numpy()), fitted.target)
        return classifier.score(scaler.transform(other.features.numpy()), other.target)

    strengths = [0.01, 0.1, 1.0, 10.0]
    best = strengths[int(np.argmax([accuracy(train, val, strength) for strength in strengths]))]
    return accuracy(train + val, test, best)


def test_test_labels_and_random_state_are_left_alone():
    state = torch.random.get_rng_state()
    train, val, test = samples(160, 0), samples(20, 1), samples(30, 2)
    before = copy.deepcopy((train, val, test))
    one, other = (LinearSGD(epochs=3)(train, val, test.features, 3, seed=0) for _ in range(2))
    assert torch.equal(one, other)
    assert torch.equal(torch.random.get_rng_state(), state)
    for was, now in zip(before, (train, val, test), strict=True):
        assert torch.equal(was.features, now.features)
        assert torch.equal(was.target, now.target)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_scale_and_place_of_features_do_not_matter(scale):
    train, val, test = (samples(count, seed) for seed, count in enumerate((50, 20, 30)))
    scaled = [LabeledFeatures(part.features * scale - 3 * scale, part.target) for part in (train, val, test)]
    protocol = LinearSGD([0.5], epochs=5)
    torch.testing.assert_close(
        protocol(*scaled[:2], scaled[2].features, 3, seed=0),
        protocol(train, val, test.features, 3, seed=0),
        rtol=1e-3,
        atol=1e-3,
    )


def test_a_constant_feature():
    train, val, test = (samples(count, seed) for seed, count in enumerate((50, 20, 30)))
    with_constant = [
        LabeledFeatures(nn.functional.pad(p.features, (0, 1), value=4.0), p.target) for p in (train, val, test)
    ]
    protocol = LinearSGD([0.5], epochs=5)
    torch.testing.assert_close(
        protocol(*with_constant[:2], with_constant[2].features, 3, seed=0),
        protocol(train, val, test.features, 3, seed=0),
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"learning_rates": []}, "learning_rates must be above 0"),
        ({"learning_rates": [1.0, 0.0]}, "learning_rates must be above 0"),
        ({"epochs": 0}, "epochs and batch_size must be at least 1"),
        ({"batch_size": 0}, "epochs and batch_size must be at least 1"),
    ],
)
def test_arguments_out_of_range(arguments, expected):
    with pytest.raises(ValueError, match=expected):
        LinearSGD(**arguments)
