"""What a training step asks of any method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Generator, Tensor, nn


@dataclass(frozen=True)
class Parts:
    """Numbers that belong to the samples of one view: inputs of the network, or embeddings of a graph's nodes.

    Attributes:
        values: numbers with gradient, ``[N, ...]``, or of the nodes of N graphs ``[M, F]``.
        owner: sample of each row of ``values``, ``[M]``; None: row i is sample i.
    """

    values: Tensor
    owner: Tensor | None = None


@dataclass(frozen=True)
class Mixing:
    """Partners and weights by which samples are mixed: ``weight[i] x_i + (1 - weight[i]) x_partner[i]``.

    Attributes:
        partner: another sample of this process for each, ``[N]``.
        weight: the weight of the sample itself, ``[N]`` in [1/2, 1].
    """

    partner: Tensor
    weight: Tensor


@dataclass(frozen=True)
class Context:
    """What a method may need of a batch beside its embeddings.

    Attributes:
        labels: labels of this process's samples, ``[N]``, −1 where unknown; None: none is known.
        epoch: epochs that the training has behind it, optimizer steps by steps an epoch; a resumed run goes on.
        generator: random numbers of this batch and process, on the embeddings' device, for objectives that draw; None:
            torch's own.
        inputs: what the network reads of each view, for objectives with ``reads_inputs``; else nothing.
        parts: embeddings of the parts of each view's samples, for objectives with ``reads_parts``; else nothing.
        mixing: how the samples of the first view are mixed, for objectives with ``mixing``; else None.
    """

    labels: Tensor | None = None
    epoch: float = 0.0
    generator: Generator | None = None
    inputs: tuple[Parts, ...] = ()
    parts: tuple[Parts, ...] = ()
    mixing: Mixing | None = None


class Objective(nn.Module):
    """A loss over the embeddings of several views of one batch.

    Contrastive or not, a method is called as ``loss, logs = objective(online, target, context)``. State that a method
    needs (classifier, queue, prototypes, centre) is a buffer or parameter of the objective, the same on every process.
    """

    views = 2
    """The least number of views."""
    reads_inputs = False
    """Whether it needs gradients with respect to what the network reads."""
    reads_parts = False
    """Whether it needs embeddings of the parts that samples are made of, such as nodes of graphs."""
    mixing: float | None = None
    """The concentration a of Beta(a, a) by which the samples of the first view are mixed; None: they are not."""
    draws = False
    """Whether it needs random numbers."""
    needs_momentum = False
    """Whether there is nothing to learn without a momentum encoder."""

    def build(self, width: int, num_classes: int) -> None:
        """Makes what depends on the sizes of embeddings and labels, once, before the optimizer; here nothing.

        Args:
            width: number D of numbers in an embedding.
            num_classes: number of labels C; 0: the data has none.
        """

    def forward(
        self, online: Sequence[Tensor], target: Sequence[Tensor], context: Context = Context()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Computes the loss of one step.

        Args:
            online: V embeddings ``[N, D]``, one a view in view order, with gradient. The first two are global views.
            target: the embeddings ``[N, D]`` of the two global views: from the momentum encoder and without gradient
                if there is one, otherwise from the online network with gradient.
            context: what else there is of the batch.

        Returns:
            The scalar loss, the same on every process, and detached scalars to log.
        """
        raise NotImplementedError

    def before_step(self, epoch: float) -> None:
        """Runs when all gradients of a step are there, before the optimizer uses them; here nothing.

        Args:
            epoch: epochs that the training has behind it.
        """

    def after_step(self, momentum: float | None) -> None:
        """Runs once for each step that the optimizer took; here nothing.

        Args:
            momentum: EMA coefficient of the momentum encoder in this step; None: there is none.
        """
