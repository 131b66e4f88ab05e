"""Images that are set aside for a split that has none of its own."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Sequence

import numpy as np
from torch import Tensor

from datamodules.splits import stratified_split

log = logging.getLogger(__name__)


def check_held_out(share: float) -> None:
    """Raises ValueError for a share that leaves too little to train on."""
    if not 0 <= share < 0.5:
        raise ValueError(f"held_out is a share of the images and must be in [0, 0.5), got {share}")


def set_aside(
    place: object, target: Tensor, classes: Sequence[str], share: float, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A share of the rows, or a number of them, every class in proportion, always the same ones.

    Args:
        place: of the data, for messages.
        target: label of every row of the data, ``[M]``.
        classes: names of the labels.
        share: to set aside; 0 sets none aside.
        rows: those to split.

    Returns:
        Rows that stay, and rows set aside, in order.

    Raises:
        ValueError: too few rows of a class to have some on both sides.
    """
    if share == 0:
        return rows, rows[:0]
    try:
        return stratified_split(target, share, rows)
    except ValueError as error:
        labels = target[rows].numpy()
        counts = np.bincount(labels[labels >= 0], minlength=len(classes))
        rare = [classes[number] for number in np.flatnonzero(counts == 1).tolist()]
        names = ", ".join(rare[:3]) + (" …" if len(rare) > 3 else "")
        reason = f"there is one image of {names}" if rare else str(error)
        raise ValueError(
            f"{place}: {share} of {len(rows)} images cannot be set aside, as each split needs images of every class: "
            f"{reason}"
        ) from error


def digest_of(parts: Iterable[object]) -> str:
    """What tells whether the images that splits were cut from are those of before."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:32]


def warn_of_others(place: object, then: str, now: str) -> None:
    """Warns where splits were cut from other images in training, of which some may be set aside now."""
    if then != now:
        log.warning(
            "%s: the images are not those of the training, so that images which were trained on may be set aside for "
            "evaluation now: give each split a folder of its own",
            place,
        )
