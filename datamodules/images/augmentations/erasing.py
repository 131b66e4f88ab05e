"""Occlusion of normalised image batches."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from datamodules.images.augmentations.crops import draw_sides, draw_start, first_fit
from datamodules.images.augmentations.samples import (
    ImageAugmentation,
    all_to_device,
    check_images,
    check_probability,
    choose,
    on_cpu,
)


class RandomErasing(ImageAugmentation):
    """Replaces a random box of an image by standard normal noise. Belongs after :class:`Normalize`.

    Random Erasing (Zhong et al., 2020) as timm does it in mode ``pixel``: a uniform fraction of the area, a log-uniform
    ratio of the sides in 0.3..1/0.3, the first of ten candidates that is smaller than the image on both sides at a
    uniform place, one draw of noise a pixel and channel. If none fits, the image stays as it is.

    Args:
        probability: how probable it is that a sample is erased in.
        min_area: smallest fraction of the image's area that is erased.
        max_area: largest fraction of the image's area that is erased.

    Raises:
        ValueError: a probability outside [0, 1], or areas out of order or outside (0, 1].
    """

    RATIO = (0.3, 1 / 0.3)

    def __init__(self, probability: float = 0.2, min_area: float = 0.02, max_area: float = 1 / 3) -> None:
        super().__init__()
        self.probability = check_probability(probability)
        if not 0 < min_area <= max_area <= 1:
            raise ValueError(f"areas must be 0 < min_area <= max_area <= 1, got {min_area} and {max_area}")
        self.area = (min_area, max_area)

    def forward(self, batch: Tensor, generator: Generator) -> Tensor:
        height, width = check_images(batch).shape[-2:]
        cpu = on_cpu(generator)
        samples = choose(len(batch), self.probability, cpu)
        h, w = draw_sides(len(samples), (height, width), self.area, self.RATIO, cpu)
        h, w, fits = first_fit((h, w), (h < height) & (w < width))
        h = h * fits  # no rows of a box that does not fit
        rows = _inside(draw_start(height, h, cpu), h, height)
        columns = _inside(draw_start(width, w, cpu), w, width)
        values = int((rows.sum(1) * columns.sum(1)).sum()) * batch.shape[1]
        samples, rows, columns = all_to_device(batch.device, samples, rows, columns)
        box = rows.view(-1, 1, height, 1) & columns.view(-1, 1, 1, width)
        noise = torch.randn(values, generator=generator, device=batch.device, dtype=batch.dtype)
        return batch.index_copy(0, samples, batch.index_select(0, samples).masked_scatter_(box, noise))


def _inside(start: Tensor, side: Tensor, length: int) -> Tensor:
    """Which of ``length`` pixels lie in start..start + side − 1: ``[N, length]`` for starts and sides ``[N]``."""
    pixel = torch.arange(length, device=start.device)
    start, side = start.unsqueeze(1), side.unsqueeze(1)
    return (pixel >= start) & (pixel < start + side)
