"""Collectives: those that carry gradients, for objectives over the global batch, and a sum without."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

Group = dist.ProcessGroup | None


def world_group() -> Group:
    """The group of all processes, or None when there is one process only."""
    if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
        return dist.group.WORLD
    return None


def world_size(group: Group) -> int:
    """Number of processes in ``group``; 1 for None."""
    return 1 if group is None else dist.get_world_size(group)


def rank(group: Group) -> int:
    """Rank of this process in ``group``; 0 for None."""
    return 0 if group is None else dist.get_rank(group)


def all_reduce_sum(x: Tensor, group: Group) -> Tensor:
    """The sum of ``x`` over the processes of ``group``, in place and without gradient.

    Args:
        x: tensor of one shape ``[...]`` on every process.
        group: process group; None leaves this process alone.
    """
    if group is not None:
        dist.all_reduce(x, group=group)
    return x


class _AllGather(torch.autograd.Function):
    """Stacks a tensor of every process; the backward sums over processes and takes its own slice.

    With the same scalar loss on each of W processes, every local gradient is W times its share of the global
    gradient, so the *mean* over processes that DistributedDataParallel takes is the global gradient itself.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: dist.ProcessGroup) -> Tensor:
        ctx.group = group
        slices = [torch.empty_like(x) for _ in range(dist.get_world_size(group))]
        dist.all_gather(slices, x.contiguous(), group=group)
        return torch.stack(slices)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor, None]:
        gradient = grad_outputs[0].contiguous().clone()
        dist.all_reduce(gradient, group=ctx.group)
        return gradient[dist.get_rank(ctx.group)], None


def gather(x: Tensor, group: Group) -> Tensor:
    """Gathers ``x`` of every process, with gradient.

    Args:
        x: tensor of one shape ``[...]`` on every process.
        group: process group; None leaves this process alone.

    Returns:
        Tensor ``[W, ...]`` in rank order.
    """
    if group is None:
        return x.unsqueeze(0)
    gathered: Tensor = _AllGather.apply(x, group)
    return gathered


class _ReduceSum(torch.autograd.Function):
    """The sum over processes; the backward sums too, for the same reason as that of :class:`_AllGather`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: dist.ProcessGroup) -> Tensor:
        ctx.group = group
        return all_reduce_sum(x.clone(memory_format=torch.contiguous_format), group)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor, None]:
        return all_reduce_sum(grad_outputs[0].clone(memory_format=torch.contiguous_format), ctx.group), None


def reduce_sum(x: Tensor, group: Group) -> Tensor:
    """The sum of ``x`` over processes, with gradient: for what is too large to be gathered.

    Args:
        x: tensor of one shape ``[...]`` on every process.
        group: process group; None leaves this process alone.
    """
    if group is None:
        return x
    total: Tensor = _ReduceSum.apply(x, group)
    return total


def global_mean(x: Tensor, group: Group) -> Tensor:
    """The mean of ``x`` over all elements and processes, with gradient; a scalar, the same on every process.

    Args:
        x: tensor of one shape ``[...]`` on every process.
        group: process group; None leaves this process alone.
    """
    return gather(x.mean(), group).mean()
