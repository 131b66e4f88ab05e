"""Linear evaluation by logistic regression."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch
from torch import Tensor

from lightning_renyicl.evaluation.protocol import FeatureProtocol, LabeledFeatures


class LogisticRegression(FeatureProtocol):
    """scikit-learn's ``LogisticRegression`` on standardised features, which draws nothing.

    It minimises |W|²/2 + c · (sum of the samples' cross-entropies) by L-BFGS. For every strength c a classifier is
    fitted to the training samples; the strength of the best on the validation samples, the smallest of equals, is then
    used to fit one to both; one strength alone needs no validation samples, and without any the smallest is used.
    Features are standardised with the mean and deviation of the samples fitted to.

    Args:
        strengths: strengths c to choose from, of which a larger one regularises less.
        iterations: largest number of iterations of a fit.

    Raises:
        ValueError: no strength, or one that is not above 0; fewer than one iteration.
    """

    name = "logistic_regression"

    def __init__(self, strengths: Sequence[float] = (0.02, 0.5), iterations: int = 100) -> None:
        if not strengths or min(strengths) <= 0:
            raise ValueError(f"strengths must be above 0, got {list(strengths)}")
        if iterations < 1:
            raise ValueError(f"iterations must be at least 1, got {iterations}")
        self.strengths = sorted(strengths)
        self.needs_val = len(self.strengths) > 1
        self.iterations = iterations

    def __call__(
        self, train: LabeledFeatures, val: LabeledFeatures, test: Tensor, num_classes: int, seed: int
    ) -> Tensor:
        strength = self.strengths[0]
        if len(self.strengths) > 1 and len(val.target):
            scores = self._fit(train, val.features, self.strengths, num_classes)
            correct = [(score.argmax(1) == val.target.cpu()).sum().item() for score in scores]
            strength = self.strengths[correct.index(max(correct))]
        return self._fit(train + val, test, [strength], num_classes)[0]

    def _fit(self, train: LabeledFeatures, test: Tensor, strengths: list[float], num_classes: int) -> list[Tensor]:
        """What classifiers of each strength give for other features, ``[M, C]`` each; 0 of a class without samples."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression as Classifier

        std, mean = torch.std_mean(train.features, dim=0, correction=0)
        std = torch.where(std > 1e-6 * mean.abs(), std, 1.0)  # what varies by rounding alone doesn't vary
        x, other = (((features - mean) / std).cpu().numpy() for features in (train.features, test))
        target = train.target.cpu().numpy()
        found = []
        classifier = Classifier(max_iter=self.iterations, warm_start=True)  # each goes on from the one before
        for strength in strengths:
            scores = torch.zeros(len(other), num_classes)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # where a fit is stopped decides on little
                classifier.set_params(C=strength).fit(x, target)
            scores[:, torch.from_numpy(classifier.classes_)] = torch.from_numpy(classifier.predict_proba(other)).float()
            found.append(scores)
        return found
