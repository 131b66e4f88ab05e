"""LARS. In a file of its own: timm takes seconds to import, and only runs that name this class need it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from timm.optim import Lars
from torch import nn


class LARS(Lars):
    """LARS of timm (You et al., 2017) with the parameter groups of SimCLR and MoCo v3.

    Vectors (biases, BatchNorm) get neither weight decay nor the layer-wise rate; matrices and kernels get both.

    The layer-wise rate is timm's, eta |w| / (|g| + wd |w| + 1e-8), and 1 where the gradient is zero; the authors' code
    has neither the 1e-8 nor that exception. So residual branches that start at zero (``zero_init_residual``), whose
    layers have no gradient at first, move otherwise in the first step: by 1.3e-4, all else being equal to 1e-14.

    Args:
        params: parameters to optimise; given by the module.
        lr: learning rate.
        momentum: momentum of SGD.
        weight_decay: L2 penalty of matrices and kernels.
        trust_coeff: eta, the trust coefficient of the layer-wise rate.
        vector_lr: learning rate of vectors, as Barlow Twins has one; a schedule scales both alike. None: ``lr``.

    Raises:
        ValueError: a rate out of range.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        lr: float,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
        trust_coeff: float = 0.001,
        vector_lr: float | None = None,
    ) -> None:
        if vector_lr is not None and not 0.0 <= vector_lr < math.inf:
            raise ValueError(f"vector_lr must be a finite number of at least 0, got {vector_lr}")
        everything = list(params)
        groups: list[dict[str, Any]] = [
            # timm adapts a group only with weight decay, unless told so
            {"params": [p for p in everything if p.ndim > 1], "always_adapt": True},
            {"params": [p for p in everything if p.ndim <= 1], "weight_decay": 0.0},
        ]
        if vector_lr is not None:
            groups[1]["lr"] = vector_lr
        super().__init__(
            [group for group in groups if group["params"]],
            lr=lr,
            momentum=momentum,
            weight_decay=weight_decay,
            trust_coeff=trust_coeff,
        )
