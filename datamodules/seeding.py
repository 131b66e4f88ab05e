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
    # The length keeps positions apart that differ in trailing zeros, which SeedSequence pads with.
    words = [len(position), *(p % 2**64 for p in position)]
    state = np.random.SeedSequence(words).generate_state(1, np.uint64)[0]
    return Generator(device=device).manual_seed(int(state) % 2**63)


@contextmanager
def global_random_state(generator: Generator) -> Iterator[None]:
    """Seeds Python's and NumPy's global random state from ``generator`` for a library that draws from them.

    The state of before is put back on exit. torch's is left alone.
    """
    seed = int(torch.randint(2**32, (), generator=generator, device=generator.device))
    states = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
