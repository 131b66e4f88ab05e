"""What there is of images without an encoder."""

from __future__ import annotations

import pytest
import torch

from datamodules import FakeImages
from datamodules.augmentations import Identity


@pytest.mark.parametrize(("height", "width", "rows", "columns"), [(8, 8, 8, 8), (32, 16, 16, 16), (64, 48, 16, 16)])
def test_raw_input_is_pixels_averaged(height, width, rows, columns):
    images = torch.rand(2, 3, height, width, generator=torch.Generator().manual_seed(0))
    raw = FakeImages([Identity(), Identity()], Identity()).raw_input(images).view(2, 3, rows, columns)
    tall, wide = height // rows, width // columns
    torch.testing.assert_close(raw, images.view(2, 3, rows, tall, columns, wide).mean((3, 5)))
