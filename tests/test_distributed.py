"""Several processes on one global batch give the loss and the gradients of one process.

The file is also the program that starts them: ``python test_distributed.py FOLDER``.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from datamodules.sampler import BatchIndices
from lightning_renyicl.distributed import gather, rank, world_group, world_size
from lightning_renyicl.encoders import GIN, MLP, ResNet
from lightning_renyicl.evaluation import OnlineProbe
from lightning_renyicl.evaluation.features import in_order
from lightning_renyicl.heads import MLPHead, ResidualHead
from lightning_renyicl.modules import TabularModule
from lightning_renyicl.modules.mixing import mix
from lightning_renyicl.modules.steps import feature_std
from lightning_renyicl.momentum import MomentumTarget
from lightning_renyicl.mutual_information import MutualInformation
from lightning_renyicl.objectives import (
    CBYOL,
    CPC,
    MLCPC,
    RMLCPC,
    Context,
    CrossEntropy,
    InfoGraph,
    Mixing,
    Objective,
    Parts,
    SwAV,
    functional,
)
from lightning_renyicl.objectives.queue import rows_of_queues
from tests.objectives.conftest import REPRESENTATIVES
from tests.objectives.methods import TRAINED

SAMPLES = 32
WORLDS = (2, 4)
DTYPES = {"float64": torch.float64, "float32": torch.float32}
BOUNDS = {str(bound): bound for bound in REPRESENTATIVES}
OBJECTIVES = {name: bound.critic() for name, bound in BOUNDS.items() if bound.row.objective}
OBJECTIVES["one direction"] = RMLCPC(0.5, symmetric=False)


class Step(nn.Module):
    """The loss of one training step, as the modules form it."""

    def __init__(
        self,
        backbone: nn.Module,
        projector: nn.Module,
        objective: Objective,
        predictor: nn.Module | None,
        momentum: bool,
    ) -> None:
        super().__init__()
        self.backbone, self.projector, self.predictor = backbone, projector, predictor
        self.target = MomentumTarget(backbone, projector, 0.99) if momentum else None
        if self.target is not None:
            with torch.no_grad():
                for parameter in self.target.parameters():
                    parameter.mul_(0.9)
        self.objective = objective

    def forward(self, views: list, context: Context | None = None) -> tuple[Tensor, dict[str, Tensor]]:
        projections = [self.projector(self.backbone(view)) for view in views]
        online = projections if self.predictor is None else [self.predictor(z) for z in projections]
        target = projections[:2] if self.target is None else [self.target(view) for view in views[:2]]
        return self.objective(online, target, context or Context())


class LabelledStep(Step):
    """A step in the middle of a training with labels, which come behind the views."""

    def forward(self, views: list, context: Context | None = None) -> tuple[Tensor, dict[str, Tensor]]:
        *views, labels = views
        views = [view.detach().requires_grad_(self.objective.reads_inputs) for view in views]
        neighbours = Mixing(torch.arange(len(labels)) ^ 1, views[0][:, 0].detach().sigmoid().clamp_min(0.5))
        mixing = None if self.objective.mixing is None else neighbours
        views[0] = mix(views[0], mixing)
        return super().forward(views, Context(labels, epoch=20.0, inputs=tuple(map(Parts, views)), mixing=mixing))


class NodeStep(nn.Module):
    """A step of InfoGraph on a batch of graphs."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.backbone = GIN(6, width=4, layers=2).eval()
        self.projector, self.objective = ResidualHead(8), InfoGraph()
        self.objective.build(8, 0)

    def forward(self, views: list) -> tuple[Tensor, dict[str, Tensor]]:
        features, parts = zip(*map(self.backbone.with_parts, views), strict=True)
        projections = [self.projector(f) for f in features]
        return self.objective(projections, projections[:2], Context(parts=parts))


def infograph() -> tuple[NodeStep, list]:
    """A step of InfoGraph, and graphs of which some processes have more nodes."""
    torch.manual_seed(3)
    graphs = sorted((_graph() for _ in range(SAMPLES)), key=lambda graph: graph.num_nodes)
    for graph in graphs:
        graph.x = graph.x.double()
    return NodeStep().double(), [graphs, graphs[::-1]]


def supervised(unknown: int) -> tuple[LabelledStep, list[Tensor]]:
    """Training with labels, of which the first are unknown."""
    objective = CrossEntropy()
    torch.manual_seed(2)
    objective.build(5, 3)
    step, views = small(objective, False, False, 2, torch.float64, LabelledStep)
    labels = torch.arange(SAMPLES) % 3
    labels[:unknown] = -1
    return step, [*views, labels]


def small(
    objective: Objective, momentum: bool, predictor: bool, views: int, dtype: torch.dtype, kind: type[Step] = Step
) -> tuple[Step, list[Tensor]]:
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(6, 8), nn.Tanh())
    step = kind(backbone, nn.Linear(8, 5), objective, nn.Linear(5, 5) if predictor else None, momentum)
    return step.to(dtype), list(torch.randn(views, SAMPLES, 6).to(dtype))


def real(domain: str) -> tuple[Step, list]:
    """A real backbone and heads, BatchNorm in evaluation mode."""
    torch.manual_seed(0)
    if domain == "image":
        backbone, views = ResNet(10, cifar_stem=True), list(torch.randn(2, SAMPLES, 3, 4, 4))
    elif domain == "table":
        backbone, views = MLP(6, [16, 16]), list(torch.randn(3, SAMPLES, 6))
    else:
        backbone, views = GIN(6, width=8, layers=2), [[_graph() for _ in range(SAMPLES)] for _ in range(2)]
    projector, predictor = MLPHead(backbone.num_features, [16, 8], last_norm=True), MLPHead(8, [16, 8])
    return Step(backbone, projector, RMLCPC(0.1), predictor, momentum=True).eval(), views


def _graph():
    from torch_geometric.data import Data

    nodes = int(torch.randint(1, 5, ()))
    return Data(x=torch.randn(nodes, 6), edge_index=torch.randint(nodes, (2, 2 * nodes)))


def slice_of(view, position: int, world: int):
    """The samples of one process; graphs become a batch."""
    part = view[position * SAMPLES // world : (position + 1) * SAMPLES // world]
    if isinstance(part, list):
        from torch_geometric.data import Batch

        return Batch.from_data_list(part)
    return part


def outcome(step: nn.Module, views: list, position: int, world: int, averaged: bool = False) -> dict[str, Tensor]:
    """Loss, logs and gradients; the mean of gradients over processes unless the step takes it itself."""
    loss, logs = step([slice_of(view, position, world) for view in views])
    loss.backward()
    trained = {name: parameter for name, parameter in step.named_parameters() if parameter.requires_grad}
    gradients = torch.cat([parameter.grad.flatten() for parameter in trained.values()])
    if world > 1 and not averaged:
        dist.all_reduce(gradients)
        gradients /= world
    parts = gradients.split([parameter.numel() for parameter in trained.values()])
    named = {name.removeprefix("module."): part for name, part in zip(trained, parts, strict=True)}
    return {"loss": loss.detach(), **logs, **named}


def functional_outcome(name: str, position: int, world: int) -> dict[str, Tensor]:
    """A bound of scores, its gradient by this process's scores and the value without a group."""
    torch.manual_seed(1)
    p, n = torch.randn(SAMPLES, 2, dtype=torch.float64), torch.randn(SAMPLES, 2, 7, dtype=torch.float64)
    p, n = slice_of(p, position, world).requires_grad_(), slice_of(n, position, world).requires_grad_()
    bound = BOUNDS[name](p, n, group=world_group())
    found = {"bound": bound.detach(), "local": BOUNDS[name](p, n).detach()}
    return found | dict(zip("pn", torch.autograd.grad(bound, (p, n)), strict=True))


# name, momentum, predictor, views, dtype
SMALL = [
    *product(OBJECTIVES, (False, True), (True,), (5,), ["float64"]),
    *product(OBJECTIVES, (False,), (True,), (5,), ["float32"]),
    # where identical terms may be computed once
    *product(OBJECTIVES, (False,), (False,), (2,), ["float64"]),
    *product(["one direction"], (False, True), (False, True), (2,), ["float64"]),
]
REAL = ["image", "table", "graph"]


def method(name: str, views: int, position: int, world: int) -> dict[str, Tensor]:
    """A step of a method, and what it keeps after that, when there have been two before."""
    row = TRAINED[name]
    objective = row.built(width=5)
    if isinstance(objective, CBYOL):  # every process draws its own codes: here none is random
        objective.code.forward = lambda mean, generator: (0.9 * mean, mean.new_full(mean.shape[:-1], 0.9))
    step, first = small(objective, row.momentum, row.predictor, views, torch.float64, LabelledStep)
    labels = torch.arange(SAMPLES) % 3
    labels[:2] = -1
    for factor in (2, -1):
        with torch.set_grad_enabled(objective.reads_inputs):
            step([slice_of(view, position, world) for view in (*(factor * view for view in first), labels)])
        objective.after_step(0.9 if row.momentum else None)
    found = outcome(step, [*first, labels], position, world)
    return found | {f"kept {key}": buffer.clone() for key, buffer in objective.named_buffers()}


def everything(position: int, world: int) -> Iterator[tuple[str, dict[str, Tensor]]]:
    """All checks of one process, each with its name."""
    for name, momentum, predictor, views, dtype in SMALL:
        step, batch = small(OBJECTIVES[name], momentum, predictor, views, DTYPES[dtype])
        yield f"{name}, {momentum=}, {predictor=}, {views=}, {dtype}", outcome(step, batch, position, world)
    for domain in REAL:
        yield f"{domain}, real, float32", outcome(*real(domain), position, world)
    for momentum in (False, True):
        step, batch = small(RMLCPC(0.5), momentum, True, 5, torch.float64)
        wrapped = DistributedDataParallel(step) if world > 1 else step
        yield f"DistributedDataParallel, {momentum=}, float64", outcome(wrapped, batch, position, world, averaged=True)
    # all, some of a process's, all of a process's and all samples without a label
    for unknown in (0, 3, SAMPLES // 4, SAMPLES):
        yield f"CrossEntropy, {unknown=}, float64", outcome(*supervised(unknown), position, world)
    yield "InfoGraph, float64", outcome(*infograph(), position, world)
    step, batch = supervised(3)
    wrapped = DistributedDataParallel(step) if world > 1 else step
    yield "CrossEntropy, DistributedDataParallel, float64", outcome(wrapped, batch, position, world, averaged=True)
    for name, row in TRAINED.items():
        views = max(row.views)
        yield f"{name}, {views=}, float64", method(name, views, position, world)
    step, batch = small(TRAINED["moco"].built(width=5), True, False, 2, torch.float64)
    step._ddp_params_and_buffers_to_ignore = rows_of_queues(step)
    wrapped = DistributedDataParallel(step) if world > 1 else step
    yield "MoCo, DistributedDataParallel, float64", outcome(wrapped, batch, position, world, averaged=True)
    yield "MoCo, its queue, float64", {"rows": step.objective.queue.rows}
    step, batch = small(CPC(), False, True, 3, torch.float64)
    yield "reversed ranks, float64", outcome(step, batch, world - 1 - position, world)


def sent(position: int, world: int) -> list[str]:
    """Buffers of a module that DistributedDataParallel sends before each step."""
    torch.manual_seed(0)
    module = TabularModule(
        partial(MLP, widths=[4]),
        in_features=6,
        projector=partial(MLPHead, widths=[3], last_norm=True),
        objective=SwAV(prototypes=4, queue=6),
        optimizer=torch.optim.AdamW,
    )
    buffers = DistributedDataParallel(module).modules_buffers
    return [name for name, buffer in module.named_buffers() if any(buffer is one for one in buffers)]


def negatives(position: int, world: int) -> tuple[int, ...]:
    step, batch = small(MLCPC(), False, False, 3, torch.float64)
    _, n = step.objective.scores(
        *[[slice_of(view, position, world) for view in batch[:2]]], slice_of(batch[2], position, world)
    )
    return tuple(n.shape)


def information(position: int, world: int) -> dict[str, Tensor]:
    """What the metric of mutual information finds in two batches, by either normaliser."""
    found = {}
    for alpha in (None, 0.3):
        metric = MutualInformation(alpha)
        for seed in (1, 2):
            torch.manual_seed(seed)
            p, n = 2 * torch.randn(SAMPLES), torch.randn(SAMPLES, 7)
            metric.update(slice_of(p, position, world), slice_of(n, position, world))
        found |= {f"{name}, {alpha=}": value for name, value in metric.compute().items()}
    return found


def watched(position: int, world: int) -> dict[str, Tensor]:
    """The spread of features, and a probe's gradient of samples of which one process knows fewer labels."""
    torch.manual_seed(1)
    features = torch.randn(SAMPLES, 6)
    # each share has these values, so that BatchNorm's statistics of a share are those of the whole
    features[:] = features[: SAMPLES // 4].repeat(4, 1)
    target = torch.arange(SAMPLES) % 3
    target[: SAMPLES // 4 - 1] = -1
    callback = OnlineProbe()
    callback._build(6, 3, torch.device("cpu"))
    outputs = {"features": slice_of(features, position, world), "target": slice_of(target, position, world)}
    callback.on_train_batch_end(None, None, outputs, None, 0)
    gradient = callback.probe[1].weight.grad
    spread = torch.randn(SAMPLES, 6) + torch.arange(SAMPLES).unsqueeze(1) / 8
    return {"spread": feature_std(slice_of(spread, position, world)), "gradient": gradient}


def far(position: int, world: int) -> Tensor:
    """A bound of order near 1 with scores so far apart on the last process that it takes another form, by all."""
    p = torch.zeros(SAMPLES, dtype=torch.float64)
    p[-1] = 300.0
    own = slice_of(p, position, world)
    return functional.rmlcpc(own, torch.zeros_like(own).unsqueeze(1), alpha=0.5, gamma=1.2, group=world_group())


def ordered(position: int, world: int) -> tuple[Tensor, Tensor]:
    """Features and labels of all processes, of which some evaluate a sample more."""
    sampler = BatchIndices(torch.arange(SAMPLES - 2), 8, train=False, rank=position, world_size=world)
    places = torch.cat(list(sampler))
    return in_order(SimpleNamespace(sampler=sampler), places / 2, places % 3)


def main(position: int, world: int, folder: Path) -> None:
    torch.set_num_threads(1)
    store = dist.FileStore(str(folder / f"store-{world}"), world)
    dist.init_process_group("gloo", store=store, rank=position, world_size=world)
    gathered = gather(torch.full((2,), float(position)), world_group())
    result = {
        "steps": dict(everything(position, world)),
        "functions": {name: functional_outcome(name, position, world) for name in BOUNDS},
        "negatives": negatives(position, world),
        "sent": sent(position, world),
        "information": information(position, world),
        "watched": watched(position, world),
        "far": far(position, world),
        "ordered": ordered(position, world),
        "gathered": gathered,
        "place": (rank(world_group()), world_size(world_group())),
    }
    torch.save(result, folder / f"{world}-{position}.pt")
    dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def alone() -> Iterator[dict[str, dict[str, Tensor]]]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the tensors are too small to share
    yield dict(everything(0, 1))
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def together(tmp_path_factory) -> dict[int, list[dict]]:
    """What each process found, by their number; forked from one, as starting them costs more than all they compute."""
    folder, root = tmp_path_factory.mktemp("processes"), Path(__file__).parents[1]
    path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, __file__, str(folder)],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return {world: [torch.load(folder / f"{world}-{position}.pt") for position in range(world)] for world in WORLDS}


@pytest.mark.parametrize("world", WORLDS)
def test_processes_agree_with_one(world, alone, together, subtests):
    results = together[world]
    assert set(alone) == set(results[0]["steps"])
    for name in results[0]["steps"]:
        tolerance = 1e-10 if name.endswith("float64") else 1e-5
        with subtests.test(name):
            for result in results:
                close = partial(torch.testing.assert_close, rtol=tolerance, atol=tolerance, equal_nan=True)
                close(result["steps"][name], alone[name])
    for name in BOUNDS:
        whole = functional_outcome(name, 0, 1)
        with subtests.test(f"functional.{name}"):
            for position, result in enumerate(results):
                found = result["functions"][name]
                torch.testing.assert_close(found["bound"], whole["bound"], rtol=1e-12, atol=1e-12)
                for scores in "pn":  # DDP's mean undoes the factor
                    torch.testing.assert_close(found[scores], world * slice_of(whole[scores], position, world))
        with subtests.test(f"functional.{name} without a group"):
            for position, result in enumerate(results):
                local = result["functions"][name]["local"]
                torch.testing.assert_close(local, local_bound(name, position, world))
                assert abs(local - whole["bound"]) > 1e-6
    whole_information = information(0, 1)
    assert whole_information["invalid, alpha=0.3"] > 0
    for result in results:
        torch.testing.assert_close(result["information"], whole_information, rtol=1e-5, atol=1e-6)
    whole_watched = watched(0, 1)
    for result in results:
        torch.testing.assert_close(result["watched"], whole_watched, rtol=1e-5, atol=1e-6)
    mean = ((SAMPLES - 1) + math.exp(0.2 * 300)) / SAMPLES, ((SAMPLES - 1) + math.exp(1.2 * 300)) / SAMPLES
    bound = math.log(mean[0]) / 0.2 - math.log((mean[1] + 1) / 2) / 1.2
    places = torch.arange(SAMPLES - 2)
    for position, result in enumerate(results):
        assert result["far"].item() == pytest.approx(bound, rel=1e-12)
        assert torch.equal(result["ordered"][0], places / 2)
        assert torch.equal(result["ordered"][1], places % 3)
        assert result["place"] == (position, world)
        assert result["gathered"].tolist() == [[float(other)] * 2 for other in range(world)]
        assert [name.rpartition(".")[0] for name in result["sent"]] == ["projector.layers.1"] * 3
        assert result["negatives"] == (SAMPLES // world, 2, SAMPLES - 1)


def local_bound(name: str, position: int, world: int) -> Tensor:
    """The bound of one process's scores, formed without any process group."""
    torch.manual_seed(1)
    p, n = torch.randn(SAMPLES, 2, dtype=torch.float64), torch.randn(SAMPLES, 2, 7, dtype=torch.float64)
    return BOUNDS[name](slice_of(p, position, world), slice_of(n, position, world))


def test_one_process_has_no_group():
    x = torch.ones(3)
    assert world_group() is None
    assert (rank(None), world_size(None)) == (0, 1)
    assert gather(x, None).shape == (1, 3)


if __name__ == "__main__":
    for world in WORLDS:
        mp.start_processes(main, (world, Path(sys.argv[1])), nprocs=world, start_method="fork")
