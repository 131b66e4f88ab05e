"""Sums over pairs against gather and scatter, and their gradients."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lightning_renyicl.encoders.segments import SparseSum


def scattered(x, source, sink, num_sinks):
    return x.new_zeros(num_sinks, x.shape[1]).index_add(0, sink, x[source])


@st.composite
def problems(draw):
    sources, sinks = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    pairs = draw(st.lists(st.tuples(st.integers(0, sources - 1), st.integers(0, sinks - 1)), max_size=40))
    source, sink = torch.tensor(pairs, dtype=torch.long).view(-1, 2).T
    if draw(st.booleans()):
        order = sink.argsort(stable=True)
        source, sink = source[order], sink[order]
    return source, sink, sources, sinks


@given(problems(), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_value_and_gradient(problem, width):
    source, sink, sources, sinks = problem
    x = torch.randn(sources, width, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    weight = torch.randn(sinks, width, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    ours, theirs = SparseSum(source, sink, sources, sinks)(x), scattered(x, source, sink, sinks)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    gradients = [torch.autograd.grad((out * weight).sum(), x)[0] for out in (ours, theirs)]
    torch.testing.assert_close(*gradients, rtol=1e-12, atol=1e-12)


def test_gradcheck():
    source, sink = torch.tensor([[0, 2, 2, 1, 0], [3, 1, 1, 0, 3]])
    pairs = SparseSum(source, sink, 4, 5)
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(pairs, x)
    assert torch.autograd.gradgradcheck(pairs, x)


def test_written_out():
    pairs = SparseSum(torch.tensor([0, 1, 1, 2]), torch.tensor([1, 1, 0, 3]), 3, 4)
    x = torch.tensor([[1.0], [10.0], [100.0]])
    assert pairs(x).tolist() == [[10.0], [11.0], [0.0], [100.0]]


def test_one_matrix_serves_several_layers():
    source, sink = torch.randint(20, (2, 60), generator=torch.Generator().manual_seed(0))
    pairs = SparseSum(source, sink, 20, 20)
    x = torch.randn(20, 4, dtype=torch.float64, requires_grad=True)
    twice = scattered(scattered(x, source, sink, 20), source, sink, 20)
    torch.testing.assert_close(pairs(pairs(x)), twice)
    ours, theirs = (torch.autograd.grad(out.square().sum(), x)[0] for out in (pairs(pairs(x)), twice))
    torch.testing.assert_close(ours, theirs)


def test_no_pairs():
    x = torch.randn(3, 2, requires_grad=True)
    nothing = torch.zeros(0, dtype=torch.long)
    out = SparseSum(nothing, nothing, 3, 2)(x)
    assert out.tolist() == [[0, 0], [0, 0]]
    assert torch.autograd.grad(out.sum(), x)[0].tolist() == [[0, 0]] * 3


@pytest.mark.parametrize(("sources", "sinks"), [(0, 3), (3, 0), (0, 0)])
def test_nothing_to_sum_or_to_sum_to(sources, sinks):
    nothing = torch.zeros(0, dtype=torch.long)
    x = torch.randn(sources, 2, requires_grad=True)
    out = SparseSum(nothing, nothing, sources, sinks)(x)
    assert out.tolist() == [[0, 0]] * sinks
    assert torch.autograd.grad(out.sum(), x)[0].tolist() == [[0, 0]] * sources


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype):
    source, sink = torch.randint(20, (2, 60), generator=torch.Generator().manual_seed(0))
    x = torch.randn(20, 4, generator=torch.Generator().manual_seed(0)).to(dtype)
    out = SparseSum(source, sink, 20, 20)(x)
    assert out.dtype == dtype
    torch.testing.assert_close(out.double(), scattered(x.double(), source, sink, 20), rtol=2e-2, atol=2e-2)
