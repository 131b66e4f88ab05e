"""What augmentations of images check, and which images of a batch they act on.

That is drawn on the CPU for batches on a GPU too, and neither waits for the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import torch
from torch import Generator, Tensor

from datamodules.augmentations.base import Augmentation

TOLERANCE = 0.01
"""What resampling in reduced precision may add to pixels in [0, 1]."""


class ImageAugmentation(Augmentation):
    """An augmentation of images."""

    takes = "images"


def on_cpu(generator: Generator) -> Generator:
    """A generator on the CPU that another decides, which moves on; itself if it is on the CPU.

    What decides how a batch is taken apart is drawn here, since the CPU would otherwise wait for the GPU to tell it.
    """
    if generator.device.type == "cpu":
        return generator
    seed = hashlib.sha256(generator.get_state().numpy().tobytes()).digest()[:8]
    torch.rand((), generator=generator, device=generator.device)
    return torch.Generator().manual_seed(int.from_bytes(seed, "little") % 2**63)


def to_device(drawn: Tensor, device: torch.device) -> Tensor:
    """What was drawn, where the batch is; a copy from pageable memory would wait for all that the GPU has to do."""
    return drawn.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else drawn.to(device)


def all_to_device(device: torch.device, *drawn: Tensor) -> list[Tensor]:
    """Each of several tensors that were drawn, where the batch is."""
    return [to_device(each, device) for each in drawn]


def check_probability(probability: float) -> float:
    """Returns ``probability``; raises ValueError outside [0, 1]."""
    if not 0 <= probability <= 1:
        raise ValueError(f"probability must be in [0, 1], got {probability}")
    return probability


def check_images(batch: Tensor) -> Tensor:
    """Returns images ``[N, C, H, W]`` of floating point numbers; raises TypeError for anything else.

    Arithmetic on bytes would wrap around, and an image without its batch would be taken for three.
    """
    if batch.ndim != 4 or not batch.is_floating_point():
        raise TypeError(
            f"augmentations need a batch of images [N, C, H, W] in floating point, got {list(batch.shape)} of "
            f"{batch.dtype}: divide bytes by 255"
        )
    return batch


def check_range(batch: Tensor, name: str) -> None:
    """Raises ValueError for pixels outside [0, 1], as after :class:`Normalize`. Waits for the GPU."""
    low, high = batch.aminmax() if batch.numel() else (0.0, 1.0)
    if low < -TOLERANCE or high > 1 + TOLERANCE:
        raise ValueError(f"{name} needs pixels in [0, 1] and stands before Normalize, got {low:.3g} to {high:.3g}")


def choose(n: int, probability: float, generator: Generator) -> Tensor:
    """Numbers of the samples, of ``n``, that an augmentation acts on, each with ``probability``; on the CPU."""
    return (torch.rand(n, generator=generator) < probability).nonzero().squeeze(1)


def change_some(batch: Tensor, probability: float, generator: Generator, change: Callable[[Tensor], Tensor]) -> Tensor:
    """A batch in which ``change``, of images to images of the same shape, acts on each with ``probability``."""
    samples = to_device(choose(len(batch), probability, on_cpu(generator)), batch.device)
    return batch.index_copy(0, samples, change(batch.index_select(0, samples)))
