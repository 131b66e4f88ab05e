"""Logistic regression over a path of strengths, and in few-shot episodes, against scikit-learn's."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression as Reference

from lightning_renyicl.evaluation import LabeledFeatures, LogisticRegressionPath
from lightning_renyicl.evaluation.episodes import draw_episodes, episode_accuracies
from lightning_renyicl.evaluation.logistic_regression_path import PENALTIES
from tests.benchmarks.timing import compare

TOLERANCE = 1e-4  # scikit-learn's own; ours is relative to the features' deviation, here 0.15, so that ours is tighter


def features(samples: int, seed: int, width: int = 512, classes: int = 10) -> LabeledFeatures:
    """Made-up features whose mean, spectrum and overlap of classes are those of a ResNet-18's of CIFAR-10's images."""
    drawn = torch.Generator().manual_seed(0)  # what all splits share
    place = torch.arange(1, width + 1)
    mean = 0.3 + 0.13 * torch.randn(width, generator=drawn)
    centres = 0.5 * torch.randn(classes, width, generator=drawn) * place**-0.45
    axes = torch.linalg.qr(torch.randn(width, width, generator=drawn)).Q
    generator = torch.Generator().manual_seed(seed)
    target = torch.randint(classes, (samples,), generator=generator)
    x = (centres[target] + torch.randn(samples, width, generator=generator)) * 0.8 * place**-0.47
    return LabeledFeatures(mean + x @ axes, target)


def path() -> dict[str, Any]:
    """Seconds of scikit-learn over seconds of ours, for the choice among 45 strengths by 10,000 samples.

    Raises:
        AssertionError: another choice.
    """
    train, val = features(10_000, 1), features(2_000, 2)
    x, other = train.features.numpy(), val.features.numpy()
    chosen: dict[str, float] = {}

    def scikit_learn() -> None:
        classifier = Reference(max_iter=5000, tol=TOLERANCE, warm_start=True)
        scores = []
        for penalty in PENALTIES.tolist():
            classifier.set_params(C=1 / penalty).fit(x, train.target.numpy())
            scores.append(classifier.score(other, val.target.numpy()))
        chosen["theirs"] = PENALTIES[scores.index(max(scores))].item()

    def ours() -> None:
        chosen["ours"] = LogisticRegressionPath(tolerance=TOLERANCE).chosen(train, val, 10)

    result = compare(scikit_learn, ours, n=1)  # a minute of scikit-learn's
    assert chosen["ours"] == chosen["theirs"], f"other choices: {chosen}"
    return result


def few_shot(ways: int = 5, shots: int = 5, queries: int = 16) -> dict[str, Any]:
    """Seconds of scikit-learn over seconds of ours, for 2,000 episodes.

    Raises:
        AssertionError: a mean accuracy that differs by more than 0.2 points.
    """
    samples = features(4_000, 3)
    places = draw_episodes(samples.target, 2000, ways, shots + queries, 0)
    found: dict[str, float] = {}

    def scikit_learn() -> None:
        support, label = (np.arange(ways).repeat(count) for count in (shots, queries))
        classifier, correct = Reference(max_iter=1000, tol=TOLERANCE), []
        for episode in samples.features[places].numpy():
            classifier.fit(episode[:, :shots].reshape(len(support), -1), support)
            correct.append((classifier.predict(episode[:, shots:].reshape(len(label), -1)) == label).mean())
        found["theirs"] = float(np.mean(correct))

    def ours() -> None:
        found["ours"] = episode_accuracies(samples.features, places, shots, 1.0).mean().item()

    result = compare(scikit_learn, ours, n=1)
    assert abs(found["ours"] - found["theirs"]) <= 0.002, f"other accuracies: {found}"
    return result


def run() -> dict[str, dict[str, Any]]:
    """Both."""
    return {"eval/lbfgs_vs_sklearn": path(), "eval/fewshot_vs_sklearn": few_shot()}
