"""Image augmentations by property, at their deterministic limits, and against torchvision's and timm's operators."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
import torch
from torch import Generator
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

from datamodules.augmentations import (
    ColorJitter,
    Compose,
    GaussianBlur,
    Grayscale,
    HorizontalFlip,
    Normalize,
    RandAugment,
    RandomErasing,
    RandomResizedCrop,
    Solarize,
)
from datamodules.images.augmentations.blur import blur_matrix, radius_of
from datamodules.images.augmentations.crops import resized_crop
from datamodules.seeding import generator_at, global_random_state

NORMALIZE = Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])
RANDOM = {
    "crop": RandomResizedCrop(12),
    "flip": HorizontalFlip(),
    "jitter": ColorJitter(0.4, 0.4, 0.4, 0.1),
    "randaugment": RandAugment(),
    "gray": Grayscale(),
    "blur": GaussianBlur(),
    "solarize": Solarize(),
    "erasing": RandomErasing(),
    "hard": Compose(
        [
            RandomResizedCrop(12),
            HorizontalFlip(),
            ColorJitter(0.4, 0.4, 0.4, 0.1),
            RandAugment(3, 5),
            Grayscale(),
            NORMALIZE,
            RandomErasing(),
        ]
    ),
}
ALWAYS = {
    "crop": RandomResizedCrop(12),
    "jitter": ColorJitter(0.4, 0.4, 0.4, 0.1, probability=1),
    "randaugment": RandAugment(3, probability=1),
    "blur": GaussianBlur(probability=1),
    "erasing": RandomErasing(probability=1),
}


def pictures(n: int, height: int = 16, width: int = 16, seed: int = 0) -> torch.Tensor:
    return torch.rand(n, 3, height, width, generator=generator_at(seed))


def changed(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    return (before != after).flatten(1).any(1)


@pytest.mark.parametrize("augmentation", RANDOM.values(), ids=RANDOM)
class TestEvery:
    def test_the_generator_alone_decides(self, augmentation):
        batch = pictures(40)
        first = augmentation(batch, generator_at(1))
        torch.manual_seed(5), random.seed(5), np.random.seed(5)
        assert torch.equal(first, augmentation(batch, generator_at(1)))
        assert not torch.equal(first, augmentation(batch, generator_at(2)))

    def test_global_random_state_and_the_input_stay(self, augmentation):
        batch = pictures(40)
        copy, states = batch.clone(), (random.getstate(), np.random.get_state(), torch.get_rng_state())
        augmentation(batch, generator_at(1))
        assert torch.equal(batch, copy)
        assert random.getstate() == states[0]
        np.testing.assert_equal(np.random.get_state(), states[1])
        assert torch.equal(torch.get_rng_state(), states[2])

    def test_shape_and_type(self, augmentation):
        result = augmentation(pictures(3, 12, 12), generator_at(1))
        assert result.shape == (3, 3, 12, 12)
        assert result.dtype == torch.float32
        assert result.isfinite().all()

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
    def test_other_precisions(self, augmentation, dtype):
        batch = pictures(3, 12, 12).to(dtype)
        result = augmentation(batch, generator_at(1))
        assert result.shape == batch.shape
        assert result.isfinite().all()

    @pytest.mark.parametrize(
        "batch",
        [pictures(3).mul(255).byte(), pictures(1)[0], torch.zeros(2, 5, dtype=torch.long)],
        ids=["bytes", "no batch", "rows"],
    )
    def test_what_is_no_batch_of_images(self, augmentation, batch):
        with pytest.raises(TypeError, match=r"a batch of images \[N, C, H, W\] in floating point, got \["):
            augmentation(batch, generator_at(1))


@pytest.mark.parametrize("augmentation", ALWAYS.values(), ids=ALWAYS)
def test_each_sample_has_its_own_draw(augmentation):
    batch = pictures(1).expand(30, -1, -1, -1)
    results = augmentation(batch, generator_at(0))
    assert len(results.flatten(1).unique(dim=0)) >= 28


@pytest.mark.parametrize(
    "never",
    [
        HorizontalFlip(0),
        ColorJitter(0.4, 0.4, 0.4, 0.1, probability=0),
        ColorJitter(0, 0, 0, 0, probability=1),
        Grayscale(0),
        GaussianBlur(0),
        Solarize(0),
        RandAugment(probability=0),
        RandomErasing(0),
        RandomResizedCrop(16, scale=(1, 1), ratio=(1, 1)),
    ],
    ids=lambda augmentation: type(augmentation).__name__,
)
def test_identity_limits_are_exact(never):
    batch = pictures(50)
    assert torch.equal(never(batch, generator_at(0)), batch)


@pytest.mark.parametrize(
    "augmentation",
    [
        HorizontalFlip(0.3),
        ColorJitter(0.4, 0.4, 0.4, 0.1, 0.3),
        Grayscale(0.3),
        GaussianBlur(0.3),
        Solarize(0.3),
        RandomErasing(0.3),
    ],
    ids=lambda augmentation: type(augmentation).__name__,
)
def test_share_of_samples(augmentation):
    batch = pictures(4000, 6, 6)
    share = changed(batch, augmentation(batch, generator_at(0))).float().mean()
    assert share == pytest.approx(0.3, abs=0.03)  # 4 standard deviations


class TestRandomResizedCrop:
    # tolerance: float32 rounding of other orders of summation
    @pytest.mark.parametrize("size", [5, 16, 40])
    def test_equals_torchvision_at_fixed_boxes(self, size):
        batch = pictures(6, 20, 30)
        boxes = [(0, 0, 20, 30), (3, 4, 7, 9), (19, 29, 1, 1), (0, 10, 20, 3), (2, 0, 1, 30), (9, 9, 10, 20)]
        ours = resized_crop(batch, *torch.tensor(boxes).T, size)
        for image, box, result in zip(batch, boxes, ours, strict=True):
            expected = F.resized_crop(image, *box, [size, size], antialias=True)
            torch.testing.assert_close(result, expected, atol=2e-6, rtol=0)

    def test_law_of_boxes_is_torchvisions(self):
        n, height, width = 3000, 40, 64
        ours = torch.stack(RandomResizedCrop(8).boxes(n, height, width, generator_at(0)), 1)
        reference, image = v2.RandomResizedCrop(8, scale=(0.2, 1.0)), torch.empty(3, height, width)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)
            drawn = [reference.make_params([image]) for _ in range(n)]
        theirs = torch.tensor([[box[key] for key in ("top", "left", "height", "width")] for box in drawn]).float()
        for name, a, b in zip(("top", "left", "height", "width"), ours.T, theirs.T, strict=True):
            # two-sample Kolmogorov-Smirnov distance; 0.05 has a p-value of 0.1 % at n = 3000
            points = torch.arange(-1.0, 66.0)
            distance = ((a[:, None] <= points).float().mean(0) - (b[:, None] <= points).float().mean(0)).abs().max()
            assert distance < 0.05, name
        top, left, h, w = ours.T
        assert (top >= 0).all()
        assert (left >= 0).all()
        assert (top + h <= height).all()
        assert (left + w <= width).all()
        assert torch.equal(ours, ours.round())

    @pytest.mark.parametrize(("ratio", "sides"), [(2.0, (50, 100)), (0.5, (100, 50))], ids=["wide", "high"])
    def test_a_ratio_is_width_by_height(self, ratio, sides):
        _, _, height, width = RandomResizedCrop(8, (0.125, 0.125), (ratio, ratio)).boxes(5, 200, 200, generator_at(0))
        assert list(zip(height.tolist(), width.tolist(), strict=True)) == [sides] * 5

    @pytest.mark.parametrize(
        ("shape", "ratio"),
        [((20, 20), (3.0, 4.0)), ((20, 20), (0.1, 0.3)), ((9, 60), (0.75, 1.25)), ((60, 9), (0.5, 2.0))],
    )
    def test_fallback_is_torchvisions_central_box(self, shape, ratio):
        ours = torch.stack(RandomResizedCrop(8, (1, 1), ratio).boxes(5, *shape, generator_at(0)), 1)
        box = v2.RandomResizedCrop(8, (1, 1), ratio).make_params([torch.empty(3, *shape)])
        assert ours.tolist() == [[box["top"], box["left"], box["height"], box["width"]]] * 5

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((0,), "size must be at least 1 pixel, got 0"),
            ((8, (0.0, 1.0)), "scale must be"),
            ((8, (0.6, 0.5)), "scale must be"),
            ((8, (0.5, 1.1)), "scale must be"),
            ((8, (0.5, 1.0), (0.0, 1.0)), "ratio must be"),
            ((8, (0.5, 1.0), (2.0, 1.0)), "ratio must be"),
        ],
    )
    def test_errors(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            RandomResizedCrop(*arguments)


def test_flip_is_torchvisions():
    batch = pictures(5)
    assert torch.equal(HorizontalFlip(1)(batch, generator_at(0)), F.horizontal_flip(batch))


def test_gray_is_torchvisions():
    batch = pictures(5)
    gray = Grayscale(1)(batch, generator_at(0))
    torch.testing.assert_close(gray, F.rgb_to_grayscale(batch, 3), atol=1e-6, rtol=0)


@pytest.mark.parametrize("shape", [(16, 16), (64, 41), (224, 30)])
def test_blur_is_torchvisions(shape):
    batch, sigma = pictures(4, *shape), torch.tensor([0.1, 0.7, 1.3, 2.0])
    down, across = (blur_matrix(sigma, side, radius_of(side)).unsqueeze(1) for side in shape)
    kernel = [2 * max(int(side // 10 / 2), 1) + 1 for side in reversed(shape)]  # SimCLR's
    expected = [F.gaussian_blur(image, kernel, [s.item()]) for image, s in zip(batch, sigma, strict=True)]
    torch.testing.assert_close(down @ batch @ across.mT, torch.stack(expected), atol=1e-6, rtol=0)


def test_blur_of_a_pixel_and_its_errors():
    batch = pictures(5, 1, 3)
    assert GaussianBlur(1)(batch, generator_at(0)).shape == batch.shape
    for sigma in ((0.0, 1.0), (2.0, 1.0)):
        with pytest.raises(ValueError, match="0 < smallest <= largest"):
            GaussianBlur(0.5, sigma)


def test_solarize_is_torchvisions():
    batch = pictures(5).mul(255).byte()
    result = Solarize(1)(batch / 255, generator_at(0))
    torch.testing.assert_close(result, F.solarize(batch, 128) / 255, atol=1e-6, rtol=0)


def test_normalize_is_torchvisions():
    batch = pictures(5)
    expected = F.normalize(batch, [0.5, 0.4, 0.3], [0.2, 0.3, 0.4])
    torch.testing.assert_close(NORMALIZE(batch, generator_at(0)), expected, atol=1e-6, rtol=1e-6)


class TestColorJitter:
    ADJUST = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)

    def test_equals_torchvision_in_every_order(self):
        orders = torch.tensor(list(itertools.permutations(range(4)))).repeat(3, 1)
        batch = pictures(len(orders), 7, 9)
        batch[::5, :, :2] = batch[::5, :1, :2]  # grey pixels, without a hue
        batch[1::5, 1] = batch[1::5].amax(1)  # ties of the largest channel
        factors = torch.rand(len(orders), 4, generator=generator_at(1)) * torch.tensor([2, 2, 2, 1.0])
        factors -= torch.tensor([0, 0, 0, 0.5])
        expected = batch.clone()
        for i, order in enumerate(orders.tolist()):
            for operation in order:
                expected[i] = self.ADJUST[operation](expected[i], factors[i, operation].item())
        acts = torch.arange(len(orders)) % 7 > 0
        expected[~acts] = batch[~acts]
        ours = ColorJitter(1, 1, 1, 0.5).jitter(batch, factors, orders, acts)
        # tolerance: a hue's rounding, enlarged by the contrasts that follow
        torch.testing.assert_close(ours, expected, atol=1e-5, rtol=0)

    def test_draws(self):
        factors, orders = ColorJitter(0.4, 1.5, 0.0, 0.1).draw(6000, generator_at(0))
        for column, low, high in zip(factors.T, (0.6, 0.0, 1.0, -0.1), (1.4, 2.5, 1.0, 0.1), strict=True):
            assert low <= column.min() <= low + 0.01
            assert high - 0.01 <= column.max() <= high
        permutations, counts = orders.unique(dim=0, return_counts=True)
        assert len(permutations) == 24
        assert counts.min() > 180  # 250 expected, standard deviation 15.5
        assert counts.max() < 320

    def test_result_stays_in_range(self):
        result = ColorJitter(2, 2, 2, 0.5, probability=1)(pictures(200), generator_at(0))
        assert result.min() >= 0
        assert result.max() <= 1

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [((-0.1, 0, 0, 0), "negative"), ((0, 0, 0, 0.6), r"hue must be in \[0, 0.5\]"), ((0, 0, 0, -0.1), "hue")],
    )
    def test_errors(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            ColorJitter(*arguments)

    def test_after_normalisation(self):
        batch = NORMALIZE(pictures(4), generator_at(0))
        with pytest.raises(ValueError, match=r"ColorJitter needs pixels in \[0, 1\] and stands before Normalize"):
            ColorJitter(0.4, 0.4, 0.4, 0.1)(batch, generator_at(0))


class TestRandomErasing:
    N, SIDE = 3000, 24

    def erased(self) -> tuple[torch.Tensor, torch.Tensor]:
        batch = torch.full((self.N, 3, self.SIDE, self.SIDE), 7.0)
        result = RandomErasing(0.5)(batch, generator_at(0))
        return result, (result != 7).all(1)  # [N, H, W]

    def test_boxes_of_standard_normal_noise(self):
        result, mask = self.erased()
        rows, columns = mask.any(2), mask.any(1)
        assert torch.equal(mask, rows[:, :, None] & columns[:, None, :])  # with what follows: a rectangle
        for side in (rows, columns):
            assert (side.int().diff(dim=1).clamp(min=0).sum(1) + side[:, 0] <= 1).all()
        noise = result[(result != 7).all(1, keepdim=True).expand_as(result)]
        assert noise.mean() == pytest.approx(0, abs=0.01)
        assert noise.std() == pytest.approx(1, abs=0.01)
        assert len(noise.unique()) > 0.9 * len(noise)  # float32 has few numbers twice in a million
        assert mask.any(2).any(1).float().mean() == pytest.approx(0.5, abs=0.04)

    def test_noise_is_every_samples_and_channels_own(self):
        result, mask = self.erased()
        channels = result.permute(1, 0, 2, 3)[:, mask]  # [3, pixels]
        assert channels.corrcoef().triu(1).abs().max() < 0.01
        first, second = result[mask.any(2).any(1)][:1400].view(700, 2, -1).unbind(1)
        both = (first != 7) & (second != 7)  # where two samples' boxes overlap
        assert torch.stack((first[both], second[both])).corrcoef()[0, 1].abs() < 0.02

    def test_both_places_of_a_box_are_drawn(self):
        _, mask = self.erased()
        mask = mask[mask.any(2).any(1)]
        starts = torch.stack([mask.any(side).int().argmax(1) for side in (2, 1)]).float()
        room = torch.stack([self.SIDE - mask.any(side).sum(1) for side in (2, 1)])
        shares = (starts / room)[:, (room > 0).all(0)]
        assert shares.corrcoef()[0, 1].abs() < 0.08  # 3 standard deviations at n = 1500

    def test_law_of_boxes_is_timms(self):
        from timm.data.random_erasing import RandomErasing as Reference

        _, ours = self.erased()
        with global_random_state(generator_at(1)):
            batch = torch.full((self.N, 3, self.SIDE, self.SIDE), 7.0)
            theirs = (Reference(0.5, mode="pixel", device="cpu")(batch) != 7).all(1)
        ours, theirs = (mask[mask.any(2).any(1)] for mask in (ours, theirs))
        for measure in (
            lambda mask: mask.float().sum((1, 2)),
            lambda mask: mask.any(2).int().argmax(1),
            lambda mask: mask.any(1).int().argmax(1),
            lambda mask: mask.any(2).sum(1),
        ):
            points = torch.arange(-1.0, self.SIDE**2)
            a, b = ((measure(mask)[:, None] <= points).float().mean(0) for mask in (ours, theirs))
            assert (a - b).abs().max() < 0.07  # Kolmogorov-Smirnov: p-value of 0.1 % at n = 1500

    def test_areas(self):
        batch = torch.zeros(400, 3, 40, 40)
        share = (RandomErasing(1, 0.1, 0.2)(batch, generator_at(0)) != 0).any(1).float().mean((1, 2))
        assert share.min() > 0.09  # whole pixels
        assert share.max() < 0.21
        assert share.mean() == pytest.approx(0.15, abs=0.01)

    def test_an_image_that_no_box_fits_stays(self):
        batch = torch.zeros(20, 3, 1, 1)
        assert torch.equal(RandomErasing(1, 1, 1)(batch, generator_at(0)), batch)

    @pytest.mark.parametrize("areas", [(0, 0.5), (0.5, 0.4), (0.5, 1.1)])
    def test_errors(self, areas):
        with pytest.raises(ValueError, match="min_area <= max_area"):
            RandomErasing(0.2, *areas)


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
@pytest.mark.parametrize(
    "build",
    [
        HorizontalFlip,
        Grayscale,
        GaussianBlur,
        Solarize,
        RandomErasing,
        lambda p: ColorJitter(0, 0, 0, 0, p),
        lambda p: RandAugment(probability=p),
    ],
)
def test_probabilities_are_checked(build, probability):
    with pytest.raises(ValueError, match=r"probability must be in \[0, 1\]"):
        build(probability)


@pytest.mark.parametrize(
    ("mean", "std", "message"),
    [([0.5] * 3, [0.5], "3 and 1"), ([0.5], [0.0], "std must be positive"), ([], [], "0 and 0")],
)
def test_normalize_errors(mean, std, message):
    with pytest.raises(ValueError, match=message):
        Normalize(mean, std)


@pytest.mark.gpu
@pytest.mark.parametrize("augmentation", RANDOM.values(), ids=RANDOM)
def test_on_the_gpu(augmentation):
    batch = pictures(40).cuda()
    state = torch.cuda.get_rng_state()
    results = [augmentation(batch, Generator("cuda").manual_seed(1)) for _ in range(2)]
    assert results[0].device == batch.device
    assert torch.equal(*results)
    assert torch.equal(torch.cuda.get_rng_state(), state)


@pytest.mark.gpu
@pytest.mark.parametrize("augmentation", RANDOM.values(), ids=RANDOM)
def test_the_gpu_is_not_waited_for(augmentation):
    batch, generator = pictures(40).cuda(), Generator("cuda").manual_seed(1)
    augmentation(batch, generator)  # the first batch is looked at
    torch.cuda.set_sync_debug_mode("error")
    try:
        augmentation(batch, generator)
    finally:
        torch.cuda.set_sync_debug_mode("default")
