"""Mixing of the samples of a view, on the device."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lightning_renyicl.objectives import Mixing


def draw_mixing(samples: int, concentration: float, seed: int, device: torch.device) -> Mixing:
    """Partners and weights as in i-Mix (Lee et al., 2021), which depend on the seed alone.

    Weights are max(b, 1 - b), b from Beta(a, a), for each sample; partners are a permutation. torch's Beta would draw
    from global random state, which a resumed run hasn't.

    Args:
        samples: number N of samples of this process.
        concentration: parameter a of the weights' distribution.
        seed: number that belongs to this batch and process, not negative.
        device: where the tensors go; a GPU is not waited for.
    """
    generator = np.random.default_rng(seed)
    drawn = generator.beta(concentration, concentration, samples)
    weight = torch.from_numpy(np.maximum(drawn, 1.0 - drawn).astype(np.float32))
    partner = torch.from_numpy(generator.permutation(samples))
    if device.type == "cuda":
        partner, weight = partner.pin_memory(), weight.pin_memory()
    return Mixing(partner.to(device, non_blocking=True), weight.to(device, non_blocking=True))


def mix(x: Tensor, mixing: Mixing | None) -> Tensor:
    """Each sample together with its partner, ``weight x + (1 - weight) x[partner]``; None leaves all as they are.

    Shapes: ``[N, ...]`` to the same.
    """
    if mixing is None:
        return x
    weight = mixing.weight.to(x.dtype).view(-1, *[1] * (x.dim() - 1))
    return torch.lerp(x[mixing.partner], x, weight)
