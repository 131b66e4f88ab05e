"""Which samples a pass over a split has seen."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def rows_seen(loader: Any, count: int) -> Tensor:
    """The rows in the data of the first ``count`` samples that this process got, ``[count]``.

    Samples come in the order in which the loader's sampler draws rows; limits on batches leave the last ones out.
    """
    return torch.cat([torch.as_tensor(row).reshape(-1) for row in loader.sampler])[:count]
