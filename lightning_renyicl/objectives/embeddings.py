"""What every objective does with embeddings first."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

_SMALLEST_NORM = 1e-6


def full_precision(x: Tensor) -> Tensor:
    """Float32 for half precision; float64 stays."""
    return x if x.dtype == torch.float64 else x.float()


def unit(x: Tensor) -> Tensor:
    """Embeddings of length 1, in float32 or float64.

    A (nearly) zero embedding becomes zero, without gradient: that of its direction would be 1 / |x|. NaN stays NaN.

    Shapes: ``[..., D]`` to the same.
    """
    x = full_precision(x)
    norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return torch.where(norm <= _SMALLEST_NORM, 0.0, x / norm.clamp_min(_SMALLEST_NORM))


def check_views(online: Sequence[Tensor], target: Sequence[Tensor]) -> None:
    """Raises ValueError unless there are two or more online views and two targets."""
    if len(online) < 2 or len(target) != 2:
        raise ValueError(f"expected at least 2 online and exactly 2 target views, got {len(online)}, {len(target)}")


def check_two_views(method: object, online: Sequence[Tensor], target: Sequence[Tensor]) -> None:
    """Raises ValueError unless there are exactly two views.

    Args:
        method: the objective, whose class is named.
        online: embeddings, one a view.
        target: embeddings of the two global views.
    """
    check_views(online, target)
    if len(online) > 2:
        raise ValueError(
            f"{type(method).__name__} compares two views, got {len(online)}: it has no use for local views"
        )
