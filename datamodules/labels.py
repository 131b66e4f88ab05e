"""Labels of any kind as numbers of classes."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

log = logging.getLogger(__name__)


def sorted_labels(labels: set[Any]) -> list[Any]:
    """Labels sorted, as numbers if all of them are."""
    try:
        numbers = {label: float(label) for label in labels}
    except ValueError:
        return sorted(labels)
    return sorted(labels, key=lambda label: (math.isnan(numbers[label]), numbers[label], str(label)))


def numbers_of(labels: Sequence[Any], classes: Sequence[Any]) -> Tensor:
    """The place of every label among the classes, −1 for others and for None, ``[M]``; 1 and "1" are the same."""
    numbers = {str(label): number for number, label in enumerate(classes)}
    return torch.tensor([-1 if label is None else numbers.get(str(label), -1) for label in labels])


def classes_after(place: object, trained: list[str], own: list[str], predicting: bool) -> list[str]:
    """The classes that count with a checkpoint: the training's, so that a class keeps its number.

    But the data's own if the training had none, or if the data has none of the training's, unless predictions are
    asked for, which are of the training's classes whatever the data has.

    Args:
        place: where the data lies, for messages.
        trained: classes of the checkpoint.
        own: classes of the data.
        predicting: whether predictions are asked for.
    """
    if predicting or not own or {str(name) for name in own} & {str(name) for name in trained}:
        return trained
    if trained:
        log.warning("%s has none of the training's labels (%s): its own count", place, some(trained))
    return own


def warn_of_unknown(place: object, labels: Iterable[Any], classes: Sequence[Any]) -> None:
    """Warns of labels that are none of the classes, unless there are no classes."""
    known = {str(name) for name in classes}
    strange = sorted_labels({str(label) for label in labels if label is not None} - known) if classes else []
    if strange:
        log.warning("%s has labels that are none of the training's and count as unknown: %s", place, some(strange))


def some(names: Sequence[Any]) -> str:
    """The first of many names."""
    return ", ".join(map(str, names[:3])) + (" …" if len(names) > 3 else "")
