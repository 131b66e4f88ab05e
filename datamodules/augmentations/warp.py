"""Shifts, shears and turns of 8-bit image batches ``[N, C, H, W]``, each image by its own, as Pillow samples them.

A pixel of the result has what the image has at a place, between the pixels next to it by distance, or between four in a
row by Keys' cubic with a = −1; pixels beyond the edge are those on it, and a place outside the image is grey.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

GREY = 128
ROUNDING = 2**-13
"""More than sums in float32 fall below a whole number, which Pillow's in float64 reach."""


def slide(batch: Tensor, offset: Tensor, cubic: Tensor) -> Tensor:
    """Moves each row to the left.

    Args:
        batch: images ``[N, C, H, W]``.
        offset: pixels of each row, ``[N, H]``.
        cubic: which images to interpolate by a cubic, ``[N]``.
    """
    n, channels, height, width = batch.shape
    whole = offset.floor()
    column = torch.arange(-1, width + 2, device=batch.device) + whole.long().unsqueeze(2)
    column = column.clamp_(0, width - 1).unsqueeze(1).expand(n, channels, height, -1)
    near = batch.gather(3, column).float()  # [N, C, H, W + 3]
    weights = _weights(offset - whole, cubic).view(n, 1, height, 1, 4)
    result = torch.full((n, channels, height, width), ROUNDING, device=batch.device)
    for i, weight in enumerate(weights.unbind(-1)):
        result.addcmul_(near[..., i : i + width], weight)
    place = torch.arange(width, device=batch.device) + 0.5 + offset.unsqueeze(2)  # [N, H, W]
    inside = (place >= 0) & (place < width)
    return torch.where(inside.unsqueeze(1), result.clamp_(0, 255).byte(), GREY)


def rotate(batch: Tensor, degrees: Tensor, cubic: Tensor) -> Tensor:
    """Turns images counter-clockwise about their centres.

    Args:
        batch: images ``[N, C, H, W]``.
        degrees: of each image, ``[N]``.
        cubic: which images to interpolate by a cubic, ``[N]``.
    """
    n, channels, height, width = batch.shape
    angle = degrees.deg2rad().view(n, 1, 1)
    cos, sin = angle.cos(), angle.sin()
    right = torch.arange(width, device=batch.device) + 0.5 - width / 2
    down = (torch.arange(height, device=batch.device) + 0.5 - height / 2).unsqueeze(1)
    x = cos * right - sin * down + width / 2  # [N, H, W]
    y = sin * right + cos * down + height / 2
    inside = ((x >= 0) & (x < width) & (y >= 0) & (y < height)).unsqueeze(1)
    x, y = x - 0.5, y - 0.5
    left, top = x.floor(), y.floor()
    near = torch.arange(-1, 3, device=batch.device, dtype=torch.int32)
    first = torch.arange(n, device=batch.device, dtype=torch.int32).mul_(height * width).view(n, 1, 1, 1)
    column = (left.int().unsqueeze(3) + near).clamp_(0, width - 1)  # [N, H, W, 4]
    row = (top.int().unsqueeze(3) + near).clamp_(0, height - 1).mul_(width).add_(first)
    # a sum of 16 weighted pixels for each place
    places = (row.unsqueeze(4) + column.unsqueeze(3)).view(-1, 16)
    weights = (_weights(y - top, cubic).unsqueeze(4) * _weights(x - left, cubic).unsqueeze(3)).view(-1, 16)
    pixels = batch.permute(0, 2, 3, 1).reshape(-1, channels).float()
    moved = F.embedding_bag(places, pixels, per_sample_weights=weights, mode="sum")
    moved = moved.view(n, height, width, channels).permute(0, 3, 1, 2)
    return torch.where(inside, (moved + ROUNDING).clamp_(0, 255).byte(), GREY)


def _weights(place: Tensor, cubic: Tensor) -> Tensor:
    """Of 4 pixels in a row for a place in 0..1 between the middle ones.

    Shapes: ``place`` ``[N, ...]`` and ``cubic`` ``[N]`` to ``[N, ..., 4]``.
    """
    square, cube = place**2, place**3
    by_cubic = torch.stack((2 * square - cube - place, 1 - 2 * square + cube, place + square - cube, cube - square), -1)
    by_distance = F.pad(torch.stack((1 - place, place), -1), (1, 1))
    return torch.where(cubic.view(-1, *[1] * place.ndim), by_cubic, by_distance)
