"""The jigsaw: every patch is a piece of its own cell, and all orders and places come up."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from datamodules.augmentations import Jigsaw


def pixels(n, height, width):
    """Images whose first channel is the row, second the column and third the sample of a pixel."""
    row, column = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    return torch.stack([torch.stack([row, column, torch.full_like(row, i)]) for i in range(n)]).float()


def draw(jigsaw, batch, seed=0):
    return jigsaw(batch, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("grid", "patch", "height", "width"), [(3, 4, 15, 18), (2, 3, 7, 6), (1, 5, 9, 5)])
def test_each_patch_is_a_piece_of_a_cell_of_its_own(grid, patch, height, width):
    out = draw(Jigsaw(grid, patch), pixels(5, height, width))
    assert out.shape == (5, 3, grid * patch, grid * patch)
    for i, image in enumerate(out):
        cells = []
        for part in image.unflatten(1, (grid, patch)).unflatten(3, (grid, patch)).permute(1, 3, 0, 2, 4).flatten(0, 1):
            row, column, sample = part
            assert (sample == i).all()
            top, left = int(row[0, 0]), int(column[0, 0])
            assert torch.equal(row, (top + torch.arange(patch))[:, None].expand(patch, patch).float())
            assert torch.equal(column, (left + torch.arange(patch)).expand(patch, patch).float())
            cell = top // (height // grid), left // (width // grid)
            assert (top + patch - 1) // (height // grid) == cell[0]
            assert (left + patch - 1) // (width // grid) == cell[1]
            cells.append(cell)
        assert sorted(cells) == [(i, j) for i in range(grid) for j in range(grid)]


def test_all_orders_and_all_places_are_as_likely():
    out = draw(Jigsaw(2, 2), pixels(24_000, 6, 6))
    corners = out[:, :2, ::2, ::2].long()  # row and column of each patch's first pixel
    orders = Counter(map(tuple, (corners[:, 0] // 3 * 2 + corners[:, 1] // 3).flatten(1).tolist()))
    assert len(orders) == 24
    assert max(abs(count - 1000) for count in orders.values()) < 5 * 1000**0.5
    places = torch.stack([corners[:, 0] % 3, corners[:, 1] % 3]).flatten(1)
    counts = Counter(map(tuple, places.T.tolist()))
    assert set(counts) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert max(abs(count - 24_000) for count in counts.values()) < 5 * 24_000**0.5


def test_samples_are_drawn_by_themselves_and_by_the_generator():
    batch = pixels(4, 12, 12)[:, :2]
    batch = batch[:1].expand(4, -1, -1, -1)
    out = draw(Jigsaw(3, 2), batch)
    assert not torch.equal(out[0], out[1])
    assert torch.equal(out, draw(Jigsaw(3, 2), batch))
    assert not torch.equal(out, draw(Jigsaw(3, 2), batch, seed=1))


def test_patches_that_are_too_large():
    with pytest.raises(ValueError, match="patches of 5 from cells of 4 x 5 pixels"):
        draw(Jigsaw(3, 5), pixels(2, 12, 15))


@pytest.mark.parametrize(("grid", "patch"), [(0, 4), (3, 0)])
def test_sizes_out_of_range(grid, patch):
    with pytest.raises(ValueError, match=f"must be at least 1, got {grid} and {patch}"):
        Jigsaw(grid, patch)
