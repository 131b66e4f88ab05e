"""The cosine critic and the loss that every bound on its scores shares."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lightning_renyicl.distributed import Group, gather, rank, world_group
from lightning_renyicl.objectives.embeddings import check_views, unit
from lightning_renyicl.objectives.functional import mutual_information
from lightning_renyicl.objectives.objective import Context, Objective
from lightning_renyicl.objectives.ranges import check_above_zero
from lightning_renyicl.objectives.ratios import log_ratio, row_log_ratio


class CosineCritic(Objective):
    r"""An objective that maximises a bound on the scores of a cosine critic.

    .. math:: f(x, y) = \frac{x^\top y}{\tau \|x\| \|y\|}

    RényiCL (Lee and Shin, 2022), appendix "ImageNet experiments". A target view t makes positive pairs with every other
    online view of the same sample and negative pairs with every other sample of the global batch. The loss is minus the
    bound, summed over the two targets.

    Args:
        temperature: temperature tau of the cosine critic, a finite number above 0.
        symmetric: whether both global views serve as target; with False only the first view is contrasted with the
            second (and the local views with it).
        same_view: whether the other samples in the query's own view are negatives too, as in SimCLR: 2 K an anchor,
            of two views.

    Raises:
        ValueError: a temperature out of range.
    """

    normalises_per_anchor = False
    """Whether each anchor's positives are normalised by its own negatives, so that it matters which view is the anchor.

    Else the bound reads the scores as two sets, normalised over the global batch: swapping two views changes nothing.
    """
    best_is_log_ratio = True
    """Whether the critic that maximises the bound is a log ratio of densities, up to what normalisers estimate."""

    def __init__(self, temperature: float = 0.5, symmetric: bool = True, same_view: bool = False) -> None:
        super().__init__()
        check_above_zero(temperature=temperature)
        self.temperature = temperature
        self.symmetric = symmetric
        self.same_view = same_view

    def bound(self, p: Tensor, n: Tensor, group: Group) -> Tensor:
        """The bound in nats for positive scores ``[N, P]`` and negative scores ``[N, P, K]``."""
        raise NotImplementedError

    def embed(self, x: Tensor) -> Tensor:
        """What two embeddings are scored by, as the dot product over the temperature: here embeddings of length 1.

        Shapes: ``[..., D]`` to the same, in float32 or float64.
        """
        return unit(x)

    def log_ratios(self, p: Tensor, n: Tensor, group: Group) -> dict[str, Tensor]:
        """The mutual information of every positive pair by each way to read it off the bound's best critic.

        Args:
            p: scores of positive pairs, ``[N]`` or ``[N, P]``.
            n: scores of negative pairs, ``[N, K]`` or ``[N, P, K]``.
            group: processes that share the batch; None is this process only.

        Returns:
            log r in nats, of the shape of ``p``, NaN where there is no ratio; first the way that is right for this
            bound. ``by_anchor`` and ``by_batch`` are the two normalisers of :mod:`objectives.ratios`.

        Raises:
            ValueError: alpha 1, or a loss whose best critic is no log ratio.
        """
        if not self.best_is_log_ratio:
            raise ValueError(
                f"no mutual information can be read off a critic that {type(self).__name__} trains, as its optimum is "
                "not known: take a bound such as CPC or RMLCPC, or JSD or RPC"
            )
        alpha = getattr(self, "alpha", 0.0)
        by_batch = log_ratio(p, n, 1 / (n.shape[-1] + 1) if alpha is None else alpha, group)
        if self.normalises_per_anchor:
            return {"by_anchor": row_log_ratio(p, n), "by_batch": by_batch}
        return {"by_batch": by_batch, "by_anchor": row_log_ratio(p, n)}

    def scores(self, online: Sequence[Tensor], target: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of online views against one target view.

        Args:
            online: P embeddings ``[N, D]`` of views other than the target's.
            target: embeddings ``[N, D]`` of the target view.

        Returns:
            Positives ``[N, P]`` and negatives ``[N, P, K]`` in float32 (float64 stays), K = global batch − 1.

        Raises:
            ValueError: the global batch has fewer than two samples.
        """
        group = world_group()
        with torch.autocast(device_type=target.device.type, enabled=False):
            queries = self.embed(torch.stack(list(online), dim=1))  # [N, P, D]
            keys = self.embed(target)  # [N, D]
            samples = keys.shape[0]
            everywhere = gather(keys, group).flatten(0, 1)  # [M, D], M samples in the global batch
            total = everywhere.shape[0]
            if total < 2:
                raise ValueError(f"a contrastive objective needs a global batch of at least 2 samples, got {total}")
            cosines = queries @ everywhere.T / self.temperature  # [N, P, M]
            own = torch.arange(samples, device=keys.device) + rank(group) * samples  # [N]
            others = torch.arange(total - 1, device=keys.device).repeat(samples, 1)  # [N, K]
            others = others + (others >= own[:, None])  # column indices that skip the sample's own
            views = cosines.shape[1]
            p = cosines.gather(2, own[:, None, None].expand(-1, views, 1)).squeeze(2)  # [N, P]
            n = cosines.gather(2, others[:, None].expand(-1, views, -1))  # [N, P, K]
        return p, n

    def forward(
        self, online: Sequence[Tensor], target: Sequence[Tensor], context: Context = Context()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Minus the bound summed over targets; see :meth:`Objective.forward`.

        ``logs`` holds means over targets: ``bound`` and ``mutual_information`` in nats, ``positive_score`` and
        ``negative_score``. Where two identical terms are computed once, they are those of one target; only the estimate
        of mutual information, normalised for each anchor, could tell the difference. With more than two views that is
        the mean over pairs of views, and not the authors' number, see :func:`functional.mutual_information`; where the
        best critic is no log ratio, it is left out. Negatives in a query's own view are in none but ``bound``.
        """
        check_views(online, target)
        if self.same_view and len(online) > 2:
            raise ValueError(f"same_view true is for two views, got {len(online)}: local views have no target")
        group = world_group()
        same = len(online) == 2 and all(o is t for o, t in zip(online, target, strict=True))
        once = not self.symmetric or (same and not self.normalises_per_anchor and not self.same_view)
        bounds, logs = [], []
        for t in (1,) if once else (1, 0):
            queries = [view for v, view in enumerate(online) if v != t]
            p, n = self.scores(queries, target[t])
            negatives = torch.cat([n, self.scores(queries, target[1 - t])[1]], dim=-1) if self.same_view else n
            bounds.append(self.bound(p, negatives, group))
            with torch.no_grad():
                estimate = {"mutual_information": mutual_information(p, n)} if self.best_is_log_ratio else {}
                logs.append(estimate | {"positive_score": p.mean(), "negative_score": n.mean()})
        terms = torch.stack(bounds)
        loss = -terms.mean() * (2 if self.symmetric else 1)
        values = torch.stack([torch.stack(list(of_target.values())) for of_target in logs])
        means = gather(values.mean(0), group).mean(0).unbind()
        return loss, {"bound": terms.detach().mean(), **dict(zip(logs[0], means, strict=True))}
