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
    part = offset - whole
    zero, way = torch.zeros_like(part), cubic.unsqueeze(1)
    result = torch.full((n, channels, height, width), ROUNDING, device=batch.device)
    for i, (by_cubic, by_distance) in enumerate(zip(_cubic(part), (zero, *_linear(part), zero), strict=True)):
        weight = torch.where(way, by_cubic, by_distance).view(n, 1, height, 1)
        result.addcmul_(near[..., i : i + width], weight)
    place = torch.arange(width, device=batch.device) + 0.5 + offset.unsqueeze(2)  # [N, H, W]
    inside = (place >= 0) & (place < width)
    return torch.where(inside.unsqueeze(1), result.clamp_(0, 255).byte(), GREY)


def rotate(batch: Tensor, degrees: Tensor, cubic: bool) -> Tensor:
    """Turns images counter-clockwise about their centres.

    Args:
        batch: images ``[N, C, H, W]``.
        degrees: angle of each image, ``[N]``.
        cubic: whether to interpolate by a cubic.
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
    weights = _cubic if cubic else _linear
    across, along = weights(x - left), weights(y - top)
    weight = torch.stack([a * b for a in along for b in across], -1)  # [N, H, W, 4 or 16]
    # rows of pixels one after the other, with enough of the edge around each image that none next to a place is missing
    edge = len(across) // 2
    line = width + 2 * edge
    pixels = F.pad(batch.float(), (edge,) * 4, mode="replicate").permute(0, 2, 3, 1).reshape(-1, channels)
    image = torch.arange(n, device=batch.device, dtype=torch.int32).mul_((height + 2 * edge) * line).view(n, 1, 1)
    first = top.clamp_(-1, height - 1).int().mul_(line) + left.clamp_(-1, width - 1).int() + image
    near = torch.arange(1, 2 * edge + 1, device=batch.device, dtype=torch.int32)
    places = first.view(-1, 1) + (near.unsqueeze(1) * line + near).view(-1)
    moved = F.embedding_bag(places, pixels, per_sample_weights=weight.flatten(0, 2), mode="sum")
    moved = (moved + ROUNDING).clamp_(0, 255).byte().view(n, height, width, channels)
    return torch.where(inside, moved.permute(0, 3, 1, 2).contiguous(), GREY)


def _linear(place: Tensor) -> tuple[Tensor, ...]:
    """Weights of 2 pixels in a row for a place in 0..1 between them."""
    return 1 - place, place


def _cubic(place: Tensor) -> tuple[Tensor, ...]:
    """Weights of 4 pixels in a row for a place in 0..1 between the middle ones."""
    square = place * place
    cube = square * place
    return 2 * square - cube - place, 1 - 2 * square + cube, place + square - cube, cube - square
