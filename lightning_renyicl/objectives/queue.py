"""The last embeddings of earlier batches."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lightning_renyicl.distributed import gather, world_group
from lightning_renyicl.objectives.embeddings import unit


class Queue(nn.Module):
    """The newest embeddings of length 1, of all processes, in the buffer ``rows [Q, D]``, the newest batch first.

    The rows are the same on every process and at first random directions, for which processes need no word of each
    other: DistributedDataParallel leaves the rows out of what it sends, see :func:`rows_of_queues`.

    Args:
        length: number Q of rows.
        width: number D of numbers in an embedding.
    """

    rows: Tensor

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        start = torch.randn(length, width, generator=torch.Generator().manual_seed(0))
        self.register_buffer("rows", unit(start))
        self.pushed = 0
        """How many embeddings have come, of whatever batch."""

    @property
    def full(self) -> bool:
        """Whether embeddings have taken the place of all random directions."""
        return self.pushed >= len(self.rows)

    @torch.no_grad()
    def push(self, x: Tensor) -> None:
        """Puts embeddings of all processes in front and drops the oldest; a batch that is not finite changes no row.

        The rows become another tensor, so that gradients of a loss of the earlier ones can still be taken.

        Args:
            x: embeddings ``[N, D]`` of this process.
        """
        new = gather(unit(x), world_group()).flatten(0, 1).to(self.rows.dtype)  # [M, D]
        moved = torch.cat([new, self.rows])[: len(self.rows)]
        self.rows = torch.where(new.isfinite().all(), moved, self.rows)
        self.pushed += len(new)

    def get_extra_state(self) -> Tensor:
        return torch.tensor(self.pushed)  # as all else in a state

    def set_extra_state(self, state: Tensor) -> None:
        self.pushed = int(state)


def check_queue(length: int, least: int = 0) -> None:
    """Raises ValueError for a queue that is too short.

    Args:
        length: number of rows.
        least: the smallest number of rows that the method works with.
    """
    if length < least:
        raise ValueError(f"queue must be at least {least} embeddings long, got {length}")


def rows_of_queues(module: nn.Module) -> list[str]:
    """Names of the rows of all queues in a module: 100 MB that DistributedDataParallel would send before each step."""
    return [f"{name}.rows" for name, part in module.named_modules() if isinstance(part, Queue)]
