"""Pillow's operations on 8-bit RGB batches ``[N, 3, H, W]``, each image with an argument of its own.

Results are Pillow's to the bit, but for a pixel here and there that a rounding error carries over a whole number. Of
torchvision's functions for batches only ``equalize`` takes its argument from each image and rounds as Pillow does.
"""

from __future__ import annotations

import torch
from torch import Tensor


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
