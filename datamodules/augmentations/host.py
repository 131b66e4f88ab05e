"""Draws on the CPU for batches on a GPU."""

from __future__ import annotations

import hashlib

import torch
from torch import Generator


def on_host(generator: Generator) -> Generator:
    """A generator on the CPU that another decides, which moves on; itself if it is on the CPU.

    What decides how a batch is taken apart is drawn here, since the CPU would otherwise wait for the GPU to tell it.
    """
    if generator.device.type == "cpu":
        return generator
    seed = hashlib.sha256(generator.get_state().numpy().tobytes()).digest()[:8]
    torch.rand((), generator=generator, device=generator.device)
    return torch.Generator().manual_seed(int.from_bytes(seed, "little") % 2**63)
