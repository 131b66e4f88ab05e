"""Crops, flips and normalisation of image batches ``[N, 3, H, W]``, each sample with its own draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Generator, Tensor

from datamodules.images.augmentations.samples import ImageAugmentation, change_some, check_images, check_probability

ATTEMPTS = 10  # boxes drawn before torchvision's crop and timm's erasing give up


def draw_sides(
    n: int,
    image: tuple[int, int],
    area: tuple[float, float],
    ratio: tuple[float, float],
    generator: Generator,
) -> tuple[Tensor, Tensor]:
    """Candidate boxes: a uniform fraction of the image's area, a log-uniform ratio of the sides.

    Args:
        n: samples.
        image: height and width of the image.
        area: smallest and largest fraction of the image's area.
        ratio: smallest and largest quotient, first side by second.
        generator: source of the draws, and their device.

    Returns:
        Both sides, ``[n, ATTEMPTS]``, rounded to whole pixels.
    """
    u, v = torch.rand(2, n, ATTEMPTS, generator=generator, device=generator.device)
    pixels = (area[0] + (area[1] - area[0]) * u) * (image[0] * image[1])
    low, high = math.log(ratio[0]), math.log(ratio[1])
    quotient = torch.exp(low + (high - low) * v)
    return (pixels * quotient).sqrt().round(), (pixels / quotient).sqrt().round()


def first_fit(sides: tuple[Tensor, Tensor], fits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The first of each sample's candidates that fits.

    Args:
        sides: candidates, both ``[N, ATTEMPTS]``.
        fits: which of them are possible, ``[N, ATTEMPTS]``.

    Returns:
        Its two sides and whether there is one, each ``[N]``.
    """
    first = fits.int().argmax(1, keepdim=True)
    return sides[0].gather(1, first).squeeze(1), sides[1].gather(1, first).squeeze(1), fits.any(1)


def draw_start(length: int, side: Tensor, generator: Generator) -> Tensor:
    """Uniform whole numbers ``[N]`` in 0..length − side, for sides ``[N]``."""
    places = length - side + 1
    u = torch.rand(len(side), generator=generator, device=side.device)
    return torch.minimum((u * places).floor(), places - 1)  # u * places may round up to places


def resample_weights(start: Tensor, side: Tensor, length: int, size: int) -> Tensor:
    """The matrices that resample the pixels start..start + side − 1 of an axis to ``size`` pixels.

    Row i is a triangle about the i-th output pixel's centre, one input pixel wide when enlarging and one output pixel
    wide when reducing (antialiasing), cut at the box and normalised: PIL's and torchvision's bilinear filter.

    Args:
        start: first pixels, ``[N]``.
        side: numbers of pixels, ``[N]``.
        length: pixels of the axis.
        size: pixels of the result.

    Returns:
        Weights ``[N, size, length]``, rows summing to 1.
    """
    start, side = start.view(-1, 1, 1), side.view(-1, 1, 1)
    step = side / size
    centre = start + (torch.arange(size, device=start.device).view(1, -1, 1) + 0.5) * step  # [N, size, 1]
    pixel = torch.arange(length, device=start.device) + 0.5  # [length]
    weight = (pixel - centre).abs_().div_(step.clamp(min=1)).neg_().add_(1).clamp_(0)  # [N, size, length]
    weight *= (pixel > start) & (pixel < start + side)
    return weight.div_(weight.sum(-1, keepdim=True))


def resized_crop(batch: Tensor, top: Tensor, left: Tensor, height: Tensor, width: Tensor, size: int) -> Tensor:
    """Cuts a box of its own out of each image and resamples it to ``[N, C, size, size]``, bilinear and antialiased.

    Equals torchvision's ``resized_crop`` up to rounding.

    Args:
        batch: images ``[N, C, H, W]``.
        top: first rows, ``[N]``.
        left: first columns, ``[N]``.
        height: numbers of rows, ``[N]``.
        width: numbers of columns, ``[N]``.
        size: pixels of the result's sides.
    """
    rows = resample_weights(top, height, batch.shape[-2], size).to(batch.dtype)  # [N, size, H]
    columns = resample_weights(left, width, batch.shape[-1], size).to(batch.dtype)  # [N, size, W]
    lines = rows.unsqueeze(1) @ batch  # [N, C, size, W]
    return (lines.flatten(1, 2) @ columns.mT).unflatten(1, lines.shape[1:3])


class RandomResizedCrop(ImageAugmentation):
    """A random box of each image, resampled to ``size`` x ``size`` pixels.

    Boxes follow torchvision's law: a uniform fraction of the area, a log-uniform ratio of width by height, the first of
    ten candidates that fits at a uniform place; if none fits, the largest centred box whose ratio is allowed.

    Args:
        size: pixels of the result's sides.
        scale: smallest and largest fraction of the image's area.
        ratio: smallest and largest width by height of the box.

    Shapes:
        ``[N, C, H, W]`` to ``[N, C, size, size]``.

    Raises:
        ValueError: a size below 1, or bounds that are out of order or out of range.
    """

    def __init__(
        self, size: int, scale: tuple[float, float] = (0.2, 1.0), ratio: tuple[float, float] = (3 / 4, 4 / 3)
    ) -> None:
        super().__init__()
        if size < 1:
            raise ValueError(f"size must be at least 1 pixel, got {size}")
        if not 0 < scale[0] <= scale[1] <= 1:
            raise ValueError(f"scale must be two fractions of the area, 0 < smallest <= largest <= 1, got {scale}")
        if not 0 < ratio[0] <= ratio[1]:
            raise ValueError(f"ratio must be two widths by height, 0 < smallest <= largest, got {ratio}")
        self.size = size
        self.scale = scale
        self.ratio = ratio

    def boxes(self, n: int, height: int, width: int, generator: Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Draws top, left, height and width of ``n`` boxes, each ``[n]``, in images of ``height`` x ``width``."""
        w, h = draw_sides(n, (height, width), self.scale, self.ratio, generator)
        w, h, fits = first_fit((w, h), (w > 0) & (w <= width) & (h > 0) & (h <= height))
        central_w = min(width, round(height * self.ratio[1]))
        central_h = min(height, round(width / self.ratio[0]))
        w, h = torch.where(fits, w, central_w), torch.where(fits, h, central_h)
        top = torch.where(fits, draw_start(height, h, generator), (height - central_h) // 2)
        left = torch.where(fits, draw_start(width, w, generator), (width - central_w) // 2)
        return top, left, h, w

    def forward(self, batch: Tensor, generator: Generator) -> Tensor:
        height, width = check_images(batch).shape[-2:]
        return resized_crop(batch, *self.boxes(len(batch), height, width, generator), self.size)


class CenterCrop(ImageAugmentation):
    """The middle of an image whose shorter side was resized: evaluation on ImageNet. Draws nothing.

    Args:
        size: pixels of the result's sides.
        resize: pixels of the shorter side before, 256 for a size of 224.

    Shapes:
        ``[N, C, H, W]`` to ``[N, C, size, size]``.

    Raises:
        ValueError: sizes out of order or below 1.
    """

    def __init__(self, size: int, resize: int) -> None:
        super().__init__()
        if not 1 <= size <= resize:
            raise ValueError(f"sizes must be 1 <= size <= resize, got {size} and {resize}")
        self.size = size
        self.resize = resize

    def of_image(self, image: Any) -> Any:
        """The middle of a PIL image, or of each of a batch of tensors."""
        from torchvision.transforms.v2.functional import center_crop, resize

        return center_crop(resize(image, [self.resize], antialias=True), [self.size, self.size])

    def forward(self, batch: Tensor, generator: Generator) -> Tensor:
        middle: Tensor = self.of_image(check_images(batch))
        return middle


class HorizontalFlip(ImageAugmentation):
    """Mirrors an image left to right.

    Args:
        probability: how probable it is that a sample is mirrored.

    Raises:
        ValueError: a probability outside [0, 1].
    """

    def __init__(self, probability: float = 0.5) -> None:
        super().__init__()
        self.probability = check_probability(probability)

    def forward(self, batch: Tensor, generator: Generator) -> Tensor:
        return change_some(check_images(batch), self.probability, generator, lambda images: images.flip(-1))


class Normalize(ImageAugmentation):
    """Subtracts each channel's mean and divides by its standard deviation. Draws nothing.

    Args:
        mean: mean of each channel.
        std: standard deviation of each channel, positive.

    Raises:
        ValueError: numbers of channels that differ, or a deviation that isn't positive.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        if len(mean) != len(std) or not len(mean):
            raise ValueError(f"mean and std need one number a channel each, got {len(mean)} and {len(std)}")
        if min(std) <= 0:
            raise ValueError(f"std must be positive, got {list(std)}")
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float32).view(-1, 1, 1))
        self.register_buffer("std", torch.tensor(std, dtype=torch.float32).view(-1, 1, 1))

    def forward(self, batch: Tensor, generator: Generator) -> Tensor:
        check_images(batch)
        if self.mean.device != batch.device:
            self.to(batch.device)
        return (batch - self.mean).div_(self.std)
