"""Representations of whole splits, from the encoder as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from lightning.pytorch import Trainer
from torch import Tensor

from lightning_renyicl.distributed import world_group
from lightning_renyicl.sample_order import sample_order


@torch.no_grad()
def features_of(trainer: Trainer, loader: Any, encode: Callable[[Any], Tensor]) -> tuple[Tensor, Tensor]:
    """Representations ``[M, F]``, float32, and labels ``[M]`` of a loader's labelled samples in the data's order.

    Labels are ``[M, C]`` where a sample may be of several classes.

    Where it has no samples, both are ``[0]``, which ``torch.cat`` takes beside representations of any width.

    Samples are not augmented, and encoded in the trainer's precision. Of all processes each encodes its share and
    returns everything, on the CPU.

    Args:
        trainer: trainer whose data it is, in validation or test.
        loader: a loader of the data module's in order, such as ``feature_dataloader("train")``.
        encode: a function of a batch, the module in evaluation mode for instance.
    """
    with trainer.precision_plugin.forward_context():
        parts = [(encode(x).float().cpu(), target.cpu()) for x, target in batches_of(trainer, loader)]
    return labelled(loader, parts)


def batches_of(trainer: Trainer, loader: Any) -> Iterator[tuple[Any, Tensor]]:
    """This process's batches of a loader, and their labels, on the device."""
    data: Any = trainer.datamodule  # type: ignore[attr-defined]
    for batch in loader:
        batch = data.transfer_batch_to_device(batch, trainer.strategy.root_device, 0)
        yield data.on_after_batch_transfer(batch, 0)


def labelled(loader: Any, parts: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Features and labels of the labelled samples of a loader, from those of each batch that this process had."""
    none = (torch.empty(0), torch.empty(0, dtype=torch.long))
    features, target = (torch.cat(column) for column in zip(none, *parts, strict=True))
    features, target = in_order(loader, features, target)
    known = target >= 0 if target.ndim == 1 else (target >= 0).any(1)
    return features[known], target[known]


def in_order(loader: Any, features: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Features and labels that all processes have of a loader's samples, in the order of the data set."""
    features, target = gathered(sample_order(loader)[: len(target)], features, target)
    return features, target


def gathered(places: Tensor, *columns: Tensor) -> list[Tensor]:
    """The rows that all processes have, in the order of their places.

    Args:
        places: place of each of this process's rows in the data set, ``[M]``.
        columns: numbers of these rows, ``[M, ...]`` each, on the CPU.
    """
    group = world_group()
    if group is not None:
        parts: list[Any] = [None] * torch.distributed.get_world_size(group)
        torch.distributed.all_gather_object(parts, (places, *columns), group=group)
        places, *columns = (torch.cat(column) for column in zip(*parts, strict=True))  # type: ignore[assignment]
    order = places.argsort()
    return [column[order] for column in columns]
