"""Linear probes on raw input and on frozen features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

LABELS_PER_CLASS = 10
DRAWS = 5

Array = NDArray[Any]
Scores = dict[str, float]


@torch.no_grad()
def features(datamodule: Any, encode: Callable[[Any], torch.Tensor], split: str) -> tuple[Array, Array]:
    """Features ``[M, D]`` and labels ``[M]`` of a split, in order and without augmentation."""
    batches = [datamodule.eval_batch(index) for index in datamodule.feature_dataloader(split)]
    x = torch.cat([encode(rows) for rows, _ in batches])
    return x.numpy(), torch.cat([target for _, target in batches]).numpy()


def probe(datamodule: Any, encode: Callable[[Any], torch.Tensor], seed: int) -> Scores:
    """Test accuracy of logistic regression on standardised features.

    Trained with all training labels (``all``), and with 10 labels a class (``few``, the mean of 5 draws). Its strength
    is scikit-learn's default: nothing is chosen on the test split.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = features(datamodule, encode, "train")
    x_test, y_test = features(datamodule, encode, "test")

    def accuracy(rows: Array) -> float:
        classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
        return float(classifier.fit(x[rows], y[rows]).score(x_test, y_test))

    few = []
    for draw in range(DRAWS):
        generator = np.random.default_rng([seed, draw])
        chosen = [generator.choice(np.flatnonzero(y == c), LABELS_PER_CLASS, replace=False) for c in np.unique(y)]
        few.append(accuracy(np.concatenate(chosen)))
    return {"all": accuracy(np.arange(len(y))), "few": float(np.mean(few))}


def map_2d(datamodule: Any, encode: Callable[[Any], torch.Tensor]) -> tuple[Array, Array]:
    """t-SNE ``[M, 2]`` of the test split's standardised features, and its labels."""
    from sklearn.manifold import TSNE
    from sklearn.preprocessing import StandardScaler

    x, y = features(datamodule, encode, "test")
    return TSNE(init="pca", random_state=0).fit_transform(StandardScaler().fit_transform(x)), y
