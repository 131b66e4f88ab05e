"""Nested cross-validation of a support vector machine, with what its many fits have in common computed once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

COSTS = tuple(10.0**power for power in range(-3, 4))
"""The values of C that GraphCL's experiments choose from."""

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Fold:
    """What came out of one outer fold.

    Attributes:
        accuracy: fraction of its test samples that were given their own class.
        validation: mean accuracy over the inner folds at the chosen cost, which lie in the training samples.
        cost: the chosen cost.
        test: its test samples, ``[T]``.
        predictions: labels given to them, ``[T]``.
    """

    accuracy: float
    validation: float
    cost: float
    test: Rows
    predictions: NDArray[np.int64]


def nested_svm(features: Tensor, target: Tensor, seed: int, folds: int = 10, inner_folds: int = 5) -> list[Fold]:
    """Accuracy of an RBF support vector machine in nested, stratified cross-validation.

    In every outer fold the cost C is chosen from :data:`COSTS` by the mean accuracy over inner folds of the training
    samples, the smallest of the best; then the machine is fitted to all training samples and scored on the fold. The
    kernel is exp(−γ‖x − y‖²) with γ = 1 / (F · variance of the training features), scikit-learn's ``gamma="scale"``.

    The squared distances of M samples take 8 M² bytes, and every thread about as many again.

    The results are those of scikit-learn's ``GridSearchCV(SVC(), {"C": COSTS}, cv=inner)`` in each outer fold, where
    both are shuffled ``StratifiedKFold`` of the same seed, sooner: squared distances are computed once, a kernel matrix
    once for all values of C, and the fits are shared among torch's threads. GraphCL's inner folds are not shuffled, but
    its graphs are, once, before.

    Args:
        features: ``[M, F]``.
        target: labels, ``[M]``.
        seed: seed of all folds.
        folds: number of outer folds.
        inner_folds: number of inner folds, in which the cost is chosen.

    Returns:
        One result an outer fold.

    Raises:
        ValueError: what :func:`check` refuses.
    """
    from sklearn.model_selection import StratifiedKFold

    labels: NDArray[np.int64] = target.numpy()
    x: Array = features.double().numpy()
    check(features, target, folds, inner_folds)
    squares = squared_distances(x)
    outer = StratifiedKFold(folds, shuffle=True, random_state=seed % 2**32)
    # shuffled too: data sets are often sorted, and folds that are blocks of them would be unlike one another
    inner = StratifiedKFold(inner_folds, shuffle=True, random_state=seed % 2**32)

    def score(train: Rows, validation: Rows) -> Array:
        fitted = [labels[validation] == p for p in predictions(squares, x, labels, train, validation, COSTS)]
        return np.array([correct.mean() for correct in fitted])

    with ThreadPoolExecutor(torch.get_num_threads()) as pool, _cancelled_on_error(pool):
        splits = list(outer.split(x, labels))
        inner_scores = [
            [pool.submit(score, train[a], train[b]) for a, b in inner.split(train, labels[train])]
            for train, _ in splits
        ]

        def finish(fold: int) -> Fold:
            train, test = splits[fold]
            means = np.mean([future.result() for future in inner_scores[fold]], axis=0)
            best = int(means.argmax())
            (predicted,) = predictions(squares, x, labels, train, test, COSTS[best : best + 1])
            accuracy = float((predicted == labels[test]).mean())
            return Fold(accuracy, float(means[best]), COSTS[best], test, predicted)

        return list(pool.map(finish, range(folds)))


def check(features: Tensor, target: Tensor, folds: int, inner_folds: int) -> None:
    """Checks that :func:`nested_svm` can take what it is to be given.

    Raises:
        ValueError: features that are not finite; labels of which a fold, outer or inner, has fewer than two classes, to
            train on or to test.
    """
    if not features.isfinite().all():
        raise ValueError("features are not finite: the encoder has diverged")
    least = max(folds, math.ceil(inner_folds * folds / (folds - 1)))  # so many that inner folds are left of them
    counts = sorted(target.bincount().tolist(), reverse=True) if len(target) else []
    if sum(count >= least for count in counts) < 2:
        found = ", ".join(str(count) for count in counts if count) or "none"
        raise ValueError(
            f"{folds} folds with {inner_folds} in each need two classes with at least {least} labelled samples each, "
            f"got {found} of each class: evaluate more samples (held_out: 0 evaluates all graphs), take fewer folds, "
            "or leave this protocol out"
        )


@contextmanager
def _cancelled_on_error(pool: ThreadPoolExecutor) -> Iterator[None]:
    """Drops the fits that wait, where the pool would do them all before an interrupt is heard."""
    try:
        yield
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise


def squared_distances(x: Array) -> Array:
    """‖x_i − x_j‖², ``[M, M]``, as libsvm forms them."""
    squares = np.einsum("ij,ij->i", x, x)
    distances: Array = squares[:, None] + squares - 2 * (x @ x.T)
    np.fill_diagonal(distances, 0)
    return distances


def predictions(
    squares: Array, x: Array, labels: NDArray[np.int64], train: Rows, test: Rows, costs: tuple[float, ...]
) -> list[NDArray[np.int64]]:
    """Labels of the test rows from a machine fitted to the training rows, ``[T]`` for each cost."""
    import sklearn
    from sklearn.svm import SVC

    variance = x[train].var()
    gamma = 1 / (x.shape[1] * variance) if variance else 1.0
    kernel, across = (_exponential(squares[np.ix_(rows, train)], -gamma) for rows in (train, test))
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        # without a seed of its own a fit takes a number from NumPy's global state
        machines = (SVC(C=cost, kernel="precomputed", random_state=0).fit(kernel, labels[train]) for cost in costs)
        return [machine.predict(across) for machine in machines]


def _exponential(squares: Array, factor: float) -> Array:
    """exp(factor · squares), in place: with a large kernel the memory of a copy takes longer than its exponentials."""
    squares *= factor
    return np.exp(squares, out=squares)
