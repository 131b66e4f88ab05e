"""What a training step needs beside its loss: casts of weights, when to log, and the spread of features."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from lightning.pytorch import LightningModule
from torch import Generator, Tensor

from datamodules.seeding import generator_at
from lightning_renyicl.distributed import all_reduce_sum, world_group


def weights_cast_once(device_type: str) -> torch.autocast:
    """Mixed precision, if it is on, with weights that are cast once for all views; their gradients add up as cast.

    Lightning 2.6 switches torch's cache of cast weights off, as what is first cast without gradients would have none
    later. Steps of wide networks then take up to a third longer. A momentum target's weights are cast for each view.
    """
    enabled = torch.is_autocast_enabled(device_type)
    return torch.autocast(device_type, torch.get_autocast_dtype(device_type), enabled, cache_enabled=True)


def logs_now(module: LightningModule) -> bool:
    """Whether a training step logs: where loggers look, and in the last batch of an epoch.

    Every metric of a step costs as much as a layer of a small network. Callbacks that monitor something within an epoch
    see what loggers saw last.
    """
    trainer = module._trainer
    if trainer is None or trainer.is_last_batch:
        return True
    every = trainer.log_every_n_steps  # type: ignore[attr-defined]
    return every > 0 and (trainer.global_step + 1) % every == 0


def generator_of_batch(module: LightningModule) -> Generator:
    """Random numbers that depend on the seed, the place of the batch in the training and the process alone."""
    place = (0, 0) if module._trainer is None else (module.trainer.fit_loop.total_batch_idx + 1, module.global_rank)
    return generator_at(torch.initial_seed(), *place, device=module.device)


def feature_std(features: Tensor) -> Tensor:
    """Standard deviation of L2-normalised features over the global batch, averaged over D and times sqrt(D).

    Near 1 for features spread over the sphere, near 0 for collapsed ones.

    Shapes: ``[N, D]`` to a scalar.
    """
    unit = F.normalize(features.float(), dim=-1)
    group = world_group()
    total = all_reduce_sum(torch.cat([unit.sum(0), unit.new_full((1,), len(unit))]), group)  # and the number of samples
    squares = all_reduce_sum((unit - total[:-1] / total[-1]).square().sum(0), group)
    return (squares / (total[-1] - 1).clamp(min=1)).sqrt().mean() * math.sqrt(features.shape[-1])
