"""Which samples a pass over a split sees."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def sample_order(loader: Any) -> Tensor:
    """The places in the data set of this process's samples, ``[M]``, in the order in which the loader's sampler draws.

    Limits on batches leave the last ones out.
    """
    drawn = [torch.as_tensor(index).reshape(-1) for index in loader.sampler]
    return torch.cat([torch.empty(0, dtype=torch.long), *drawn])
