"""RandAugment with timm's operations and probabilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Generator, Tensor

from datamodules.augmentations.base import Augmentation
from datamodules.augmentations.image import check_probability
from datamodules.seeding import global_random_state

TOLERANCE = 0.01  # what resampling in reduced precision may add to pixels in [0, 1]


def _posterize(image: Image.Image, bits: int, **_: object) -> Image.Image:
    # timm asks for 0 bits at levels below 2.5; Pillow gave a black image and now raises
    return ImageOps.posterize(image, bits) if bits else Image.new(image.mode, image.size)


class RandAugment(Augmentation):
    """Draws operations for each image and applies each of them with a probability.

    RandAugment (Cubuk et al., 2020) as timm does it, which the paper used, and not as torchvision does it: 15
    operations, drawn with replacement, each drawn one applied with ``probability``, at a level with Gaussian noise that
    is cut to 0..10. The set is timm's plain one, in which posterising and solarising get weaker as the level grows.
    Pixels that a shift uncovers are grey (128). timm works on single 8-bit PIL images, so the batch goes through the
    CPU; a sample on which no operation acts is not rounded to 8 bits.

    Args:
        operations: number of operations drawn for an image.
        magnitude: mean level, in 0..10.
        probability: of applying a drawn operation.
        level_std: standard deviation of the level.

    Shapes:
        ``[N, 3, H, W]`` in [0, 1] to the same.

    Raises:
        ValueError: an argument out of its range, or pixels outside [0, 1], as after :class:`Normalize`.
    """

    def __init__(
        self, operations: int = 2, magnitude: float = 10, probability: float = 0.5, level_std: float = 0.5
    ) -> None:
        super().__init__()
        if operations < 1:
            raise ValueError(f"operations must be at least 1, got {operations}")
        if not 0 <= magnitude <= 10:
            raise ValueError(f"magnitude must be in [0, 10], got {magnitude}")
        if not 0 <= level_std < float("inf"):
            raise ValueError(f"level_std must be finite and not negative, got {level_std}")
        check_probability(probability)
        from timm.data.auto_augment import RandAugment as Policy
        from timm.data.auto_augment import rand_augment_ops

        choices = rand_augment_ops(magnitude, prob=probability, hparams={"magnitude_std": level_std})
        for choice in choices:
            if choice.name == "Posterize":
                choice.aug_fn = _posterize
        self.policy: Callable[[Image.Image], Image.Image] = Policy(choices, operations)

    def forward(self, batch: Tensor, generator: Generator) -> Tensor:
        low, high = batch.aminmax()
        if low < -TOLERANCE or high > 1 + TOLERANCE:
            raise ValueError(
                f"RandAugment needs pixels in [0, 1] and stands before Normalize, got {low:.3g} to {high:.3g}"
            )
        pixels = (
            batch.mul(255).round_().clamp_(0, 255).byte().permute(0, 2, 3, 1).contiguous().cpu().numpy()
        )  # [N, H, W, 3]
        changed, results = [], []
        with global_random_state(generator):
            for i, image in enumerate(map(Image.fromarray, pixels)):
                result = self.policy(image)
                if result is not image:
                    changed.append(i)
                    results.append(np.asarray(result))
        if not changed:
            return batch
        augmented = torch.from_numpy(np.stack(results)).to(batch.device).permute(0, 3, 1, 2).to(batch.dtype).div(255)
        return batch.index_copy(0, torch.tensor(changed, device=batch.device), augmented)
