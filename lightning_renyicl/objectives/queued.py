"""What objectives with a queue of embeddings share."""

from __future__ import annotations

from typing import Any

from lightning_renyicl.objectives.bounds import CPC
from lightning_renyicl.objectives.queue import Queue, check_queue


class QueuedCPC(CPC):
    """InfoNCE with a queue of embeddings, which a subclass reads and fills.

    Args:
        queue: number of embeddings in the queue.
        least: smallest number that the method works with.
        critic: arguments of :class:`CosineCritic`.

    Raises:
        ValueError: an argument out of range.
    """

    queue: Queue

    def __init__(self, queue: int, least: int, **critic: Any) -> None:
        super().__init__(None, **critic)
        check_queue(queue, least)
        self._length = queue

    def build(self, width: int, num_classes: int) -> None:
        """Makes the queue.

        Args:
            width: number D of numbers in an embedding.
            num_classes: number of labels; they are not used.
        """
        self.queue = Queue(self._length, width)
