"""Self-distillation without labels."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lightning_renyicl.distributed import Group, all_reduce_sum, global_mean, world_group, world_size
from lightning_renyicl.objectives.embeddings import check_views, unit
from lightning_renyicl.objectives.objective import Context
from lightning_renyicl.objectives.prototypes import PrototypeObjective, of_other_views
from lightning_renyicl.objectives.ranges import check_above_zero, check_not_negative


class DINO(PrototypeObjective):
    r"""DINO's loss: each view's distribution over prototypes should match the momentum encoder's for a global view.

    .. math:: -\mathrm{mean}_{i,\, t,\, v \neq t} \sum_k \mathrm{softmax}((\bar s_i^{(t)} - c) / \tau_t)_k
              \log \mathrm{softmax}(s_i^{(v)} / \tau_s)_k

    Caron et al. (2021), eq. (3). The scores s are cosines of embeddings and prototypes; the teacher's, with bars, are
    those of the momentum encoder's embeddings and of an average of the prototypes that follows as it does. The centre c
    is a moving average of the teacher's scores over the global batch. The length of a prototype has no part in its
    scores: that is the authors' weight normalisation with its gain kept at 1.

    Args:
        prototypes: number K of prototypes, at least 2.
        temperature: temperature tau_s of the student, a finite number above 0.
        teacher_temperature: temperature tau_t of the teacher after its warm-up, a finite number above 0.
        teacher_start: temperature tau_t at the beginning of its linear warm-up, a finite number above 0.
        warmup_epochs: epochs for which the teacher's temperature warms up, a finite number of at least 0.
        centre_momentum: share of the centre that remains in each step, in [0, 1].
        freeze_epochs: epochs for which prototypes keep their first values, at least 0.

    Raises:
        ValueError: an argument out of range.
    """

    needs_momentum = True
    teacher: nn.Parameter
    centre: Tensor

    def __init__(
        self,
        prototypes: int = 65536,
        temperature: float = 0.1,
        teacher_temperature: float = 0.04,
        teacher_start: float = 0.04,
        warmup_epochs: float = 0.0,
        centre_momentum: float = 0.9,
        freeze_epochs: float = 1.0,
    ) -> None:
        super().__init__(prototypes, freeze_epochs)
        check_above_zero(temperature=temperature, teacher_temperature=teacher_temperature, teacher_start=teacher_start)
        check_not_negative(warmup_epochs=warmup_epochs)
        if not 0.0 <= centre_momentum <= 1.0:
            raise ValueError(f"centre_momentum must be in [0, 1], got {centre_momentum}")
        self.temperature, self.teacher_temperature, self.teacher_start = temperature, teacher_temperature, teacher_start
        self.warmup_epochs, self.centre_momentum = warmup_epochs, centre_momentum

    def build(self, width: int, num_classes: int) -> None:
        """Makes the prototypes of student and teacher, alike, and the centre.

        Args:
            width: number D of numbers in an embedding.
            num_classes: number of labels; they are not used.
        """
        self.prototypes = nn.Linear(width, self._count, bias=False)
        self.teacher = nn.Parameter(self.prototypes.weight.detach().clone(), requires_grad=False)
        self.register_buffer("centre", torch.zeros(self._count))

    def teacher_temperature_at(self, epoch: float) -> float:
        """The teacher's temperature after a number of epochs."""
        done = min(epoch / self.warmup_epochs, 1.0) if self.warmup_epochs else 1.0
        return self.teacher_start + (self.teacher_temperature - self.teacher_start) * done

    def forward(
        self, online: Sequence[Tensor], target: Sequence[Tensor], context: Context = Context()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The mean over pairs of a global view and another one; see :meth:`Objective.forward`.

        ``logs`` holds ``teacher_entropy``, the mean over samples: 0 or the logarithm of K where training collapses.
        """
        check_views(online, target)
        group = world_group()
        with torch.autocast(device_type=online[0].device.type, enabled=False):
            with torch.no_grad():
                scores = unit(torch.stack(list(target))) @ unit(self.teacher).T  # [2, N, K]
                taught = ((scores - self.centre) / self.teacher_temperature_at(context.epoch)).softmax(-1)
                entropy = global_mean(torch.special.entr(taught).sum(-1), group)
            prototypes = unit(self.prototypes.weight)
            terms = []
            for view, others in zip(online, of_other_views(taught.unbind(), len(online)), strict=True):
                terms.append((others * (unit(view) @ prototypes.T / self.temperature).log_softmax(1)).sum(1))
            loss = -global_mean(torch.stack(terms).sum(0), group) / (2 * (len(online) - 1))
            self._move_centre(scores.mean((0, 1)), group)
        return loss, {"teacher_entropy": entropy}

    @torch.no_grad()
    def _move_centre(self, mean: Tensor, group: Group) -> None:
        """One step of the centre's moving average, if the scores of all processes are finite."""
        mean = all_reduce_sum(mean, group) / world_size(group)
        moved = self.centre.lerp(mean.to(self.centre.dtype), 1.0 - self.centre_momentum)
        self.centre.copy_(torch.where(mean.isfinite().all(), moved, self.centre))

    @torch.no_grad()
    def after_step(self, momentum: float | None) -> None:
        """Moves the teacher's prototypes as the momentum encoder is moved.

        Args:
            momentum: EMA coefficient of the momentum encoder in this step.

        Raises:
            ValueError: there is no momentum encoder.
        """
        if momentum is None:
            raise ValueError("DINO needs a momentum encoder, which its teacher's prototypes follow")
        self.teacher.lerp_(self.prototypes.weight, 1.0 - momentum)
