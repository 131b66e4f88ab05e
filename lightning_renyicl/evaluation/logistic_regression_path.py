"""Linear evaluation by logistic regression, as in transfer tasks."""

from __future__ import annotations

from typing import Literal

import torch
from lightning.pytorch.utilities import rank_zero_warn
from torch import Tensor
from torchmetrics.functional.classification import multiclass_confusion_matrix

from lightning_renyicl.accuracy import accuracies
from lightning_renyicl.evaluation.protocol import FeatureProtocol, LabeledFeatures
from lightning_renyicl.evaluation.softmax_regression import SoftmaxRegression, check_fits, warn_of_fits

PENALTIES = torch.logspace(5, -6, 45, dtype=torch.float64)
"""The strengths of the paper's transfer tasks, the strongest first."""


class LogisticRegressionPath(FeatureProtocol):
    """L2-regularised logistic regression over a path of 45 strengths (Kornblith et al., 2019; Chen et al., 2020).

    It minimises Σ cross-entropy + penalty/2 · |W|² by L-BFGS, for 45 penalties from 1e5 down to 1e-6, evenly spaced in
    their logarithms, each fit going on from the one before (scikit-learn's ``C`` is 1/penalty). The penalty of the best
    classifier on the validation samples, the largest of equals, is then used to fit one to training and validation
    samples. Features are not standardised, so that a penalty means what it does in the papers; in
    :class:`LogisticRegression` they are, and its few strengths, fitted by scikit-learn, serve quick comparisons.

    Everything runs where the features are, see :class:`SoftmaxRegression`. A warning says how many fits did not
    converge.

    Args:
        metric: accuracy that the penalty is chosen by: that which the data set is reported with.
        tolerance: entry of the mean loss's gradient, relative to the features' deviation, at which a fit ends.
        iterations: largest number of iterations of a fit.

    Raises:
        ValueError: a metric that is not known, a tolerance that is not above 0 or fewer than one iteration.
    """

    name = "logistic_regression_path"
    needs_val = True

    def __init__(
        self, metric: Literal["top1", "macro_top1"] = "top1", tolerance: float = 1e-6, iterations: int = 5000
    ) -> None:
        if metric not in ("top1", "macro_top1"):
            raise ValueError(f"metric must be top1 or macro_top1, got {metric}")
        check_fits(tolerance, iterations)
        self.metric = metric
        self.tolerance = tolerance
        self.iterations = iterations

    def __call__(
        self, train: LabeledFeatures, val: LabeledFeatures, test: Tensor, num_classes: int, seed: int
    ) -> Tensor:
        penalty = self.chosen(train, val, num_classes)
        both = train + val
        regression = SoftmaxRegression(both.features, both.target, self.tolerance, self.iterations)
        if not regression.fit(penalty):
            rank_zero_warn(f"{self.name}: the last fit did not reach its tolerance {self.tolerance:g}")
        return regression.probabilities(test, num_classes)

    def chosen(self, train: LabeledFeatures, val: LabeledFeatures, num_classes: int) -> float:
        """The penalty of the classifier that is best on the validation samples."""
        if not len(val.target):
            return float(PENALTIES[0])
        regression = SoftmaxRegression(train.features, train.target, self.tolerance, self.iterations)
        converged, scores = [], []
        for penalty in PENALTIES.tolist():
            converged.append(regression.fit(penalty))
            given = regression.probabilities(val.features, num_classes)
            confusion = multiclass_confusion_matrix(given, val.target, num_classes)
            scores.append(accuracies(confusion)[self.metric].item())
        warn_of_fits(self.name, converged, self.tolerance, self.iterations)
        return float(PENALTIES[scores.index(max(scores))])
