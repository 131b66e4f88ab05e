"""What arguments of objectives have to be."""

from __future__ import annotations

import math


def check_above_zero(**values: float) -> None:
    """Raises ValueError that names an argument unless all are finite numbers above 0."""
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise ValueError(f"{name} must be a finite number above 0, got {value}")


def check_not_negative(**values: float) -> None:
    """Raises ValueError that names an argument unless all are finite numbers of at least 0."""
    for name, value in values.items():
        if not 0.0 <= value < math.inf:
            raise ValueError(f"{name} must be a finite number of at least 0, got {value}")
