"""Columns that only count the rows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

FEWEST = 10
"""Rows from which on a column that counts them is hardly so by chance."""


def is_index(name: str) -> bool:
    """Whether a column has no name, or one that pandas gives the index of its rows.

    >>> [is_index(name) for name in ("", "Unnamed: 0", "Unnamed: 0.1", "__index_level_0__", "index")]
    [True, True, True, True, False]
    """
    return re.fullmatch(r"|Unnamed: \d+(\.\d+)*|__index_level_\d+__", name) is not None


def counts_rows(values: NDArray[Any]) -> bool:
    """Whether numbers ``[M]`` rise or fall by 1 from row to row, or are such ones in another order.

    >>> [counts_rows(np.array(values)) for values in (range(5, 15), [*range(9), 7], range(3))]
    [True, False, False]
    """
    if len(values) < FEWEST or not np.isfinite(values).all() or values.max() - values.min() != len(values) - 1:
        return False
    return bool((np.diff(np.sort(values)) == 1).all())
