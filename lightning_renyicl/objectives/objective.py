"""What a training step asks of any self-supervised method."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn


class Objective(nn.Module):
    """A loss over the embeddings of several views of one batch.

    Contrastive or not, a method is called as ``loss, logs = objective(online, target)``. State that a method needs
    (queue, prototypes, centre) is a buffer or parameter of the objective.
    """

    def forward(self, online: Sequence[Tensor], target: Sequence[Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """Computes the loss of one step.

        Args:
            online: V embeddings ``[N, D]``, one a view in view order, with gradient. The first two are global views.
            target: the embeddings ``[N, D]`` of the two global views: from the momentum encoder and without gradient
                if there is one, otherwise from the online network with gradient.

        Returns:
            The scalar loss, the same on every process, and detached scalars to log.
        """
        raise NotImplementedError
