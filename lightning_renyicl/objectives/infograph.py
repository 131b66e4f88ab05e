"""Contrast of nodes with graphs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from lightning_renyicl.distributed import all_reduce_sum, gather, rank, reduce_sum, world_group
from lightning_renyicl.heads import ResidualHead
from lightning_renyicl.objectives.embeddings import full_precision
from lightning_renyicl.objectives.objective import Context, Objective, Parts


class InfoGraph(Objective):
    r"""InfoGraph's loss: the Jensen-Shannon bound between the nodes of graphs and the graphs themselves.

    .. math:: \frac{1}{M} \sum_{m=1}^{M} \mathrm{softplus}(-z_m^\top g_{o(m)})
              + \frac{1}{M (B - 1)} \sum_{m=1}^{M} \sum_{b \neq o(m)} \mathrm{softplus}(z_m^\top g_b) - 2 \log 2

    Sun et al. (2020), eq. (4), in the form of the authors' code; their prior, off by default, is left out. g are the B
    embeddings of the global batch's graphs, z those of their M nodes by a head of the objective's own, and o(m) is the
    graph of node m. A graph of many nodes has as much more weight. Nodes stay on their process. With several views the
    loss is their mean; the momentum encoder's embeddings are not used.
    """

    views = 1
    reads_parts = True
    nodes: ResidualHead

    def build(self, width: int, num_classes: int) -> None:
        """Makes the head of the nodes.

        Args:
            width: number D of numbers in an embedding.
            num_classes: number of labels; they are not used.
        """
        self.nodes = ResidualHead(width)

    def forward(
        self, online: Sequence[Tensor], target: Sequence[Tensor], context: Context = Context()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The mean over views; see :meth:`Objective.forward`.

        ``logs`` holds means over nodes, ``positive_score`` with their own graph and ``negative_score`` with others.

        Raises:
            ValueError: a context without nodes, nodes of another width than graphs, or a single graph.
        """
        if len(context.parts) != len(online):
            raise ValueError("InfoGraph needs embeddings of the nodes of every view, Context(parts=...)")
        terms = [self._of_view(graphs, nodes) for graphs, nodes in zip(online, context.parts, strict=True)]
        loss, positive, negative = torch.stack(terms).mean(0).unbind()
        return loss, {"positive_score": positive.detach(), "negative_score": negative.detach()}

    def _of_view(self, graphs: Tensor, nodes: Parts) -> Tensor:
        """The loss of one view, and the means of its positive and negative scores."""
        width = graphs.shape[1]
        if nodes.owner is None or nodes.values.shape[1] != width:
            raise ValueError(
                f"InfoGraph compares nodes with graphs in one space, and features are {nodes.values.shape[1]} wide, "
                f"embeddings {width}: model.projector ResidualHead keeps the width"
            )
        group = world_group()
        embeddings = self.nodes(nodes.values)
        with torch.autocast(device_type=graphs.device.type, enabled=False):
            everywhere = gather(full_precision(graphs), group).flatten(0, 1)  # [B, D]
            if len(everywhere) < 2:
                raise ValueError(f"InfoGraph needs a global batch of at least 2 graphs, got {len(everywhere)}")
            scores = full_precision(embeddings) @ everywhere.T  # [M, B]
            own = (nodes.owner + rank(group) * len(graphs))[:, None]  # [M, 1]
            positive = scores.gather(1, own)
            others = scores.scatter(1, own, -math.inf)  # without a share in the loss
            # softplus(x), which torch rounds to x above 20, is -logsigmoid(-x)
            sums = [-logsigmoid(positive).sum(), -logsigmoid(-others).sum(), positive.sum(), scores.sum()]
            own_term, other_term, own_score, all_scores = reduce_sum(torch.stack(sums), group).unbind()
            count = all_reduce_sum(scores.new_tensor(float(len(scores))), group)  # M
            negatives = count * (len(everywhere) - 1)
            loss = own_term / count + other_term / negatives - 2.0 * math.log(2.0)
            return torch.stack([loss, own_score / count, (all_scores - own_score) / negatives])
