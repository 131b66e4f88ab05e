"""Training with labels against a loop, its limits and its complaints."""

from __future__ import annotations

from math import exp, log

import pytest
import torch

from lightning_renyicl.objectives import Context, CrossEntropy

LABELS = torch.tensor([2, -1, 0, 2, 1, -1, 0])


def built(width=4, classes=3, dtype=torch.float64):
    torch.manual_seed(0)
    objective = CrossEntropy()
    objective.build(width, classes)
    return objective.to(dtype)


def views(count=2, dtype=torch.float64):
    return [view.requires_grad_() for view in torch.randn(count, len(LABELS), 4, dtype=dtype).unbind()]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_against_a_loop(count):
    objective, online = built(), views(count)
    weight, bias = objective.classifier.weight.tolist(), objective.classifier.bias.tolist()
    losses, right = [], []
    for view in online:
        for z, label in zip(view.tolist(), LABELS.tolist(), strict=True):
            logits = [sum(map(float.__mul__, row, z)) + b for row, b in zip(weight, bias, strict=True)]
            if label >= 0:
                losses.append(log(sum(map(exp, logits))) - logits[label])
                right.append(logits.index(max(logits)) == label)
    loss, logs = objective(online, [], Context(LABELS))
    assert loss.item() == pytest.approx(sum(losses) / len(losses), rel=1e-12)
    assert logs["top1"].item() == pytest.approx(sum(right) / len(right))
    assert not logs["top1"].requires_grad


def test_gradient():
    objective, online = built(), views()
    parts = (*online, objective.classifier.weight, objective.classifier.bias)
    assert torch.autograd.gradcheck(lambda *_: objective(online, online, Context(LABELS))[0], parts)


def test_samples_without_a_label_have_no_part():
    objective, online = built(), views()
    loss, _ = objective(online, online, Context(LABELS))
    known = LABELS >= 0
    alone, _ = objective([view[known] for view in online], [], Context(LABELS[known]))
    assert loss.item() == pytest.approx(alone.item(), rel=1e-12)
    loss.backward()
    for view in online:
        assert not view.grad[~known].any()
        assert view.grad[known].all()


def test_a_batch_without_labels():
    objective, online = built(), views()
    loss, logs = objective(online, online, Context(torch.full_like(LABELS, -1)))
    loss.backward()
    assert loss.item() == 0
    assert logs["top1"].isnan()
    for part in (*online, *objective.parameters()):
        assert part.grad.abs().max() == 0


def test_large_and_small_embeddings():
    objective, online = built(dtype=torch.float32), views(dtype=torch.float32)
    for scale in (0.0, 1e4):
        loss, _ = objective([scale * view for view in online], online, Context(LABELS))
        loss.backward()
        assert loss.isfinite()
        assert objective.classifier.weight.grad.isfinite().all()


def test_mixed_precision_ends_in_float32():
    objective, online = built(dtype=torch.float32), views(dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        loss, _ = objective(online, online, Context(LABELS))
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, objective(online, online, Context(LABELS))[0], rtol=0.02, atol=0)


@pytest.mark.parametrize("classes", [0, 1])
def test_needs_two_classes(classes):
    with pytest.raises(ValueError, match=f"labels of at least two classes, and the data has {classes}: name its"):
        CrossEntropy().build(4, classes)


def test_needs_labels():
    with pytest.raises(ValueError, match="needs the labels of the batch"):
        built()(views(), views())
