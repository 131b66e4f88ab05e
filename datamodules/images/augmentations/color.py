"""Colour changes of RGB batches ``[N, 3, H, W]`` in [0, 1], each sample with its own draw."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from datamodules.images.augmentations.samples import (
    ImageAugmentation,
    change_some,
    check_images,
    check_probability,
    check_range,
    on_cpu,
    to_device,
)

BRIGHTNESS, CONTRAST, SATURATION, HUE = range(4)


def luma(batch: Tensor) -> Tensor:
    """Brightness of each pixel, ``[N, 3, H, W]`` to ``[N, 1, H, W]``, with torchvision's weights of ITU-R BT.601."""
    red, green, blue = batch.unbind(1)
    return red.mul(0.2989).add_(green, alpha=0.587).add_(blue, alpha=0.114).unsqueeze(1)


def blend_(batch: Tensor, operation: Tensor, factor: Tensor) -> None:
    """One of brightness, contrast and saturation, each image its own, in place.

    All three are ``factor · image + (1 − factor) · reference``, cut to [0, 1]; the reference is black, the image's mean
    brightness, or each pixel's brightness.

    Args:
        batch: images ``[N, 3, H, W]``.
        operation: ``BRIGHTNESS``, ``CONTRAST`` or ``SATURATION`` of each image, ``[N]``.
        factor: ``[N]``.
    """
    operation, factor = operation.view(-1, 1, 1, 1), factor.view(-1, 1, 1, 1)
    pixel = luma(batch)  # [N, 1, H, W]
    reference = torch.where(operation == SATURATION, pixel, pixel.mean((-2, -1), keepdim=True))
    rest = torch.where(operation == BRIGHTNESS, 0, 1 - factor)
    torch.addcmul(reference.mul_(rest), batch, factor, out=batch).clamp_(0, 1)


def rotate_hue_(batch: Tensor, shift: Tensor) -> None:
    """Turns each image's hues in place, saturation and value of HSV kept.

    With value V, chroma C and hue h in sixths of the circle, 0 to 6, the channels are V − C + C·w(|h − 3|) for red,
    V − C·w(|h − 2|) for green and V − C·w(|h − 4|) for blue, where w(x) = clamp(x, 1, 2) − 1.

    Args:
        batch: images ``[N, 3, H, W]``.
        shift: fraction of the circle, ``[N]``.
    """
    value, low = batch.amax(1), batch.amin(1)  # [N, H, W]
    chroma = value - low
    red, green, blue = batch.unbind(1)
    # which channel is the largest, as numbers: choosing by a condition of each pixel takes a CPU several times as long
    not_red = (value - red).sign_()  # 0 or 1
    only_blue = (value - green).sign_().mul_(not_red)
    hue = torch.lerp(green - blue, blue - red, not_red).lerp_(red - green, only_blue)
    other = chroma.clamp(min=torch.finfo(batch.dtype).tiny)  # a place for what follows: new memory costs more
    hue.div_(other).add_(not_red.add_(only_blue), alpha=2)
    hue += 6 * shift.view(-1, 1, 1)
    hue -= torch.div(hue, 6, out=other).floor_().mul_(6)
    low -= chroma
    value += chroma
    for channel, start, middle, sign in ((red, low, 3, 1), (green, value, 2, -1), (blue, value, 4, -1)):
        weight = torch.sub(hue, middle, out=other).abs_().clamp_(1, 2)
        torch.addcmul(start, chroma, weight, value=sign, out=channel)


class ColorJitter(ImageAugmentation):
    """Changes brightness, contrast, saturation and hue, each image by its own factors and in its own order.

    The factors are uniform in [max(0, 1 − x), 1 + x] for brightness, contrast and saturation and in [−x, x] of the
    circle for hue; the four operations are torchvision's.

    Args:
        brightness: strength of the change of brightness, not negative.
        contrast: strength of the change of contrast, not negative.
        saturation: strength of the change of saturation, not negative.
        hue: largest shift of the hue, as a fraction of the circle, in 0..0.5.
        probability: how probable it is that a sample is changed.

    Raises:
        ValueError: an argument out of its range, or pixels of the first batch outside [0, 1], as after
            :class:`Normalize`.
    """

    def __init__(
        self, brightness: float, contrast: float, saturation: float, hue: float, probability: float = 0.8
    ) -> None:
        super().__init__()
        self.strengths = (brightness, contrast, saturation)
        if min(self.strengths) < 0:
            raise ValueError(f"brightness, contrast and saturation must not be negative, got {self.strengths}")
        if not 0 <= hue <= 0.5:
            raise ValueError(f"hue must be in [0, 0.5], got {hue}")
        self.hue = hue
        self.probability = check_probability(probability)
        self._seen = False

    def draw(self, n: int, generator: Generator) -> tuple[Tensor, Tensor]:
        """Factors ``[n, 4]`` by operation, hue's last, and orders ``[n, 4]``, a permutation of 0..3 a row."""
        u = torch.rand(4, n, generator=generator, device=generator.device)
        bounds = [(max(0.0, 1 - x), 1 + x) for x in self.strengths] + [(-self.hue, self.hue)]
        factors = torch.stack([low + (high - low) * each for (low, high), each in zip(bounds, u, strict=True)], 1)
        return factors, torch.rand(n, 4, generator=generator, device=generator.device).argsort(1)

    def jitter(self, batch: Tensor, factors: Tensor, order: Tensor, acts: Tensor) -> Tensor:
        """Applies the four operations to images, each in its own order.

        Images are sorted by the place of their hue, so that those with a blend in the first, second or third place
        before it, or after it, lie side by side.

        Args:
            batch: images ``[N, 3, H, W]``.
            factors: strengths as :meth:`draw` gives them, ``[N, 4]``, on the CPU.
            order: operations in the order of application, ``[N, 4]``, on the CPU.
            acts: which images to change, ``[N]``, on the CPU.
        """
        place = torch.where(acts, (order == HUE).int().argmax(1), 4)  # of the hue; 4 for images that stay
        sorting = place.argsort()
        ends = place.bincount(minlength=5).cumsum(0).tolist()  # of images with the hue in places 0, 1 …
        operations = to_device(order[sorting], batch.device)
        factors = to_device(factors[sorting], batch.device)
        images = batch.index_select(0, to_device(sorting, batch.device))
        changed = images[: ends[3]]

        def blend(some: slice, step: int) -> None:
            operation = operations[some, step]
            blend_(images[some], operation, factors[some].gather(1, operation.unsqueeze(1)).squeeze(1))

        for step in (0, 1, 2):
            blend(slice(ends[step], ends[3]), step)
        if self.hue:
            rotate_hue_(changed, factors[: ends[3], HUE])
        for step in (1, 2, 3):
            blend(slice(ends[step - 1]), step)
        return images.index_select(0, to_device(sorting.argsort(), batch.device))

    def forward(self, batch: Tensor, generator: Generator) -> Tensor:
        check_images(batch)
        if not self._seen:  # looking at pixels waits for the GPU
            check_range(batch, "ColorJitter")
            self._seen = True
        cpu = on_cpu(generator)
        acts = torch.rand(len(batch), generator=cpu) < self.probability
        return self.jitter(batch, *self.draw(len(batch), cpu), acts)


class Grayscale(ImageAugmentation):
    """Replaces the three channels by their brightness.

    Args:
        probability: how probable it is that a sample is changed.

    Raises:
        ValueError: a probability outside [0, 1].
    """

    def __init__(self, probability: float = 0.2) -> None:
        super().__init__()
        self.probability = check_probability(probability)

    def forward(self, batch: Tensor, generator: Generator) -> Tensor:
        check_images(batch)
        return change_some(batch, self.probability, generator, lambda images: luma(images).expand_as(images))


class Solarize(ImageAugmentation):
    """Inverts the bright half of the values of an image (BYOL, Grill et al., 2020).

    Args:
        probability: how probable it is that a sample is changed; BYOL's is 0 for the first view and 0.2 for the second.

    Raises:
        ValueError: a probability outside [0, 1].
    """

    def __init__(self, probability: float = 0.2) -> None:
        super().__init__()
        self.probability = check_probability(probability)

    def forward(self, batch: Tensor, generator: Generator) -> Tensor:
        check_images(batch)
        return change_some(
            batch, self.probability, generator, lambda images: torch.where(images >= 0.5, 1 - images, images)
        )
