"""L2-regularised multinomial logistic regression, fitted again and again with other penalties."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from lightning.pytorch.utilities import rank_zero_warn
from torch import Tensor

from lightning_renyicl.evaluation.lbfgs import minimise

CURVATURE = 0.09
"""Typical p (1 − p) of a class, whose value matters little: it only chooses units."""


class SoftmaxRegression:
    """The minimum of Σ cross-entropy + penalty/2 · |W|² over weights W and intercepts, for penalties that follow.

    The intercepts are not penalised. Of two classes W is one vector, as in scikit-learn, whose ``C`` is 1/penalty.

    Features are centred and rotated onto their principal axes, which changes no prediction and no |W|. There an axis
    of variance s² has curvature of about 0.09 s² + penalty/M for each class (p (1 − p) of ten classes), and L-BFGS runs
    in units in which that is 1: it takes a tenth of the iterations that it takes on the features themselves. Each fit
    goes on from the one before. Products are in the features' precision, values of the function in float64.

    A fit has converged when no entry of the gradient of the mean loss is above ``tolerance``, in units of the features'
    root mean square about their mean where it is one of W.

    Args:
        features: ``[M, F]``.
        target: labels ``[M]`` in 0 … C − 1, of at least two classes.
        tolerance: largest entry of the gradient at which a fit has converged.
        iterations: largest number of iterations of a fit.
    """

    def __init__(self, features: Tensor, target: Tensor, tolerance: float, iterations: int) -> None:
        self.classes, self.target = target.unique(return_inverse=True)
        self.one_hot = F.one_hot(self.target, len(self.classes)).double()
        self.tolerance = tolerance
        self.iterations = iterations
        self.mean = features.double().mean(0).to(features.dtype)
        centred = features - self.mean
        triangle = torch.linalg.qr(centred, mode="r").R
        _, spread, self.axes = torch.linalg.svd(triangle, full_matrices=False)  # [R], [R, F]
        self.variance = spread.square() / len(features)
        self.unit = centred.square().mean().sqrt().clamp(min=torch.finfo(features.dtype).tiny)
        self.rotated = centred @ self.axes.mT  # [M, R]
        self.weight = features.new_zeros(len(self.classes), len(spread) + 1)  # intercepts last

    def fit(self, penalty: float) -> bool:
        """Goes on to the minimum of another penalty; gives whether the fit converged."""
        mu = penalty * (2 if len(self.classes) == 2 else 1) / len(self.target)
        curvature = F.pad(CURVATURE * self.variance + mu, (0, 1), value=CURVATURE)
        units = curvature.rsqrt()

        def function(x: Tensor) -> tuple[float, Tensor, bool]:
            weight, intercept = (x.view_as(self.weight) * units).split((len(self.variance), 1), dim=1)
            log_p = F.linear(self.rotated, weight, intercept[:, 0]).double().log_softmax(1)
            loss = F.nll_loss(log_p, self.target) + mu / 2 * weight.double().square().sum()
            error = ((log_p.exp() - self.one_hot) / len(self.target)).to(weight.dtype)  # p may be near 1
            by_weight, by_intercept = error.mT @ self.rotated + mu * weight, error.sum(0)
            largest = torch.maximum((by_weight @ self.axes).abs().max() / self.unit, by_intercept.abs().max())
            gradient = torch.cat((by_weight, by_intercept[:, None]), dim=1) * units
            return loss.item(), gradient.flatten(), largest.item() <= self.tolerance

        x, converged = minimise(function, (self.weight / units).flatten(), self.iterations)
        self.weight = x.view_as(self.weight) * units
        return converged

    def probabilities(self, features: Tensor, num_classes: int) -> Tensor:
        """What the last fit gives for other features, ``[m, num_classes]``; 0 of a class without samples."""
        given = self.logits(features).softmax(1)
        return given.new_zeros(len(features), num_classes).index_copy_(1, self.classes, given)

    def logits(self, features: Tensor) -> Tensor:
        """The last fit's logits of the classes that have samples for other features, ``[m, C]``."""
        return F.linear(features - self.mean, self.weight[:, :-1] @ self.axes, self.weight[:, -1])


def check_fits(tolerance: float, iterations: int) -> None:
    """Raises ValueError for a tolerance that is not above 0 or fewer than one iteration."""
    if tolerance <= 0 or iterations < 1:
        raise ValueError(f"tolerance must be above 0 and iterations at least 1, got {tolerance} and {iterations}")


def warn_of_fits(name: str, converged: list[bool], tolerance: float, iterations: int) -> None:
    """Says how many fits along a path did not converge, if any didn't.

    Args:
        name: what the fits are part of.
        converged: whether each fit has converged.
        tolerance: gradient at which a fit has converged.
        iterations: largest number of iterations of a fit.
    """
    if not all(converged):
        rank_zero_warn(
            f"{name}: {converged.count(False)} of {len(converged)} fits did not reach the tolerance "
            f"{tolerance:g} within {iterations} iterations"
        )
