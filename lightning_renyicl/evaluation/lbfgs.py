"""Minimisation of a convex function by L-BFGS."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from torch import Tensor

PAIRS = 10
"""Steps that the inverse Hessian is read off, as many as in SciPy and scikit-learn."""
NOISE = 1e-6
"""Relative change of a function that may be rounding, of features in single precision."""
TRIALS = 30
"""Lengths of a step that are tried."""


def minimise(
    function: Callable[[Tensor], tuple[float, Tensor, bool]], start: Tensor, iterations: int
) -> tuple[Tensor, bool]:
    """Follows a convex function down by L-BFGS (Nocedal and Wright, 2006, algorithm 7.5) until it says that it is done.

    A step is as long as the quasi-Newton model says, and is shortened by the secant rule until it fulfils the
    approximate Wolfe condition of Hager and Zhang (2005), which asks for slopes where values differ by rounding alone:
    φ'(t) ≤ −0.8 φ'(0) and φ(t) ≤ φ(0) + ε. ``torch.optim.LBFGS`` compares curvature with an absolute constant, which
    drops the last steps of a tight fit, and begins each fit by a search from a step of length one over all variables.

    Args:
        function: gives the value, the gradient ``[V]`` and whether the minimum is near enough, of variables ``[V]``
            in whose units the curvature is about 1.
        start: variables to begin with, ``[V]``.
        iterations: largest number of steps.

    Returns:
        The variables, and whether the function said that it is done; False too where rounding allows no further step.
    """
    x, pairs = start, deque[tuple[Tensor, Tensor, float]](maxlen=PAIRS)
    value, gradient, done = function(x)
    for _ in range(iterations):
        if done:
            break
        direction = _descent(gradient, pairs)
        slope, length = (direction @ gradient).item(), 1.0
        for _ in range(TRIALS):
            there = x + length * direction
            value_there, gradient_there, done = function(there)
            slope_there = (direction @ gradient_there).item()
            if slope_there <= -0.8 * slope and value_there <= value + NOISE * abs(value):
                break
            length *= min(max(slope / (slope - slope_there), 0.1), 0.9)
        else:
            return x, False
        step, change = there - x, gradient_there - gradient
        if (curvature := (step @ change).item()) > 0:
            pairs.append((step, change, curvature))
        x, value, gradient = there, value_there, gradient_there
    return x, done


def _descent(gradient: Tensor, pairs: deque[tuple[Tensor, Tensor, float]]) -> Tensor:
    """Minus the inverse Hessian that the last steps tell of, times the gradient, ``[V]``."""
    direction, shares = -gradient, []
    for step, change, curvature in reversed(pairs):
        shares.append((step @ direction) / curvature)
        direction = direction - shares[-1] * change
    if pairs:
        _, change, curvature = pairs[-1]
        direction = direction * (curvature / (change @ change))
    for (step, change, curvature), share in zip(pairs, reversed(shares), strict=True):
        direction = direction + (share - (change @ direction) / curvature) * step
    return direction
