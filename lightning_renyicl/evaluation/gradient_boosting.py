"""Gradient-boosted trees on features."""

from __future__ import annotations

import torch
from torch import Tensor

from lightning_renyicl.evaluation.protocol import FeatureProtocol, LabeledFeatures


class GradientBoosting(FeatureProtocol):
    """scikit-learn's ``HistGradientBoostingClassifier`` at its defaults: on raw columns, what one would otherwise use.

    But for leaves: they have at least 20 samples, of fewer than 400 training samples at least a twentieth.

    Trees are added until the validation samples' loss has not fallen for ten of them; all of them without validation
    samples of the training samples' classes.

    Args:
        trees: largest number of trees for each class.

    Raises:
        ValueError: fewer than one tree.
    """

    name = "gradient_boosting"
    needs_val = True

    def __init__(self, trees: int = 500) -> None:
        if trees < 1:
            raise ValueError(f"trees must be at least 1, got {trees}")
        self.trees = trees

    def __call__(
        self, train: LabeledFeatures, val: LabeledFeatures, test: Tensor, num_classes: int, seed: int
    ) -> Tensor:
        from sklearn.ensemble import HistGradientBoostingClassifier

        known = torch.isin(val.target, train.target)  # their loss is of classes that can be given
        chosen_on = {"X_val": val.features[known].cpu().numpy(), "y_val": val.target[known].cpu().numpy()}
        stops = bool(known.any())
        boosting = HistGradientBoostingClassifier(
            max_iter=self.trees,
            early_stopping=stops,
            n_iter_no_change=10,
            min_samples_leaf=min(20, max(1, len(train.target) // 20)),
            random_state=seed % 2**32,
        )
        boosting.fit(train.features.cpu().numpy(), train.target.cpu().numpy(), **(chosen_on if stops else {}))
        scores = torch.zeros(len(test), num_classes, dtype=torch.float64)
        scores[:, torch.from_numpy(boosting.classes_)] = torch.from_numpy(boosting.predict_proba(test.cpu().numpy()))
        return scores
