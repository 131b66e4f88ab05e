"""Images that are set aside for a split that has none of its own."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Sequence

import numpy as np
from torch import Tensor

from datamodules.labels import some
from datamodules.splits import stratified_split

log = logging.getLogger(__name__)


def check_held_out(fraction: float) -> None:
    """Raises ValueError for a fraction that leaves too little to train on."""
    if not 0 <= fraction < 0.5:
        raise ValueError(f"held_out is a fraction of the images and must be in [0, 0.5), got {fraction}")


def set_aside(
    place: object, target: Tensor, classes: Sequence[str], fraction: float, index: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sets a part of the images aside, every class in proportion, always the same ones.

    Args:
        place: where the data lies, for messages.
        target: label of every image of the data, ``[M]``.
        classes: names of the labels.
        fraction: part of the images to set aside, as a fraction or as a whole number of them; 0 sets none aside.
        index: numbers of the images to split.

    Returns:
        Numbers of the images that stay, and of those set aside, in order.

    Raises:
        ValueError: too few images of a class to have some on both sides.
    """
    if fraction == 0:
        return index, index[:0]
    try:
        return stratified_split(target, fraction, index)
    except ValueError as error:
        labels = target[index].numpy()
        counts = np.bincount(labels[labels >= 0], minlength=len(classes))
        rare = [classes[number] for number in np.flatnonzero(counts == 1).tolist()]
        reason = f"there is one image of {some(rare)}" if rare else str(error)
        raise ValueError(
            f"{place}: {fraction} of {len(index)} images cannot be set aside, as each split needs images of every "
            f"class: {reason}"
        ) from error


def digest_of(parts: Iterable[object]) -> str:
    """A digest that tells whether the images that splits were cut from are those of before."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:32]


def warn_of_others(place: object, then: str, now: str) -> None:
    """Warns where splits were cut from other images in training, of which some may be set aside now."""
    if then != now:
        log.warning(
            "%s: the images are not those of the training, so that images which were trained on may be set aside for "
            "evaluation now: give each split a folder of its own",
            place,
        )
