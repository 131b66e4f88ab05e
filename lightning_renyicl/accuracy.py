"""Accuracies from a confusion matrix."""

from __future__ import annotations

from torch import Tensor


def accuracies(confusion: Tensor) -> dict[str, Tensor]:
    """Shares of samples that are given their own class.

    Args:
        confusion: counts of the samples of each class (row) that were given each class (column), ``[C, C]``.

    Returns:
        ``top1`` over all samples; ``macro_top1``, the mean over the classes of which there are samples. NaN of none.
    """
    correct, samples = confusion.diagonal(), confusion.sum(1)
    return {"top1": correct.sum() / samples.sum(), "macro_top1": (correct / samples).nanmean()}
