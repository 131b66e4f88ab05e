"""Labels of any kind as numbers of classes."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from lightning.pytorch.utilities import rank_zero_info
from torch import Tensor

from datamodules.text_form import text_form

log = logging.getLogger(__name__)

LONGEST = 60
"""Characters of a name that a message shows."""


def sorted_labels(labels: set[Any]) -> list[Any]:
    """Labels sorted, as numbers if all of them are."""
    try:
        numbers = {label: float(label) for label in labels}
    except ValueError:
        return sorted(labels)
    return sorted(labels, key=lambda label: (math.isnan(numbers[label]), numbers[label], str(label)))


def numbers_of(labels: Sequence[Any], classes: Sequence[Any]) -> Tensor:
    """The place of every label among the classes, −1 for others and for None, ``[M]``.

    A label that is none of the classes as it is written may be one in its text form: 1, "1" and 1.0 are the same.
    """
    numbers = {str(label): number for number, label in enumerate(classes)}
    forms = {text_form(label): number for number, label in enumerate(classes)}
    places = {label: numbers.get(str(label), forms.get(text_form(label), -1)) for label in set(labels)}
    places[None] = -1
    return torch.tensor([places[label] for label in labels])


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
    if predicting or not own or set(map(text_form, own)) & set(map(text_form, trained)):
        return trained
    if trained:
        log.warning("%s has none of the training's labels (%s): its own count", place, some(trained))
    return own


def warn_of_unknown(place: object, labels: Iterable[Any], classes: Sequence[Any]) -> None:
    """Warns of labels that are none of the classes, unless there are no classes."""
    known = set(map(text_form, classes))
    own = {str(label) for label in labels if label is not None}
    strange = sorted_labels({label for label in own if text_form(label) not in known}) if classes else []
    if strange:
        log.warning("%s has labels that are none of the training's and count as unknown: %s", place, some(strange))


def tell_unlabelled(place: object, count: int, total: int, samples: str, column: str = "") -> None:
    """Says in one line how many samples have no label, if there are any."""
    if count:
        where = f" in {column}" if column else ""
        rank_zero_info(f"{place}: {count:,} of {total:,} {samples} have no label{where}: no score counts them")


def some(names: Sequence[Any], most: int = 3) -> str:
    """The first of many names, each as long as can be read.

    >>> some(["a", " ", 3, "x" * 200], most=2), some(["y" * 200])[-3:]
    ("a, ' ' … (4 in all)", 'yy…')
    """
    shown = (str(name) if str(name).strip() else repr(name) for name in names[:most])
    line = ", ".join(name if len(name) <= LONGEST else f"{name[:LONGEST]}…" for name in shown)
    return f"{line} … ({len(names):,} in all)" if len(names) > most else line
