"""Gaussian blur of image batches, each image by its own width."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from datamodules.images.augmentations.samples import (
    ImageAugmentation,
    check_images,
    check_probability,
    choose,
    on_cpu,
    to_device,
)


def blur_matrix(sigma: Tensor, length: int, radius: int) -> Tensor:
    """The matrices that blur ``length`` pixels of an axis, mirrored at both ends without their last pixels.

    Args:
        sigma: standard deviations in pixels, ``[N]``.
        length: pixels of the axis, more than ``radius``.
        radius: pixels on each side of one that count for it.

    Returns:
        Weights ``[N, length, length]``, rows summing to 1.
    """
    step = torch.arange(-radius, radius + 1, device=sigma.device)
    weight = torch.exp(-0.5 * (step / sigma.unsqueeze(1)) ** 2)  # [N, 2 radius + 1]
    weight = weight / weight.sum(1, keepdim=True)
    source = (torch.arange(length, device=sigma.device).unsqueeze(1) + step).abs()  # [length, 2 radius + 1]
    source = torch.where(source < length, source, 2 * (length - 1) - source)
    shape = (len(sigma), *source.shape)
    matrix = torch.zeros(len(sigma), length, length, device=sigma.device)
    return matrix.scatter_add_(2, source.expand(shape), weight.unsqueeze(1).expand(shape))


class GaussianBlur(ImageAugmentation):
    """Blurs an image by a Gaussian of random width, as SimCLR and BYOL do.

    The width is uniform in ``sigma``, in pixels. Weights reach as far as SimCLR's kernel of a tenth of the image, and
    equal torchvision's for that kernel.

    Args:
        probability: how probable it is that a sample is blurred; BYOL's is 1 for the first view and 0.1 for the second.
        sigma: smallest and largest standard deviation.

    Shapes:
        ``[N, C, H, W]`` to the same.

    Raises:
        ValueError: a probability outside [0, 1], or deviations out of order or not positive.
    """

    def __init__(self, probability: float = 0.5, sigma: tuple[float, float] = (0.1, 2.0)) -> None:
        super().__init__()
        self.probability = check_probability(probability)
        if not 0 < sigma[0] <= sigma[1]:
            raise ValueError(f"sigma must be two deviations, 0 < smallest <= largest, got {sigma}")
        self.sigma = sigma

    def forward(self, batch: Tensor, generator: Generator) -> Tensor:
        cpu, (height, width) = on_cpu(generator), check_images(batch).shape[-2:]
        samples = choose(len(batch), self.probability, cpu)
        u = torch.rand(len(samples), generator=cpu)
        samples = to_device(samples, batch.device)
        sigma = to_device(self.sigma[0] + (self.sigma[1] - self.sigma[0]) * u, batch.device)
        down, across = (blur_matrix(sigma, side, radius_of(side)).unsqueeze(1) for side in (height, width))
        blurred = down.to(batch.dtype) @ batch.index_select(0, samples) @ across.to(batch.dtype).mT
        return batch.index_copy(0, samples, blurred)


def radius_of(side: int) -> int:
    """Half of SimCLR's kernel, a tenth of the side, in whole pixels: at least 1, unless the side has a single pixel."""
    # 11 of 224 pixels cut nothing off; 1 of 32 leaves a deviation of 2 that of 0.8, where Pillow's blur isn't cut
    return min(max(1, side // 20), side - 1)
