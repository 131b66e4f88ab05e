"""Every domain and objective on a GPU, without the command line."""

import pytest
import torch
import torch.nn.functional as F
from lightning.pytorch import Trainer, seed_everything

from datamodules import FakeGraphs, FakeImages, FakeTable
from datamodules.augmentations import (
    ColorJitter,
    Compose,
    FeatureCorruption,
    GaussianBlur,
    GraphCL,
    Grayscale,
    HorizontalFlip,
    NodeDrop,
    Normalize,
    RandAugment,
    RandomChoice,
    RandomErasing,
    RandomMask,
    RandomResizedCrop,
    Solarize,
    Subgraph,
)
from datamodules.images.augmentations.randaugment import augment
from datamodules.images.augmentations.samples import on_cpu
from lightning_renyicl.encoders import GIN, MLP, ResNet
from lightning_renyicl.evaluation import RBFSVM, OnlineProbe
from lightning_renyicl.heads import MLPHead
from lightning_renyicl.lars import LARS
from lightning_renyicl.modules import GraphModule, TabularModule, VisionModule
from lightning_renyicl.objectives import CPC, DV, MLCPC, NWJ, RMLCPC, Renyi
from lightning_renyicl.optim import WarmupCosine

pytestmark = pytest.mark.gpu
OBJECTIVES = [CPC, DV, MLCPC, NWJ, RMLCPC, Renyi]


def image(**shared):
    normalize = Normalize((0.5, 0.5, 0.5), (0.25, 0.25, 0.25))
    jitter = ColorJitter(0.4, 0.4, 0.4, 0.1, probability=0.8)
    hard = [RandomResizedCrop(32), HorizontalFlip(), jitter, RandAugment(3, 5), Grayscale(), normalize, RandomErasing()]
    data = FakeImages([Compose(hard)] * 2, normalize)
    return VisionModule(ResNet(10, cifar_stem=True), **shared), data


def table(**shared):
    data = FakeTable([Compose([FeatureCorruption(0.2), RandomMask(0.2)])] * 2)
    return TabularModule(lambda columns: MLP(columns, [64, 64]), in_features=16, **shared), data


def graph(**shared):
    data = FakeGraphs([RandomChoice([NodeDrop(), Subgraph()]), GraphCL("random4")])
    return GraphModule(GIN, in_features=4, **shared), data


@pytest.mark.parametrize("precision", ["32-true", "16-mixed", "bf16-mixed", "bf16-true"])
@pytest.mark.parametrize("build", [image, table, graph])
def test_trains(build, precision, tmp_path):
    seed_everything(0)
    module, data = build(
        projector=lambda features: MLPHead(features, [64, 32]),
        predictor=lambda width: MLPHead(width, [64, width]),
        objective=RMLCPC(temperature=0.2, gamma=3.0),
        optimizer=lambda parameters: LARS(parameters, lr=0.1, weight_decay=1e-6),
        scheduler=WarmupCosine,
        momentum=None if precision == "bf16-true" else 0.99,
    )
    followed = module.momentum_target or module
    before = [p.detach().clone() for p in followed.parameters()]
    trainer = Trainer(
        accelerator="gpu",
        devices=1,
        precision=precision,
        max_epochs=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        callbacks=[OnlineProbe(), RBFSVM(folds=2, inner_folds=2)],
    )
    trainer.fit(module, datamodule=data)
    metrics = trainer.callback_metrics
    assert trainer.global_step == 8
    assert torch.isfinite(metrics["train/loss"])
    assert 0 <= metrics["online_probe/top1"] <= 1
    assert 0 <= metrics["svm/accuracy"] <= 1
    assert data.samples.target.device.type == "cuda"
    after = [p.detach().cpu() for p in followed.parameters()]
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))


def photographs(n=256):
    """Smooth pictures ``[n, 3, 32, 32]`` in [0, 1] with some noise."""
    generator = torch.Generator().manual_seed(0)
    smooth = F.interpolate(torch.rand(n, 3, 6, 6, generator=generator), 32, mode="bicubic").clamp_(0, 1)
    return (smooth + 0.02 * torch.rand(n, 3, 32, 32, generator=generator)).clamp_(0, 1)


def test_randaugment_is_that_of_the_processor():
    images = photographs().mul(255).byte()
    draws = RandAugment(1, 10, probability=1).draw(len(images), torch.Generator().manual_seed(0))
    drawn, fill = (draws.operation[0], draws.argument[0], draws.cubic[0]), torch.full((3, 1, 1), 128).byte()
    ours = augment(images.cuda(), *drawn, fill.cuda()).cpu().int()
    difference = (ours - augment(images, *drawn, fill).int()).abs()
    assert (difference > 0).float().mean() < 1e-3  # sums are rounded elsewhere
    assert difference.max() <= 1


@pytest.mark.parametrize(
    "augmentation", [ColorJitter(0.4, 0.4, 0.4, 0.1), GaussianBlur(0.5)], ids=lambda one: type(one).__name__
)
def test_what_is_drawn_on_the_host_is_that_of_the_processor(augmentation):
    images, generator = photographs(), torch.Generator("cuda").manual_seed(3)
    before = generator.get_state()
    ours = augmentation(images.cuda(), generator).cpu()
    generator.set_state(before)
    torch.testing.assert_close(ours, augmentation(images, on_cpu(generator)), rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    "augmentation",
    [
        *(RandomResizedCrop(32), HorizontalFlip(), Grayscale(), Solarize(0.5), RandomErasing(0.5)),
        *(RandAugment(2, 10), ColorJitter(0.4, 0.4, 0.4, 0.1), GaussianBlur(0.5)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_samples_of_a_batch_are_drawn_apart(augmentation):
    images = photographs(1).expand(64, -1, -1, -1).cuda()
    first, again, other = (augmentation(images, torch.Generator("cuda").manual_seed(seed)) for seed in (0, 0, 1))
    assert first.device == images.device
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert len(first.flatten(1).unique(dim=0)) > 1


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_equals_the_processor(objective):
    generator = torch.Generator().manual_seed(0)
    views = [torch.randn(64, 32, generator=generator) for _ in range(4)]
    results = []
    for device in ("cpu", "cuda"):
        online = [view.to(device, copy=True).requires_grad_() for view in views]
        with torch.autocast(device, torch.float16 if device == "cuda" else torch.bfloat16):
            loss, _ = objective(temperature=0.2)(online, online[:2])
        loss.backward()
        results.append([loss.detach().cpu(), *[view.grad.cpu() for view in online]])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(theirs, ours, rtol=1e-4, atol=1e-5)
