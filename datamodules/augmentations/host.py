"""Draws on the CPU for batches on a GPU, none of which waits for the other."""

from __future__ import annotations

import hashlib

import torch
from torch import Generator, Tensor


def on_host(generator: Generator) -> Generator:
    """A generator on the CPU that another decides, which moves on; itself if it is on the CPU.

    What decides how a batch is taken apart is drawn here, since the CPU would otherwise wait for the GPU to tell it.
    """
    if generator.device.type == "cpu":
        return generator
    seed = hashlib.sha256(generator.get_state().numpy().tobytes()).digest()[:8]
    torch.rand((), generator=generator, device=generator.device)
    return torch.Generator().manual_seed(int.from_bytes(seed, "little") % 2**63)


def to_device(drawn: Tensor, device: torch.device) -> Tensor:
    """What was drawn, where the batch is; a copy from pageable memory would wait for all that the GPU has to do."""
    return drawn.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else drawn.to(device)
