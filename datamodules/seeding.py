"""Random generators that depend on where a batch stands, not on what ran before it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Generator


def generator_at(*position: int, device: torch.device | str = "cpu") -> Generator:
    """A generator seeded from non-negative integers such as (seed, epoch, batch index, rank)."""
    state = np.random.SeedSequence([p % 2**64 for p in position]).generate_state(1, np.uint64)[0]
    return Generator(device=device).manual_seed(int(state) % 2**63)


@contextmanager
def global_random_state(generator: Generator) -> Iterator[None]:
    """Seeds Python's, NumPy's and torch's global random state from ``generator`` for a library that draws from them.

    The state of before is put back on exit.
    """
    seed = int(torch.randint(2**32, (), generator=generator, device=generator.device))
    states = random.getstate(), np.random.get_state()
    devices = [generator.device] if generator.device.type != "cpu" else []
    with torch.random.fork_rng(devices, device_type=generator.device.type if devices else "cuda"):
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])
