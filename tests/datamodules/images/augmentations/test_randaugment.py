"""RandAugment on batches: timm's arguments, its law, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.stats import ks_2samp, kstest, norm
from sklearn.datasets import load_sample_images
from timm.data import auto_augment as timm

from datamodules.augmentations import Normalize, RandAugment
from datamodules.images.augmentations.randaugment import NAMES, NONE, PIXELS, WHOLE, arguments, augment
from datamodules.images.augmentations.reference import reference
from datamodules.seeding import generator_at, global_random_state

PHOTOGRAPH = np.asarray(Image.fromarray(load_sample_images().images[0][:420, :420]).resize((28, 28)))
FILL = (124, 7, 250)
COLOUR = torch.tensor(FILL, dtype=torch.uint8).view(-1, 1, 1)


def pictures(n):
    return torch.rand(n, 3, 16, 16, generator=generator_at(0))


def test_operations_are_timms():
    assert set(NAMES) == {operation.name for operation in timm.rand_augment_ops()}
    assert len(NAMES) == 15


@pytest.mark.parametrize("name", NAMES)
def test_arguments_are_timms(name):
    levels = torch.linspace(0, 10, 101, dtype=torch.float64)
    operation = torch.full((101,), NAMES.index(name))
    to_argument = timm.LEVEL_TO_ARG[name]
    theirs = [0.0 if to_argument is None else abs(to_argument(level, {})[0]) for level in levels.tolist()]
    for negative in (False, True):
        ours = arguments(operation, levels, torch.full((101,), negative))
        sign = -1 if negative and name not in PIXELS else 1
        np.testing.assert_allclose(ours, sign * np.array(theirs), rtol=0, atol=1e-12)


def test_each_image_gets_its_own_operation():
    """Every operation once, in a batch whose order is not that of the operations, as Pillow does each."""
    rows = torch.randperm(16, generator=generator_at(1))  # one of them none
    level, cubic = torch.full((16,), 5.3, dtype=torch.float64), torch.arange(16) % 2 == 0
    argument = arguments(rows, level, torch.zeros(16, dtype=torch.bool))
    batch = torch.from_numpy(PHOTOGRAPH.copy()).permute(2, 0, 1).expand(16, -1, -1, -1)
    result = augment(batch, rows, argument, cubic, COLOUR)
    image, worst = Image.fromarray(PHOTOGRAPH), {}
    for i, row in enumerate(rows.tolist()):
        expected = image
        if row != NONE:
            name, by = NAMES[row], argument[i].item()
            resampling = Image.Resampling.BICUBIC if cubic[i] else Image.Resampling.BILINEAR
            taken = () if timm.LEVEL_TO_ARG[name] is None else (int(by) if name in WHOLE else by,)
            expected = timm.NAME_TO_OP[name](image, *taken, resample=resampling, fillcolor=FILL)
        gap = np.abs(np.asarray(expected).astype(int) - result[i].permute(1, 2, 0).numpy().astype(int))
        worst[row] = gap.mean()
    assert len(worst) == 16
    assert max(worst.values()) <= 0.02  # levels of 255


@pytest.mark.parametrize("name", [name for name in NAMES if name not in PIXELS])
def test_argument_and_interpolation_are_each_images_own(name):
    argument, cubic = (
        torch.tensor([0.2987, -0.2113, 0.1239, -0.2771, 0.0437]),
        torch.tensor([False, True, True, False, True]),
    )
    if name == "Rotate":
        argument = 100 * argument  # degrees
    batch = torch.from_numpy(PHOTOGRAPH.copy()).permute(2, 0, 1).expand(5, -1, -1, -1)
    result = augment(batch, torch.full((5,), NAMES.index(name)), argument, cubic, COLOUR)
    for moved, by, way in zip(result, argument.tolist(), cubic.tolist(), strict=True):
        resampling = (Image.Resampling.BILINEAR, Image.Resampling.BICUBIC)[way]
        expected = timm.NAME_TO_OP[name](Image.fromarray(PHOTOGRAPH), by, resample=resampling, fillcolor=FILL)
        gap = np.abs(np.asarray(expected).astype(int) - moved.permute(1, 2, 0).numpy().astype(int))
        assert gap.mean() <= 0.02  # levels of 255; with the other interpolation 0.1 at least


def test_law_of_draws():
    n = 10_000
    draws = RandAugment(3, magnitude=5, probability=0.4).draw(n, generator_at(0))
    assert draws.operation.shape == draws.argument.shape == draws.cubic.shape == (3, n)
    shares = draws.operation.flatten().bincount(minlength=16) / (3 * n)
    # five standard deviations of a share of 30,000 draws
    torch.testing.assert_close(shares[:15], torch.full((15,), 0.4 / 15), rtol=0, atol=0.0047)
    assert shares[15] == pytest.approx(0.6, abs=0.015)
    degrees = draws.argument[draws.operation == NAMES.index("Rotate")]
    assert (degrees < 0).double().mean() == pytest.approx(0.5, abs=0.1)
    assert kstest(degrees.abs() / 3, norm(5, 0.5).cdf).pvalue > 1e-3
    assert draws.cubic.double().mean() == pytest.approx(0.5, abs=0.015)
    moves = (draws.operation >= NAMES.index("ShearX")) & (draws.operation != NONE)
    negative = draws.argument[moves] < 0
    assert (negative == draws.cubic[moves]).double().mean() == pytest.approx(0.5, abs=0.05)  # each its own draw
    turned = RandAugment(2, magnitude=5, probability=1, level_std=1).draw(100_000, generator_at(1))
    both = (turned.operation == NAMES.index("Rotate")).all(0)
    assert abs(turned.argument[:, both].abs().corrcoef()[0, 1]) < 0.2  # 4 standard deviations at n = 440
    first, second = draws.operation[:2]
    assert ((first == second) & (first != NONE)).double().mean() == pytest.approx(0.4**2 / 15, abs=0.006)  # replacement


def test_levels_are_cut():
    draws = RandAugment(2, magnitude=10, probability=1, level_std=2).draw(5000, generator_at(0))
    degrees = draws.argument[draws.operation == NAMES.index("Rotate")].abs()
    assert degrees.max() == 30
    assert (degrees == 30).double().mean() == pytest.approx(0.5, abs=0.1)
    draws = RandAugment(2, magnitude=3, probability=1, level_std=0).draw(5000, generator_at(0))
    assert draws.argument[draws.operation == NAMES.index("Rotate")].abs().unique().tolist() == [9.0]


@pytest.mark.parametrize(("operations", "magnitude"), [(2, 10), (3, 5)], ids=["imagenet", "cifar"])
def test_results_have_timms_distribution(operations, magnitude):
    n = 3000
    batch = torch.from_numpy(PHOTOGRAPH / np.float32(255)).permute(2, 0, 1).expand(n, -1, -1, -1)
    ours = RandAugment(operations, magnitude)(batch, generator_at(0)).mul(255).round()
    reference = timm.rand_augment_transform(f"rand-n{operations}-m{magnitude}-mstd0.5")
    image = Image.fromarray(PHOTOGRAPH)
    with global_random_state(generator_at(1)):
        theirs = torch.stack([torch.from_numpy(np.array(reference(image))).permute(2, 0, 1) for _ in range(n)]).float()
    before = (batch[:1] * 255).round()
    for measure in (
        lambda images: images.mean((1, 2, 3)),
        lambda images: images.std((1, 2, 3)),
        lambda images: (images - before).abs().mean((1, 2, 3)),
        lambda images: images.mean((2, 3)).diff(dim=1).abs().mean(1),
        lambda images: (images == 128).all(1).float().mean((1, 2)),
        lambda images: images[..., :14].mean((1, 2, 3)) - images[..., 14:].mean((1, 2, 3)),
        lambda images: images[..., :14, :].mean((1, 2, 3)) - images[..., 14:, :].mean((1, 2, 3)),
    ):
        a, b = (measure(images).round(decimals=1).numpy() for images in (ours, theirs))
        assert ks_2samp(a, b).pvalue > 1e-3
    untouched = [(images == before).flatten(1).all(1).float().mean().item() for images in (ours, theirs)]
    assert untouched[0] == pytest.approx(untouched[1], abs=0.06)  # five standard deviations


def test_untouched_samples_are_not_rounded():
    batch = pictures(100)
    result = RandAugment(1, probability=0.3)(batch, generator_at(0))
    touched = (batch != result).flatten(1).any(1)
    assert touched.float().mean() == pytest.approx(0.3, abs=0.15)
    levels = result[touched] * 255
    torch.testing.assert_close(levels, levels.round(), atol=1e-4, rtol=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype):
    result = RandAugment(3, probability=1)(pictures(50).to(dtype), generator_at(0))
    assert result.dtype == dtype
    exact = RandAugment(3, probability=1)(pictures(50).to(dtype).float(), generator_at(0))
    torch.testing.assert_close(result.float(), exact, atol=4e-3, rtol=0)


def test_refuses_normalised_images():
    normalised = Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])(pictures(4), generator_at(0))
    with pytest.raises(ValueError, match=r"stands before Normalize, got -2\.\d+ to 2\.\d+"):
        RandAugment()(normalised, generator_at(0))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"operations": 0}, "operations must be at least 1, got 0"),
        ({"magnitude": -1}, r"magnitude must be in \[0, 10\], got -1"),
        ({"magnitude": 10.5}, r"magnitude must be in \[0, 10\], got 10.5"),
        ({"level_std": -0.5}, "level_std"),
        ({"level_std": float("inf")}, "level_std"),
        ({"fill": (0, 256, 0)}, r"fill must be three numbers in \[0, 255\], red, green and blue, got \(0, 256, 0\)"),
    ],
)
def test_errors(wrong, message):
    with pytest.raises(ValueError, match=message):
        RandAugment(**wrong)


@pytest.mark.parametrize("fill", [None, (124, 116, 104)], ids=["grey", "mean of ImageNet"])
def test_uncovered_pixels_have_the_fill(fill):
    """Of white images all pixels that are not white are uncovered, in both engines."""
    view = RandAugment(1, 10, 1, 0) if fill is None else RandAugment(1, 10, 1, 0, fill=fill)
    operation = view.draw(300, generator_at(0)).operation[0]
    moved = (operation >= NAMES.index("ShearX")) & (operation != NONE)
    white = torch.ones(300, 3, 16, 16)
    found = view(white, generator_at(0))[moved].mul(255).round().byte().movedim(1, -1).reshape(-1, 3).unique(dim=0)
    assert found.tolist() == [list(fill or (128, 128, 128)), [255, 255, 255]]
    turn = next(one for one in reference(view).ops if one.name == "Rotate")
    with global_random_state(generator_at(1)):
        theirs = np.asarray(turn(Image.new("RGB", (16, 16), (255, 255, 255))))
    assert tuple(theirs[0, 0]) == (fill or (128, 128, 128))
