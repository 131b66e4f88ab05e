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
    between = (offset - whole).view(n, 1, height, 1)
    weights = torch.where(cubic.view(n, 1, 1, 1, 1), _weights(between, True), F.pad(_weights(between, False), (1, 1)))
    result = torch.full((n, channels, height, width), ROUNDING, device=batch.device)
    for i, weight in enumerate(weights.unbind(-1)):
        result.addcmul_(near[..., i : i + width], weight)
    place = torch.arange(width, device=batch.device) + 0.5 + offset.unsqueeze(2)  # [N, H, W]
    inside = (place >= 0) & (place < width)
    return torch.where(inside.unsqueeze(1), result.clamp_(0, 255).byte(), GREY)


def rotate(batch: Tensor, degrees: Tensor, cubic: bool) -> Tensor:
    """Turns images counter-clockwise about their centres by ``degrees``, ``[N]``."""
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
    columns, rows = (_taps(first.long(), length, cubic) for first, length in ((left, width), (top, height)))
    across, along = _weights(x - left, cubic).unbind(-1), _weights(y - top, cubic).unbind(-1)
    # the three bytes of a pixel as one number, so that each pixel is looked up once
    pixels = F.pad(batch.permute(0, 2, 3, 1), (0, 1)).view(torch.int32).flatten()  # [N·H·W]
    image = torch.arange(n, device=batch.device).view(n, 1, 1) * (height * width)
    places = torch.stack([row * width + image + column for row in rows for column in columns], -1)  # [N, H, W, T]
    weights = torch.stack([row * column for row in along for column in across], -1)
    found = pixels.take(places)
    moved = torch.stack([((found >> 8 * c & 255) * weights).sum(-1) for c in range(channels)], 1)  # [N, C, H, W]
    return torch.where(inside, (moved + ROUNDING).clamp_(0, 255).byte(), GREY)


def _taps(first: Tensor, length: int, cubic: bool) -> list[Tensor]:
    """The 2 or 4 pixels of a row that count for a place whose left or upper neighbour is ``first``."""
    return [(first + i).clamp_(0, length - 1) for i in ((-1, 0, 1, 2) if cubic else (0, 1))]


def _weights(place: Tensor, cubic: bool) -> Tensor:
    """Of 2 or 4 pixels for a place in 0..1 between the middle ones, ``[...]`` to ``[..., 2]`` or ``[..., 4]``."""
    if not cubic:
        return torch.stack((1 - place, place), -1)
    square, cube = place**2, place**3
    return torch.stack((2 * square - cube - place, 1 - 2 * square + cube, place + square - cube, cube - square), -1)
