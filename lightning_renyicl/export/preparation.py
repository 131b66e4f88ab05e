"""What is done to samples before the encoder has them: as modules for a graph, in words for a card."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from datamodules.augmentations.base import Augmentation, Compose, Identity
from datamodules.base import SplitLoaders
from datamodules.images.augmentations import CenterCrop, Normalize
from datamodules.images.cuts import cut_of
from datamodules.stored import make
from lightning_renyicl.export.source import Source


class Prepared(nn.Module):
    """An encoder of samples as they are before anything is done to them.

    Args:
        preparation: what is done to a batch.
        backbone: the encoder.
    """

    def __init__(self, preparation: nn.Module, backbone: nn.Module) -> None:
        super().__init__()
        self.preparation = preparation
        self.backbone = backbone

    def forward(self, x: Tensor) -> Tensor:
        features: Tensor = self.backbone(self.preparation(x))
        return features


class Batchwise(nn.Module):
    """An augmentation that draws nothing, as a function of a batch alone.

    Args:
        augmentation: the augmentation.
    """

    def __init__(self, augmentation: Augmentation) -> None:
        super().__init__()
        self.augmentation = augmentation

    def forward(self, x: Tensor) -> Tensor:
        changed: Tensor = self.augmentation(x, None)
        return changed


def eval_augmentation(source: Source) -> Augmentation:
    """What evaluation does to images.

    Raises:
        ValueError: a checkpoint that doesn't say it.
    """
    found = make(source.data.get("eval_augmentation"), source.path)
    if not isinstance(found, Augmentation):
        raise ValueError(f"{source.path} doesn't say data.eval_augmentation, which normalises images")
    return found


def of_images(source: Source) -> nn.Module:
    """What evaluation does to images of one size: all but the crop that it begins with.

    Raises:
        ValueError: something that is no normalisation.
    """
    _, rest = cut_of(eval_augmentation(source))
    for part in rest.modules():
        if isinstance(part, Augmentation) and not isinstance(part, Compose | Identity | Normalize):
            raise ValueError(
                f"data.eval_augmentation has {type(part).__name__}, which cannot be in an exported graph, as Normalize "
                "can: --to timm, torchvision or safetensors"
            )
    return Batchwise(rest)


def of_rows(source: Source) -> nn.Module | None:
    """What the data did to rows, by what it learnt from training rows; None: nothing.

    Raises:
        ValueError: data that cannot be made again without its files.
    """
    preparation: nn.Module | None = SplitLoaders.load_from_checkpoint(source.path).preparation()
    return preparation


def side_of(source: Source) -> int | None:
    """Pixels along a side of the images that evaluation sees, else of those that training sees; None: nobody says."""
    for key, kinds in (("eval_augmentation", ("CenterCrop",)), ("views", ("RandomResizedCrop", "CenterCrop"))):
        for section in _sections(source.data.get(key)):
            if str(section["class_path"]).rpartition(".")[2] in kinds:
                size = (section.get("init_args") or {}).get("size")
                if isinstance(size, int):
                    return size
    size = source.data.get("size")
    return size if isinstance(size, int) else None


def normalisation(source: Source) -> list[dict[str, Any]] | dict[str, Any] | None:
    """What is done to samples, for the card; None: nothing, or nothing that is known."""
    if source.samples == "rows":
        preparation = of_rows(source)
        return None if preparation is None else preparation.describe()  # type: ignore[operator]
    if source.samples != "images":
        return None
    steps: list[dict[str, Any]] = []
    for part in eval_augmentation(source).modules():
        if isinstance(part, CenterCrop):
            steps.append({"CenterCrop": {"resize": part.resize, "size": part.size}})
        elif isinstance(part, Normalize):
            steps.append({"Normalize": {name: _numbers(getattr(part, name)) for name in ("mean", "std")}})
        elif isinstance(part, Augmentation) and not isinstance(part, Compose | Identity):
            steps.append({type(part).__name__: {}})
    return steps


def example(source: Source, prepared: nn.Module | None, size: int | None) -> Tensor:
    """A batch of two samples to trace a graph with.

    Args:
        source: the encoder.
        prepared: what is done to rows.
        size: pixels along a side of images; None: as in evaluation.

    Raises:
        ValueError: images of a size that nobody says.
    """
    if source.samples == "images":
        side = size or side_of(source)
        if side is None:
            raise ValueError("the checkpoint doesn't say how large its images are: --size, pixels along a side")
        return torch.rand(2, 3, side, side)
    if prepared is None:
        return torch.zeros(2, source.model["in_features"])
    return torch.zeros(2, prepared.in_columns, dtype=torch.float64)  # type: ignore[call-overload]


def _numbers(values: Tensor) -> list[float]:
    """Numbers in single precision, as people wrote them."""
    return [float(f"{value:.7g}") for value in values.flatten().tolist()]


def _sections(tree: Any) -> Any:
    """Every ``{class_path, init_args}`` in nested dictionaries and lists, outer ones first."""
    if isinstance(tree, dict):
        if "class_path" in tree:
            yield tree
        for value in tree.values():
            yield from _sections(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _sections(value)
