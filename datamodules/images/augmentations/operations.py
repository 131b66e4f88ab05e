"""Pillow's operations on 8-bit RGB batches ``[N, 3, H, W]``, each image with an argument of its own.

A pixel of what is shifted, sheared or turned has what the image has at a place, between the pixels next to it by
distance, or between four in a row by Keys' cubic with a = −1; pixels beyond the edge are those on it, and a place
outside the image has one colour.

Results are Pillow's to the bit, but for a pixel here and there that a rounding error carries over a whole number. Of
torchvision's functions for batches only ``equalize`` takes its argument from each image and rounds as Pillow does.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

GREY = (128, 128, 128)
ROUNDING = 2**-13
"""More than sums in float32 fall below a whole number, which Pillow's in float64 reach."""


def gray(batch: Tensor) -> Tensor:
    """Brightness of each pixel in whole numbers, ``[N, 1, H, W]``, by ITU-R BT.601 with Pillow's fixed point."""
    red, green, blue = batch.int().unbind(1)
    return ((19595 * red + 38470 * green + 7471 * blue + 0x8000) >> 16).unsqueeze(1)


def blend(reference: Tensor, batch: Tensor, factor: Tensor) -> Tensor:
    """``reference + factor · (batch − reference)``, cut to 0..255 and truncated; factors ``[N]``, 1 changes nothing."""
    start = reference.float()
    return (start + factor.view(-1, 1, 1, 1) * (batch.float() - start)).clamp_(0, 255).byte()


def brightness(batch: Tensor, factor: Tensor) -> Tensor:
    """Blends with black."""
    return blend(torch.zeros_like(batch), batch, factor)


def contrast(batch: Tensor, factor: Tensor) -> Tensor:
    """Blends with the image's mean brightness, rounded."""
    mean = gray(batch).float().mean((-2, -1), keepdim=True)
    return blend((mean + 0.5).floor(), batch, factor)


def color(batch: Tensor, factor: Tensor) -> Tensor:
    """Blends with each pixel's brightness."""
    return blend(gray(batch), batch, factor)


def sharpness(batch: Tensor, factor: Tensor) -> Tensor:
    """Blends with the image smoothed over 3 x 3 pixels, the centre weighing 5 of 13; the border is not smoothed."""
    smooth = batch.clone()
    if min(batch.shape[-2:]) > 2:
        values = batch.float()
        lines = values[..., :-2] + values[..., 1:-1] + values[..., 2:]
        total = lines[..., :-2, :] + lines[..., 1:-1, :] + lines[..., 2:, :] + 4 * values[..., 1:-1, 1:-1]
        smooth[..., 1:-1, 1:-1] = (total / 13 + 0.5).byte()
    return blend(smooth, batch, factor)


def posterize(batch: Tensor, bits: Tensor) -> Tensor:
    """Keeps the first bits of each channel, of 8; none leaves black."""
    dropped = (8 - bits).int().view(-1, 1, 1, 1)
    return (batch.int() >> dropped << dropped).byte()


def solarize(batch: Tensor, threshold: Tensor) -> Tensor:
    """Inverts what is not below the threshold."""
    return torch.where(batch < threshold.short().view(-1, 1, 1, 1), batch, 255 - batch)


def solarize_add(batch: Tensor, amount: Tensor) -> Tensor:
    """Adds to what is below 128."""
    brighter = (batch.short() + amount.short().view(-1, 1, 1, 1)).clamp_(max=255).byte()
    return torch.where(batch < 128, brighter, batch)


def invert(batch: Tensor) -> Tensor:
    """255 minus each value."""
    return 255 - batch


def autocontrast(batch: Tensor) -> Tensor:
    """Stretches each channel to 0..255; one of a single value stays."""
    low, high = batch.amin((-2, -1), keepdim=True), batch.amax((-2, -1), keepdim=True)
    span = (high - low).float()
    stretched = (batch - low).float() * 255 / span.clamp_(min=1)
    return torch.where(high > low, stretched.byte(), batch)


def equalize(batch: Tensor) -> Tensor:
    """Makes the values of each channel equally frequent."""
    from torchvision.transforms.v2.functional import equalize

    equalized: Tensor = equalize(batch)
    return equalized


def slide(batch: Tensor, offset: Tensor, cubic: Tensor, fill: Tensor) -> Tensor:
    """Moves each row to the left.

    Args:
        batch: images ``[N, C, H, W]``.
        offset: pixels of each row, ``[N, H]``.
        cubic: which images to interpolate by a cubic, ``[N]``.
        fill: colour outside the image as bytes, ``[C, 1, 1]``.
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
    return torch.where(inside.unsqueeze(1), result.clamp_(0, 255).byte(), fill)


def rotate(batch: Tensor, degrees: Tensor, cubic: bool, fill: Tensor) -> Tensor:
    """Turns images counter-clockwise about their centres.

    Args:
        batch: images ``[N, C, H, W]``.
        degrees: angle of each image, ``[N]``.
        cubic: whether to interpolate by a cubic.
        fill: colour outside the image as bytes, ``[C, 1, 1]``.
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
    return torch.where(inside, moved.permute(0, 3, 1, 2).contiguous(), fill)


def _linear(place: Tensor) -> tuple[Tensor, ...]:
    """Weights of 2 pixels in a row for a place in 0..1 between them."""
    return 1 - place, place


def _cubic(place: Tensor) -> tuple[Tensor, ...]:
    """Weights of 4 pixels in a row for a place in 0..1 between the middle ones."""
    square = place * place
    cube = square * place
    return 2 * square - cube - place, 1 - 2 * square + cube, place + square - cube, cube - square


PIXELS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "AutoContrast": lambda batch, _: autocontrast(batch),
    "Equalize": lambda batch, _: equalize(batch),
    "Invert": lambda batch, _: invert(batch),
    "Posterize": posterize,
    "Solarize": solarize,
    "SolarizeAdd": solarize_add,
    "Color": color,
    "Contrast": contrast,
    "Brightness": brightness,
    "Sharpness": sharpness,
}
"""Operations that move no pixel, by timm's names; those without an argument ignore it."""
