"""Few-shot episodes, against scikit-learn and the conditions of a minimum."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression as Reference

from lightning_renyicl.evaluation import episodes as module
from lightning_renyicl.evaluation.episodes import draw_episodes, episode_accuracies, fit_episodes


def samples(count=240, classes=8, width=24, spread=1.5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    target = torch.randint(classes, (count,), generator=generator)
    centres = torch.randn(classes, width, generator=generator)
    return 2 + centres[target] + spread * torch.randn(count, width, generator=generator), target


def scikit_learn(x, ways, penalty, **arguments):
    """Fitted to the samples of an episode, those of a class side by side."""
    classifier = Reference(C=1 / penalty, tol=1e-10, max_iter=10_000, **arguments)
    return classifier.fit(x, np.arange(ways).repeat(len(x) // ways))


@pytest.mark.parametrize("penalty", [0.1, 1.0, 30.0])
@pytest.mark.parametrize(("ways", "shots"), [(2, 1), (2, 4), (5, 1), (5, 5)])
def test_minima_are_scikit_learns(ways, shots, penalty):
    x = torch.randn(6, ways * shots, 9, generator=torch.Generator().manual_seed(ways), dtype=torch.float64) * 3 + 1
    weight = fit_episodes(x, ways, penalty)
    for episode, found in zip(x.numpy(), weight.numpy(), strict=True):
        expected = scikit_learn(episode, ways, penalty, solver="newton-cholesky")
        logits = episode @ found[:, :-1].T + found[:, -1]
        p = np.exp(logits - logits.max(1, keepdims=True))
        np.testing.assert_allclose(p / p.sum(1, keepdims=True), expected.predict_proba(episode), atol=1e-5)
        np.testing.assert_allclose(found.sum(0), 0, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_features_of_any_length(scale):
    """Where all of an episode's probabilities are near 0 and 1, or near 1/N."""
    x = scale * torch.randn(20, 10, 10, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weight = fit_episodes(x, 5, 1.0)
    logits = x @ weight[..., :-1].mT + weight[:, None, :, -1]
    error = logits.softmax(2) - torch.eye(5).repeat_interleave(2, 0)
    assert (error.mT @ x + weight[..., :-1]).abs().max() <= 1e-5
    assert error.sum(1).abs().max() <= 1e-5


@pytest.mark.parametrize("numbers", [1, 2**26])
@pytest.mark.parametrize(("ways", "shots", "width"), [(5, 1, 24), (5, 5, 24), (2, 3, 24), (5, 5, 4)])
def test_accuracies_are_scikit_learns(ways, shots, width, numbers, monkeypatch):
    monkeypatch.setattr(module, "NUMBERS", numbers)
    x, target = samples(width=width)
    places = draw_episodes(target, 12, ways, shots + 6, seed=3)
    found = episode_accuracies(x, places, shots, penalty=1.0)
    expected = []
    for episode in x[places].double().numpy():
        support, queries = (part.reshape(-1, width) for part in (episode[:, :shots], episode[:, shots:]))
        predicted = scikit_learn(support, ways, 1.0).predict(queries)
        expected.append((predicted == np.arange(ways).repeat(6)).mean())
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert 1 / ways < found.mean() < 1


def test_episodes_have_different_samples_of_different_classes():
    _, target = samples()
    places = draw_episodes(target, 300, 5, 9, seed=0)
    assert places.shape == (300, 5, 9)
    labels = target[places]
    assert (labels == labels[..., :1]).all()
    assert all(len(set(episode[:, 0].tolist())) == 5 for episode in labels)
    assert all(len(episode.unique()) == 45 for episode in places)
    assert torch.equal(places, draw_episodes(target, 300, 5, 9, seed=0))
    assert not torch.equal(places, draw_episodes(target, 300, 5, 9, seed=1))


def test_every_class_and_every_sample_is_as_likely():
    """Shares within five standard errors, of classes of very different size."""
    target = torch.tensor([0] * 4 + [1] * 6 + [2] * 40)
    places = draw_episodes(target, 9000, 2, 3, seed=0)
    for k, size in enumerate((4, 6, 40)):
        assert (target[places[..., 0]] == k).sum() == pytest.approx(6000, abs=5 * 45)
        for turn in range(3):  # also the last sample to be drawn
            counts = places[..., turn][target[places[..., turn]] == k].bincount(minlength=50)[target == k]
            expected = 6000 / size
            assert (counts - expected).abs().max() <= 5 * expected**0.5


def test_small_classes_take_no_part():
    target = torch.tensor([0] * 9 + [1] * 3 + [3] * 9)
    assert set(target[draw_episodes(target, 50, 2, 9, seed=0)].unique().tolist()) == {0, 3}
    with pytest.raises(ValueError, match=r"episodes of 3 classes with 9 samples each.* has 2 such classes of 3;"):
        draw_episodes(target, 50, 3, 9, seed=0)
