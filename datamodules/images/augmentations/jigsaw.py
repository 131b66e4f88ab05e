"""Images taken apart and put together anew."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from datamodules.images.augmentations.samples import ImageAugmentation, check_images


class Jigsaw(ImageAugmentation):
    """Cuts a patch from each cell of a grid and puts the patches together in random order (InfoMin, Tian et al., 2020).

    Cells are equal; a patch lies anywhere in its cell, uniformly. PIRL (Misra and van der Maaten, 2020) and InfoMin
    crop 0.6 to 1 of an image to 255 pixels before, cut nine patches of 64 and encode each by itself; here they are one
    image of 192 pixels, so that every objective and encoder takes it for a view.

    Shapes:
        ``[N, C, H, W]`` to ``[N, C, grid * patch, grid * patch]``.

    Args:
        grid: cells along a side.
        patch: pixels of a patch's sides.

    Raises:
        ValueError: sizes below 1, or a patch that is larger than the cells of a batch.
    """

    def __init__(self, grid: int = 3, patch: int = 64) -> None:
        super().__init__()
        if grid < 1 or patch < 1:
            raise ValueError(f"grid and patch must be at least 1, got {grid} and {patch}")
        self.grid = grid
        self.patch = patch

    def forward(self, batch: Tensor, generator: Generator) -> Tensor:
        n, channels, height, width = check_images(batch).shape
        sides = height // self.grid, width // self.grid  # of a cell
        if min(sides) < self.patch:
            raise ValueError(
                f"Jigsaw cuts patches of {self.patch} from cells of {sides[0]} x {sides[1]} pixels: crop to larger "
                "images before, or take smaller patches"
            )
        drawn = torch.rand(3, n, self.grid**2, generator=generator, device=batch.device)
        order = drawn[0].argsort(1)  # the cell that goes to each place
        corner = []
        for cell, side, share in zip((order // self.grid, order % self.grid), sides, drawn[1:], strict=True):
            free = side - self.patch
            corner.append(cell * side + (share * (free + 1)).long().clamp(max=free))
        pixel = torch.arange(self.patch, device=batch.device)
        rows, columns = (start[..., None] + pixel for start in corner)  # [N, cells, patch]
        sample = torch.arange(n, device=batch.device)[:, None, None, None]
        patches = batch.permute(0, 2, 3, 1)[sample, rows[..., :, None], columns[..., None, :]]  # [N, cells, P, P, C]
        grid = patches.unflatten(1, (self.grid, self.grid)).permute(0, 5, 1, 3, 2, 4)  # [N, C, grid, P, grid, P]
        return grid.reshape(n, channels, self.grid * self.patch, self.grid * self.patch)
