"""Digits and made-up pictures as images in memory."""

from __future__ import annotations

import pytest
import torch
from sklearn.datasets import load_digits
from torchvision.transforms.v2 import functional as F

from datamodules import DigitsImage, DigitsTable
from datamodules.augmentations import Identity, Normalize
from datamodules.images.fake import FakeImages

VIEWS = [Identity(), Identity()]
NORMALIZE = Normalize([0.5] * 3, [0.25] * 3)


class TestDigitsImage:
    @pytest.mark.parametrize("size", [8, 16, 28])
    def test_rows_are_enlarged_scans(self, size):
        samples = DigitsImage(VIEWS, NORMALIZE, size=size).samples
        assert samples.inputs.shape == (1797, 3, size, size)
        assert samples.inputs.dtype == torch.uint8
        scans = torch.from_numpy(load_digits().images).float() / 16 * 255
        expected = F.resize(scans.unsqueeze(1), [size, size], antialias=True).expand(-1, 3, -1, -1)
        assert (samples.inputs - expected).abs().max() <= 0.51
        assert torch.equal(samples.target, torch.from_numpy(load_digits().target).long())

    def test_size_of_the_scan_keeps_its_pixels(self):
        rows = DigitsImage(VIEWS, NORMALIZE, size=8).samples.inputs
        assert (rows.amin(), rows.amax()) == (0, 255)
        assert len(rows.unique()) == 17

    def test_same_splits_as_the_rows(self):
        images, rows = DigitsImage(VIEWS, NORMALIZE).samples.splits, DigitsTable(VIEWS).samples.splits
        assert all(torch.equal(images[split], rows[split]) for split in ("train", "val", "test"))

    def test_a_view_is_in_0_to_1_and_evaluation_is_normalised(self):
        data, index = DigitsImage(VIEWS, NORMALIZE), torch.arange(50)
        (view, _), target = data.train_batch(index)
        assert view.dtype == torch.float32
        assert (view.min(), view.max()) == (0, 1)
        images, labels = data.eval_batch(index)
        torch.testing.assert_close(images, (view - 0.5) / 0.25)
        assert torch.equal(target, labels)
        assert data.samples.inputs.dtype == torch.uint8

    def test_answers_without_a_trainer(self):
        data = DigitsImage(VIEWS, NORMALIZE)
        assert (data.num_classes, data.in_features) == (10, None)

    def test_errors(self):
        with pytest.raises(ValueError, match="size must be at least 1 pixel, got 0"):
            DigitsImage(VIEWS, NORMALIZE, size=0)


class TestFakeImages:
    def test_shapes_and_splits(self):
        samples = FakeImages(VIEWS, NORMALIZE, size=20, num_samples=64, num_classes=5).samples
        assert samples.inputs.shape == (128, 3, 20, 20)
        assert samples.inputs.dtype == torch.uint8
        assert {split: len(rows) for split, rows in samples.splits.items()} == {"train": 64, "val": 32, "test": 32}
        assert len(torch.cat(list(samples.splits.values())).unique()) == 128
        assert samples.target[samples.splits["val"]].bincount().tolist() == [7, 7, 6, 6, 6]

    def test_classes_can_be_told_apart(self):
        samples = FakeImages(VIEWS, NORMALIZE).samples
        train, test = samples.splits["train"], samples.splits["test"]
        rows = samples.inputs.flatten(1).float()
        nearest = torch.cdist(rows[test], rows[train]).argmin(1)
        assert torch.equal(samples.target[train][nearest], samples.target[test])

    def test_the_same_at_every_start(self):
        torch.manual_seed(1)
        first = FakeImages(VIEWS, NORMALIZE).samples.inputs
        torch.manual_seed(2)
        assert torch.equal(first, FakeImages(VIEWS, NORMALIZE).samples.inputs)

    @pytest.mark.parametrize("argument", ["size", "num_samples", "num_classes"])
    def test_errors(self, argument):
        with pytest.raises(ValueError, match="must be at least 1"):
            FakeImages(VIEWS, NORMALIZE, **{argument: 0})
