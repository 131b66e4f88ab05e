"""What holds for every method: gradients, symmetries, extremes, precision, and state."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
import torch
from torch._subclasses import FakeTensorMode

from lightning_renyicl.objectives import CosineCritic, Mixing
from tests.objectives.methods import CLASSES, METHODS, WIDTH, Method, context, loss_of

CASES = [
    pytest.param(method, views, id=f"{name}-{views}") for name, method in METHODS.items() for views in method.views
]
NAMED = [pytest.param(method, id=name) for name, method in METHODS.items()]


@pytest.mark.parametrize(("method", "views"), [case for case in CASES if case.values[0].differentiable])
def test_gradients(method: Method, views: int):
    objective = method.built()
    online, target = method.embeddings(views, samples=4)
    parts = (*online, *(p for p in objective.parameters() if p.requires_grad))
    assert torch.autograd.gradcheck(lambda *_: loss_of(objective, online, target, context(4)), parts)


@pytest.mark.parametrize(("method", "views"), [case for case in CASES if not case.values[0].make().draws])
def test_the_order_of_samples_changes_nothing(method: Method, views: int):
    objective = method.built()
    online, target = method.embeddings(views)
    order = torch.randperm(6, generator=torch.Generator().manual_seed(0))
    about = context()
    mixing = Mixing(order.argsort()[about.mixing.partner[order]], about.mixing.weight[order])
    ordered = replace(about, labels=about.labels[order], mixing=mixing)
    found = loss_of(objective, [v[order] for v in online], [t[order] for t in target], ordered)
    torch.testing.assert_close(found, loss_of(objective, online, target, about), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("method", "views"), CASES)
def test_the_length_of_embeddings_changes_nothing(method: Method, views: int):
    objective = method.built()
    online, target = method.embeddings(views)
    lengths = torch.linspace(0.5, 7, 6, dtype=torch.float64)[:, None]
    found = loss_of(objective, [v * lengths for v in online], [t * lengths for t in target], context())
    same = torch.allclose(found, loss_of(objective, online, target, context()), rtol=1e-10)
    assert same == method.scale_free


@pytest.mark.parametrize("size", [0.0, 1e-20, 1e15])
@pytest.mark.parametrize("method", NAMED)
def test_embeddings_of_any_size(method: Method, size: float):
    if not method.scale_free and size > 1e6:
        size = 1e4
    objective = method.built(torch.float32)
    online, target = method.embeddings(method.views[0], dtype=torch.float32)
    loss = loss_of(objective, [size * v for v in online], [size * t for t in target], context())
    loss.backward()
    assert loss.isfinite()
    for part in (*online, *objective.parameters()):
        assert part.grad is None or part.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("method", NAMED)
def test_mixed_precision(method: Method, dtype: torch.dtype):
    objective = method.built(torch.float32)
    if isinstance(objective, CosineCritic) or hasattr(objective, "temperature"):
        objective.temperature = 0.05
    online, target = method.embeddings(method.views[0], dtype=dtype)
    with torch.autocast("cpu", dtype=dtype):
        loss, logs = objective(online, target, context())
    loss.backward()
    assert loss.dtype == torch.float32
    assert loss.isfinite()
    assert all(value.dtype == torch.float32 for value in logs.values())
    assert all(view.grad.isfinite().all() for view in online if view.grad is not None)


@pytest.mark.parametrize(("method", "views"), CASES)
def test_logs_are_detached_scalars(method: Method, views: int):
    loss, logs = method.built()(*method.embeddings(views), context())
    assert loss.shape == ()
    assert loss.requires_grad
    assert logs
    assert all(value.shape == () and not value.requires_grad for value in logs.values())


@pytest.mark.parametrize("method", NAMED)
def test_too_few_views(method: Method):
    online, target = method.embeddings(method.views[0])
    with pytest.raises(ValueError, match="at least 2 online"):
        method.built()(online[:1], target[:1], context())


@pytest.mark.parametrize("method", NAMED)
def test_embeddings_that_are_not_finite_are_seen_and_not_kept(method: Method):
    objective = method.built()
    online, target = method.embeddings(method.views[0])
    for views in (online, target):
        views[:] = [view.detach().index_fill(0, torch.tensor([1]), torch.nan) for view in views]
    before = {name: buffer.clone() for name, buffer in objective.named_buffers()}
    loss, _ = objective(online, target, context())
    assert not loss.isfinite()
    assert all(torch.equal(buffer, before[name]) for name, buffer in objective.named_buffers())


@pytest.mark.parametrize("method", NAMED)
def test_state_goes_through_a_checkpoint(method: Method):
    objective, again = method.built(), method.built()
    for views in (2, 3, 4) if method.views == (2, 4) else 3 * method.views:
        objective(*method.embeddings(views), context())
    file = io.BytesIO()
    torch.save(objective.state_dict(), file)
    file.seek(0)
    again.load_state_dict(torch.load(file, weights_only=True))
    online, target = method.embeddings(method.views[0])
    for _ in range(2):
        assert torch.equal(objective(online, target, context())[0], again(online, target, context())[0])


@pytest.mark.parametrize(("method", "views"), CASES)
def test_nothing_waits_for_the_device(method: Method, views: int):
    """Without any values: a step that asked for one, as ``item()`` or ``if`` do, would raise."""
    with FakeTensorMode():
        objective = method.make()
        objective.build(WIDTH, CLASSES)
        online, target = method.embeddings(views, dtype=torch.float32)
        for _ in range(2):
            loss, _ = objective(online, target, context())
            loss.backward()
            objective.before_step(20.0)
            objective.after_step(0.9 if method.momentum else None)
