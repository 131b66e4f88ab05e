"""The nested support vector machine against scikit-learn's grid search on the same folds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from datamodules import TUDataset
from datamodules.augmentations import Identity
from lightning_renyicl.encoders import GIN
from lightning_renyicl.evaluation.nested_svm import COSTS, Fold, nested_svm
from lightning_renyicl.runs.cores import cores
from tests.benchmarks.timing import compare

SETS = {"MUTAG": 5, "PROTEINS": 5, "IMDB-BINARY": 5, "DD": 3, "NCI1": 3}
"""Outer folds of each set: the large ones take minutes with ten."""


def features_of(name: str, root: Path) -> tuple[torch.Tensor, torch.Tensor]:
    """Features of a GIN whose weights are as drawn and whose BatchNorm has seen the data."""
    torch.manual_seed(0)
    data = TUDataset(name, [Identity(), Identity()], root=str(root))
    encoder = GIN(data.in_features)
    batches = [data.samples.inputs[index] for index in torch.arange(len(data.samples.target)).split(128)]
    with torch.no_grad():
        for batch in batches:
            encoder(batch)
        return torch.cat([encoder.eval()(batch) for batch in batches]), data.samples.target


def against_grid_search(name: str, features: torch.Tensor, target: torch.Tensor, jobs: int | None) -> dict[str, Any]:
    """Seconds of scikit-learn with so many processes, one by default, over seconds of ours.

    Raises:
        AssertionError: predictions that differ.
    """
    x, labels = features.numpy(), target.numpy()
    predicted: dict[str, list[np.ndarray]] = {}

    def scikit_learn() -> None:
        predicted["theirs"] = []
        for train, test in StratifiedKFold(SETS[name], shuffle=True, random_state=0).split(x, labels):
            inner = StratifiedKFold(5, shuffle=True, random_state=0)
            search = GridSearchCV(SVC(), {"C": list(COSTS)}, cv=inner, n_jobs=jobs).fit(x[train], labels[train])
            predicted["theirs"].append(search.predict(x[test]))

    def ours() -> None:
        folds: list[Fold] = nested_svm(features, target, seed=0, folds=SETS[name])
        predicted["ours"] = [fold.predictions for fold in folds]

    result = compare(scikit_learn, ours, n=3)
    assert all(map(np.array_equal, predicted["ours"], predicted["theirs"])), f"{name}: other predictions"
    return result


def run(root: Path) -> dict[str, dict[str, Any]]:
    """Every set of ``root/graphs``, against ``GridSearchCV`` as it comes and with a process a core."""
    results: dict[str, dict[str, Any]] = {}
    for name in SETS:
        features, target = features_of(name, root / "graphs")
        for baseline, jobs in (("gridsearch", None), ("parallel_gridsearch", cores())):
            results[f"eval/svm_vs_{baseline}_{name}"] = against_grid_search(name, features, target, jobs)
    return results
