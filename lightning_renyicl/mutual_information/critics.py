"""Critics of pairs: a score for every x with every y of a batch."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

AT_ONCE = 2**19
"""Numbers of a hidden layer that are computed together, 2 MiB."""


class JointCritic(nn.Module):
    """A multilayer perceptron 2D-width-1 of x and y side by side, linear at its output.

    RényiCL (Lee and Shin, 2022), appendix "MI estimation between correlated Gaussians". The text has a ReLU after every
    layer; after the last it would keep scores from being negative, which optimal critics are for most pairs.

    The first layer is computed once for every x and once for every y, and the rest for as many pairs at once as fit in
    a processor's cache, which takes half the time.

    Shapes: ``x`` ``[N, D]`` and ``y`` ``[M, D]`` to ``[N, M]``.

    Args:
        in_features: number D of features of x, and of y.
        width: width of the hidden layer.

    Raises:
        ValueError: a width below 1.
    """

    def __init__(self, in_features: int, width: int = 256) -> None:
        super().__init__()
        if width < 1:
            raise ValueError(f"width must be at least 1, got {width}")
        self.hidden = nn.Linear(2 * in_features, width)
        self.score = nn.Linear(width, 1)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        of_x, of_y = self.hidden.weight.chunk(2, 1)
        first, second = F.linear(x, of_x, self.hidden.bias).unsqueeze(1), F.linear(y, of_y)
        rows = max(1, AT_ONCE // max(1, second.numel()))
        weight, bias = self.score.weight.squeeze(0), self.score.bias  # a vector: half the time of a matrix of one line
        return torch.cat([(part + second).relu_() @ weight + bias for part in first.split(rows)])  # of [rows, M, width]


class SeparableCritic(nn.Module):
    """The inner product of an embedding of x and one of y, each by a multilayer perceptron D-width-embedding.

    Poole et al. (2019), section 4.

    Shapes: ``x`` ``[N, D]`` and ``y`` ``[M, D]`` to ``[N, M]``.

    Args:
        in_features: number D of features of x, and of y.
        width: width of the hidden layers.
        embedding: number of features of an embedding.

    Raises:
        ValueError: a width or an embedding below 1.
    """

    def __init__(self, in_features: int, width: int = 256, embedding: int = 32) -> None:
        super().__init__()
        if width < 1 or embedding < 1:
            raise ValueError(f"width and embedding must be at least 1, got {width} and {embedding}")
        self.x, self.y = (
            nn.Sequential(nn.Linear(in_features, width), nn.ReLU(), nn.Linear(width, embedding)) for _ in range(2)
        )

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        scores: Tensor = self.x(x) @ self.y(y).T
        return scores


def split_scores(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Scores ``[N, N]`` of every x with every y as those of the pairs ``[N]`` and of the others ``[N, N − 1]``.

    Raises:
        ValueError: scores that are not square, or of fewer than two pairs.
    """
    pairs = len(scores)
    if scores.shape != (pairs, pairs) or pairs < 2:
        raise ValueError(f"expected scores [N, N] of at least 2 pairs, got {list(scores.shape)}")
    others = scores.flatten()[1:].view(pairs - 1, pairs + 1)[:, :-1]  # between one pair of the diagonal and the next
    return scores.diagonal(), others.reshape(pairs, pairs - 1)
