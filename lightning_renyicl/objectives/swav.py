"""Swapped prediction of cluster assignments."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lightning_renyicl.distributed import Group, global_mean, rank, world_group, world_size
from lightning_renyicl.objectives.embeddings import check_views, full_precision
from lightning_renyicl.objectives.objective import Context
from lightning_renyicl.objectives.prototypes import PrototypeObjective, Prototypes, of_other_views, sinkhorn
from lightning_renyicl.objectives.queue import Queue, check_queue
from lightning_renyicl.objectives.ranges import check_above_zero


class SwAV(PrototypeObjective):
    r"""SwAV's loss: each view predicts to which prototypes a global view is assigned.

    .. math:: -\mathrm{mean}_{i,\, t,\, v \neq t} \sum_k Q_{ik}^{(t)} \log \mathrm{softmax}(z_i^{(v)} C^\top / \tau)_k

    Caron et al. (2020), section 3. z are embeddings and C prototypes, both of length 1; Q is :func:`sinkhorn`'s
    assignment of a global view t, without gradient, beside that of a queue's embeddings once that is full.

    Args:
        prototypes: number K of prototypes, at least 2.
        epsilon: weight of the assignment's entropy, a finite number above 0; the smaller, the harder the assignment.
        iterations: iterations of :func:`sinkhorn`, at least 1.
        temperature: temperature tau of the predictions, a finite number above 0.
        queue: number of earlier embeddings of either global view that are assigned with the batch, at least 0; for
            batches that are small beside the number of prototypes.
        queue_epochs: epochs before the queue begins to fill, at least 0.
        freeze_epochs: epochs for which prototypes keep their first values, at least 0.

    Raises:
        ValueError: an argument out of range.
    """

    prototypes: Prototypes
    queues: Sequence[Queue]

    def __init__(
        self,
        prototypes: int = 3000,
        epsilon: float = 0.05,
        iterations: int = 3,
        temperature: float = 0.1,
        queue: int = 0,
        queue_epochs: float = 15.0,
        freeze_epochs: float = 1.0,
    ) -> None:
        super().__init__(prototypes, freeze_epochs)
        check_above_zero(epsilon=epsilon, temperature=temperature)
        if iterations < 1:
            raise ValueError(f"iterations must be at least 1, got {iterations}")
        if not queue_epochs >= 0.0:
            raise ValueError(f"queue_epochs must be at least 0, got {queue_epochs}")
        check_queue(queue)
        self._length = queue
        self.epsilon, self.iterations, self.temperature = epsilon, iterations, temperature
        self.queue_epochs = queue_epochs

    def build(self, width: int, num_classes: int) -> None:
        """Makes prototypes, and a queue for either global view.

        Args:
            width: number D of numbers in an embedding.
            num_classes: number of labels; they are not used.
        """
        self.prototypes = Prototypes(self._count, width)
        queues = [Queue(self._length, width) for _ in range(2)] if self._length else []
        self.queues = nn.ModuleList(queues)  # type: ignore[assignment]

    @torch.no_grad()
    def assignments(self, target: Sequence[Tensor], group: Group) -> list[Tensor]:
        """Assignments of the two global views to prototypes.

        Shapes: two ``[N, D]`` to two ``[N, K]``.
        """
        assigned = []
        for t, view in enumerate(target):
            embeddings = full_precision(view)
            if self.queues and self.queues[t].full:
                # every process has the whole queue: each takes its own share of the rows, so that all count once
                share = full_precision(self.queues[t].rows[rank(group) :: world_size(group)])
                embeddings = torch.cat([embeddings, share])
            found = sinkhorn(self.prototypes(embeddings), self.epsilon, self.iterations, group)
            assigned.append(found[: len(view)])
        return assigned

    def forward(
        self, online: Sequence[Tensor], target: Sequence[Tensor], context: Context = Context()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The mean over pairs of a global view and another one; see :meth:`Objective.forward`.

        ``logs`` holds ``assignment_entropy``, the mean over samples, between 0 and the logarithm of K.
        """
        check_views(online, target)
        group = world_group()
        with torch.autocast(device_type=online[0].device.type, enabled=False):
            assigned = self.assignments(target, group)
            terms = []
            for view, others in zip(online, of_other_views(assigned, len(online)), strict=True):
                terms.append((others * (self.prototypes(view) / self.temperature).log_softmax(1)).sum(1))
            loss = -global_mean(torch.stack(terms).sum(0), group) / (2 * (len(online) - 1))
            entropy = global_mean(torch.special.entr(torch.stack(assigned)).sum(-1), group)
        if context.epoch >= self.queue_epochs:
            for queue, view in zip(self.queues, target, strict=False):
                queue.push(view)
        return loss, {"assignment_entropy": entropy}

    def after_step(self, momentum: float | None) -> None:
        """Gives prototypes that a step has moved length 1 again."""
        if self.prototypes.weight.grad is not None:
            self.prototypes.renormalise()
