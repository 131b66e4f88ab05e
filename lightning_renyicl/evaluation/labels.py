"""What evaluation asks of the data's labels."""

from __future__ import annotations

OMIT_CALLBACK = "leave it out (--trainer.callbacks null leaves all out)"
"""What to do with a callback that the data has no labels for."""


def check_classes(callback: str, num_classes: int) -> None:
    """Checks that there are classes to tell apart.

    Raises:
        ValueError: fewer than two classes.
    """
    if num_classes < 2:
        raise ValueError(f"{callback} needs labels of two classes, and the data has {num_classes}: {OMIT_CALLBACK}")
