"""RandAugment on whole batches, with timm's operations and probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from datamodules.images.augmentations.operations import GREY, PIXELS, rotate, slide
from datamodules.images.augmentations.samples import (
    ImageAugmentation,
    all_to_device,
    check_images,
    check_probability,
    check_range,
    on_cpu,
    to_device,
)

NAMES = (*PIXELS, "ShearX", "TranslateXRel", "ShearY", "TranslateYRel", "Rotate")
NONE = len(NAMES)
WHOLE = ("Posterize", "Solarize", "SolarizeAdd")
"""Arguments that are whole numbers; those of what moves pixels have a random sign."""
_RANGES = {
    **dict.fromkeys(("AutoContrast", "Equalize", "Invert"), (0.0, 0.0)),
    "Posterize": (0.0, 4.0),
    "Solarize": (0.0, 256.0),
    "SolarizeAdd": (0.0, 110.0),
    **dict.fromkeys(("Color", "Contrast", "Brightness", "Sharpness"), (0.1, 1.9)),
    **dict.fromkeys(("ShearX", "ShearY"), (0.0, 0.3)),
    **dict.fromkeys(("TranslateXRel", "TranslateYRel"), (0.0, 0.45)),  # of the side
    "Rotate": (0.0, 30.0),  # degrees
}
"""Arguments at the levels 0 and 10."""


@dataclass(frozen=True)
class Draws:
    """What happens to N images, on the CPU: for each of L places in a row, ``[L, N]``.

    Attributes:
        operation: number in :data:`NAMES`, or :data:`NONE`.
        argument: argument of the operation.
        cubic: whether an operation that moves pixels interpolates by a cubic.
    """

    operation: Tensor
    argument: Tensor
    cubic: Tensor


def arguments(operation: Tensor, level: Tensor, negative: Tensor) -> Tensor:
    """Arguments of operations at levels in 0..10; those that may have a sign have it where ``negative``."""
    low, high = torch.tensor([*(_RANGES[name] for name in NAMES), (0.0, 0.0)], dtype=level.dtype)[operation].unbind(-1)
    argument = level / 10 * (high - low) + low
    whole = torch.tensor([*(name in WHOLE for name in NAMES), False])[operation]
    argument = torch.where(whole, argument.floor(), argument)
    return torch.where(negative & (operation >= len(PIXELS)), -argument, argument)


def augment(images: Tensor, operation: Tensor, argument: Tensor, cubic: Tensor, fill: Tensor) -> Tensor:
    """One operation for each of the images ``[N, 3, H, W]`` of bytes; all images of an operation at once.

    Pixels that are uncovered get the colour ``fill``, ``[3, 1, 1]``. The others are on the CPU, ``[N]``.
    """
    device, order = images.device, (2 * operation + cubic).argsort()  # of an operation side by side, cubic ones last
    counts = operation.bincount(minlength=NONE + 1).tolist()
    linear = int(((operation == NAMES.index("Rotate")) & ~cubic).sum())
    drawn = order.argsort(), argument[order].float(), cubic[order], order
    place, argument, cubic, order = all_to_device(device, *drawn)
    parts = dict(zip((*NAMES, None), images.index_select(0, order).split(counts), strict=True))
    by, ways = (dict(zip((*NAMES, None), of.split(counts), strict=True)) for of in (argument, cubic))
    results = [
        function(parts[name], by[name]) if len(parts[name]) else parts[name] for name, function in PIXELS.items()
    ]
    for shear, shift in (("ShearX", "TranslateXRel"), ("ShearY", "TranslateYRel")):
        batch = torch.cat((parts[shear], parts[shift]))
        rows = batch.mT if shear == "ShearY" else batch
        height, width = rows.shape[-2:]
        centre = torch.arange(height, device=device) + 0.5
        offset = torch.cat((by[shear].unsqueeze(1) * centre, (by[shift] * width).unsqueeze(1).expand(-1, height)))
        moved = slide(rows, offset, torch.cat((ways[shear], ways[shift])), fill)
        results.append(moved.mT if shear == "ShearY" else moved)
    for way, some in ((False, slice(linear)), (True, slice(linear, None))):
        turned = parts["Rotate"][some]
        results.append(rotate(turned, by["Rotate"][some], way, fill) if len(turned) else turned)
    return torch.cat([*results, parts[None]]).index_select(0, place)


class RandAugment(ImageAugmentation):
    """Draws operations for each image and applies each of them with a probability.

    RandAugment (Cubuk et al., 2020) as timm does it, which the paper used, and not as torchvision does it: 15
    operations, drawn with replacement, each drawn one applied with ``probability``, at a level with Gaussian noise that
    is cut to 0..10. The set is timm's plain one, in which posterising and solarising get weaker as the level grows.
    Shifts, shears and turns interpolate linearly or by a cubic, one as often as the other. Images are rounded to 8
    bits, as Pillow has them, but for those on which no operation acts.

    Args:
        operations: number of operations drawn for an image.
        magnitude: mean level, in 0..10.
        probability: how probable it is that a drawn operation is applied.
        level_std: standard deviation of the level.
        fill: colour of pixels that shifts, shears and turns uncover, in 0..255; timm's own is grey, the authors' on
            ImageNet its mean colour, 124, 116, 104.

    Shapes:
        ``[N, 3, H, W]`` in [0, 1] to the same.

    Raises:
        ValueError: an argument out of its range, or pixels of the first batch outside [0, 1], as after
            :class:`Normalize`.
    """

    fill: Tensor

    def __init__(
        self,
        operations: int = 2,
        magnitude: float = 10,
        probability: float = 0.5,
        level_std: float = 0.5,
        fill: tuple[int, int, int] = GREY,
    ) -> None:
        super().__init__()
        if operations < 1:
            raise ValueError(f"operations must be at least 1, got {operations}")
        if not 0 <= magnitude <= 10:
            raise ValueError(f"magnitude must be in [0, 10], got {magnitude}")
        if not 0 <= level_std < float("inf"):
            raise ValueError(f"level_std must be finite and not negative, got {level_std}")
        if len(fill) != 3 or not all(0 <= value <= 255 for value in fill):
            raise ValueError(f"fill must be three numbers in [0, 255], red, green and blue, got {fill}")
        self.operations = operations
        self.magnitude = magnitude
        self.probability = check_probability(probability)
        self.level_std = level_std
        self.register_buffer("fill", torch.tensor(fill, dtype=torch.uint8).view(-1, 1, 1))
        self._seen = False

    def draw(self, n: int, generator: Generator) -> Draws:
        """Draws for ``n`` images. A GPU is not waited for: it would stand still until the CPU has gone on."""
        cpu = on_cpu(generator)
        shape = (self.operations, n)
        operation = torch.randint(len(NAMES), shape, generator=cpu)
        applied = torch.rand(shape, generator=cpu) < self.probability
        noise = torch.randn(shape, generator=cpu, dtype=torch.float64)
        negative, cubic = torch.rand(2, *shape, generator=cpu) < 0.5
        level = (self.magnitude + self.level_std * noise).clamp_(0, 10)
        operation = torch.where(applied, operation, NONE)
        return Draws(operation, arguments(operation, level, negative), cubic)

    def forward(self, batch: Tensor, generator: Generator) -> Tensor:
        check_images(batch)
        if not self._seen:  # looking at pixels waits for the GPU
            check_range(batch, "RandAugment")
            self._seen = True
        if self.fill.device != batch.device:
            self.to(batch.device)
        draws = self.draw(len(batch), generator)
        images = batch.float().mul(255).round_().clamp_(0, 255).byte()
        for operation, argument, cubic in zip(draws.operation, draws.argument, draws.cubic, strict=True):
            images = augment(images, operation, argument, cubic, self.fill)
        same = to_device((draws.operation == NONE).all(0).nonzero().squeeze(1), batch.device)
        return images.float().div_(255).to(batch.dtype).index_copy_(0, same, batch.index_select(0, same))
