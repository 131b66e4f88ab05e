"""Few-shot episodes: which samples they have, and what logistic regression makes of all of them at once."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

NUMBERS = 2**26
"""Numbers that are held at once, 256 MiB of them in single precision."""
STEPS = 50
"""Largest number of Newton steps; a handful is enough."""


def draw_episodes(target: Tensor, episodes: int, ways: int, samples: int, seed: int) -> Tensor:
    """Places of samples in each episode, ``[E, N, S]``: N classes and S samples of each, all of them different.

    Classes with fewer than S samples take no part.

    Args:
        target: labels, ``[M]``.
        episodes: number of episodes E.
        ways: number of classes N in an episode.
        samples: number of samples S of each class.
        seed: seed of the draw.

    Raises:
        ValueError: fewer than N classes of S samples.
    """
    target = target.cpu()
    counts = target.bincount()
    classes = (counts >= samples).nonzero().flatten()
    if len(classes) < ways:
        raise ValueError(
            f"episodes of {ways} classes with {samples} samples each, support and queries, need as many: the split has "
            f"{len(classes)} such classes of {(counts > 0).sum()}; take fewer ways, shots or queries"
        )
    generator = torch.Generator().manual_seed(seed)
    rows = torch.rand(episodes, len(classes), generator=generator).argsort(1)[:, :ways]
    chosen = classes[rows]  # [E, N]
    order, start = target.argsort(stable=True), counts.cumsum(0) - counts
    # samples in turn, each among those of its class that are left: the j-th is the rank among them
    ranks = torch.empty(episodes, ways, samples, dtype=torch.long)
    for j in range(samples):
        left = counts[chosen] - j
        rank = (torch.rand(episodes, ways, generator=generator, dtype=torch.float64) * left).long()
        for taken in ranks[..., :j].sort(-1).values.unbind(-1):
            rank += rank >= taken
        ranks[..., j] = rank
    return order[start[chosen][..., None] + ranks]


def episode_accuracies(features: Tensor, places: Tensor, shots: int, penalty: float) -> Tensor:
    """The share of each episode's queries that are given their own class, ``[E]``.

    Args:
        features: ``[M, F]``.
        places: samples of the episodes, ``[E, N, K + Q]``.
        shots: number K of samples of a class that are fitted to; the Q others are the queries.
        penalty: see :func:`fit_episodes`.
    """
    _, ways, samples = places.shape
    held = ways * samples * features.shape[1] + 4 * (ways * (ways * shots + 1)) ** 2
    found = []
    for part in places.to(features.device).split(max(1, NUMBERS // held)):
        x = features[part]  # [e, N, S, F]
        support, queries = x[:, :, :shots].flatten(1, 2), x[:, :, shots:].flatten(1, 2)
        mean = support.mean(1, keepdim=True)
        support, queries = support - mean, queries - mean
        # support = triangle.T @ axes.T: weights lie in the span of the axes
        axes, triangle = torch.linalg.qr(support.mT)
        weight = fit_episodes(triangle.mT.double(), ways, penalty).to(x.dtype)  # [e, N, R + 1]
        logits = queries @ axes @ weight[..., :-1].mT + weight[:, None, :, -1]
        label = torch.arange(ways, device=x.device).repeat_interleave(samples - shots)
        found.append((logits.argmax(2) == label).double().mean(1))
    return torch.cat(found)


def fit_episodes(x: Tensor, ways: int, penalty: float) -> Tensor:
    """The minima of Σ cross-entropy + penalty/2 · |W|² of many episodes by Newton's method, ``[E, N, R + 1]``.

    Intercepts, which are last, are not penalised. W and intercepts sum to 0 over the classes, as they do at the
    minimum, so that there are N − 1 free vectors. Gradients are in float64, the Hessian and its factors in single
    precision: steps are not quite Newton's, the minimum is. A step that does not lower a function is halved. All stop
    when no entry of a gradient is above 1e-6 times the number of samples.

    Args:
        x: samples of each episode, those of a class side by side, ``[E, N · K, R]``, float64.
        ways: number N of classes.
        penalty: scikit-learn's ``1 / C``; of two classes W is one vector, as there.
    """
    x = F.pad(x, (0, 1), value=1.0)
    episodes, count, width = x.shape
    one_hot = torch.eye(ways, dtype=x.dtype, device=x.device).repeat_interleave(count // ways, 0)  # [N · K, N]
    penalties = torch.full((width,), penalty * (2 if ways == 2 else 1), dtype=x.dtype, device=x.device)
    penalties[-1] = 0.0
    damping = penalties.clamp(min=1e-4).float().repeat(ways - 1)  # of intercepts too: their curvature may be rounding
    # orthonormal, and orthogonal to the vector of ones
    basis = torch.linalg.qr(torch.eye(ways, dtype=x.dtype)[:, 1:] - 1 / ways).Q.to(x.device)  # [N, N - 1]
    free, single = ways - 1, x.float()

    def value(weight: Tensor) -> tuple[Tensor, Tensor]:
        log_p = (x @ weight.mT @ basis.mT).log_softmax(2)
        return -(log_p * one_hot).sum((1, 2)) + (penalties * weight.square()).sum((1, 2)) / 2, log_p.exp()

    weight = x.new_zeros(episodes, free, width)
    loss, p = value(weight)
    for _ in range(STEPS):
        gradient = ((p - one_hot) @ basis).mT @ x + penalties * weight  # [E, N - 1, R + 1]
        if gradient.abs().max() <= 1e-6 * count:
            break
        # the Hessian is Σ_i Bᵀ (diag p_i − p_i p_iᵀ) B ⊗ x_i x_iᵀ
        mean = p @ basis
        curvature = torch.einsum("ein,na,nb->eiab", p, basis, basis) - mean[..., None] * mean[..., None, :]
        left = (curvature.float()[..., None] * single[:, :, None, None]).flatten(2)  # [E, N · K, (N - 1)² · (R + 1)]
        blocks = (left.mT @ single).view(episodes, free, free, width, width)
        hessian = blocks.transpose(2, 3).reshape(episodes, free * width, free * width)
        hessian.diagonal(dim1=1, dim2=2).add_(damping)
        factor = torch.linalg.cholesky(hessian)
        step = torch.cholesky_solve(gradient.float().flatten(1)[..., None], factor).view_as(weight).double()
        length = x.new_ones(episodes, 1, 1)
        for _ in range(STEPS):
            there = weight - length * step
            loss_there, p_there = value(there)
            worse = loss_there > loss + 1e-12 * loss.abs()
            if not worse.any():
                break
            length[worse] /= 2
        weight, loss, p = there, loss_there, p_there
    return basis @ weight
