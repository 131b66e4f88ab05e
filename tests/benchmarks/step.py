"""A whole training step of a domain against the same networks on ready tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from lightning.pytorch import Trainer, seed_everything
from lightning.pytorch.loggers.logger import DummyLogger
from torch import Tensor

from datamodules import FakeImages, FakeTable, InMemoryDataModule
from datamodules.augmentations import (
    ColorJitter,
    Compose,
    FeatureCorruption,
    Grayscale,
    HorizontalFlip,
    Normalize,
    RandAugment,
    RandomErasing,
    RandomMask,
    RandomResizedCrop,
)
from lightning_renyicl.encoders import MLP, ResNet
from lightning_renyicl.evaluation import OnlineProbe
from lightning_renyicl.heads import MLPHead
from lightning_renyicl.modules import ContrastiveModule, TabularModule, VisionModule
from lightning_renyicl.objectives import RMLCPC
from tests.benchmarks.timing import CPU, compare

Build = Callable[[], tuple[ContrastiveModule, InMemoryDataModule]]
Loss = Callable[[ContrastiveModule, list[Tensor], list[Tensor]], Tensor]

NORMALIZE = Normalize([0.5] * 3, [0.25] * 3)
HARD = Compose(
    [
        RandomResizedCrop(32),
        HorizontalFlip(),
        ColorJitter(0.4, 0.4, 0.4, 0.1),
        RandAugment(3, 5),
        Grayscale(),
        NORMALIZE,
        RandomErasing(),
    ]
)
"""What CIFAR's hard configurations do to a view."""


def table(part: int, steps: int) -> tuple[ContrastiveModule, InMemoryDataModule]:
    """The paper's network for CovType, its widths divided by ``part``, at its batch size."""
    corrupted = Compose([FeatureCorruption(0.2), RandomMask(0.2)])
    data = FakeTable([corrupted, corrupted], batch_size=512, num_samples=512 * steps, in_features=54)
    module = TabularModule(
        lambda columns: MLP(columns, [width // part for width in (2048, 2048, 4096, 4096, 8192)]),
        in_features=54,
        projector=lambda features: MLPHead(features, (2048 // part, 128)),
        objective=RMLCPC(gamma=1.1, temperature=0.2),
        optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9),
        momentum=0.99,
    )
    return module, data


def image(steps: int) -> tuple[ContrastiveModule, InMemoryDataModule]:
    """A CIFAR ResNet-18 on views of hard augmentation, 256 images a batch."""
    data = FakeImages([HARD, HARD], NORMALIZE, batch_size=256, num_samples=256 * steps)
    module = VisionModule(
        ResNet(18, cifar_stem=True),
        projector=lambda features: MLPHead(features, (2048, 128)),
        objective=RMLCPC(gamma=2.0, temperature=0.5),
        optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9),
    )
    return module, data


def epoch_against_floor(
    build: Build,
    precision: Literal["32-true", "bf16-mixed"],
    n: int,
    device: torch.device = CPU,
    loss: Loss = lambda module, online, targets: module.objective(online, targets)[0],
) -> dict[str, Any]:
    """An epoch through the Trainer with a probe, and the same steps in a bare loop on augmented tensors.

    Args:
        build: makes module and data.
        precision: the trainer's.
        n: how often each is timed.
        device: where.
        loss: the bare loop's, from module, online and target embeddings.
    """
    seed_everything(0, verbose=False)
    module, data = build()
    trainer = Trainer(
        max_epochs=1,
        precision=precision,
        accelerator="gpu" if device.type == "cuda" else "cpu",
        devices=1,
        logger=DummyLogger(),
        callbacks=[OnlineProbe()],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        limit_val_batches=0,
    )
    trainer.fit(module, datamodule=data)  # warms up, and leaves the optimizer with its state
    module.to(device)
    data.trainer = None
    batches: list[tuple[list[Tensor], Tensor]] = [
        data.train_batch(index.to(device)) for index in data.train_dataloader()
    ]
    optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=0.01, momentum=0.9)
    target_network = module.momentum_target

    def bare() -> None:
        for views, _ in batches:
            with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16-mixed"):
                projections = [module.projector(module.backbone(view)) for view in views]
                online = projections if module.predictor is None else [module.predictor(z) for z in projections]
                targets = projections if target_network is None else [target_network(view) for view in views]
                value = loss(module, online, targets)
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            if target_network is not None:
                target_network.update(module.backbone, module.projector, 0.99)

    def whole() -> None:
        trainer.fit_loop.max_epochs = trainer.current_epoch + 1
        trainer.fit(module, datamodule=data)

    return compare(whole, bare, n, device)


def in_both_precisions(domain: str, fp32: Build, bf16: Build, n: int) -> dict[str, dict[str, Any]]:
    """A domain's step in float32 and, where the processor doesn't take minutes for it, in bfloat16."""
    results = {f"{domain}/step_vs_bare_fp32": epoch_against_floor(fp32, "32-true", n)}
    if torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2"):
        print(f"{domain}/step_vs_bare_bf16: left out, this processor has no bfloat16 instructions")
    else:
        results[f"{domain}/step_vs_bare_bf16"] = epoch_against_floor(bf16, "bf16-mixed", n)
    return results


def run() -> dict[str, dict[str, Any]]:
    """The tabular step, in float32 at a quarter of the paper's widths and in bfloat16 at its own."""
    return in_both_precisions("table", lambda: table(4, 8), lambda: table(1, 4), n=5)
