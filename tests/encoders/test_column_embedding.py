"""Categories as vectors, against a table for each column."""

from __future__ import annotations

import pytest
import torch

from lightning_renyicl.encoders import ColumnEmbedding


def test_against_a_table_for_each_column():
    embedding = ColumnEmbedding(5, [3, 5, 2], width=6)
    codes = torch.stack([torch.arange(7) % most for most in (3, 5, 2)], dim=1)
    rows = torch.cat((torch.randn(7, 2), codes), dim=1)
    tables = embedding.table.weight.split([3, 5, 2])
    expected = torch.cat((rows[:, :2], *(table[column] for table, column in zip(tables, codes.T, strict=True))), dim=1)
    assert torch.equal(embedding(rows), expected)
    assert embedding.out_features == expected.shape[1] == 20


def test_one_hot():
    embedding = ColumnEmbedding(3, [3, 4], width=None)
    rows = torch.tensor([[0.5, 2.0, 0.0], [-1.0, 0.0, 3.0]])
    assert embedding(rows).tolist() == [[0.5, 0, 0, 1, 1, 0, 0, 0], [-1, 1, 0, 0, 0, 0, 0, 1]]
    assert embedding.out_features == 8
    assert not embedding.state_dict()


def test_gradient_reaches_the_codes_that_are_there():
    embedding = ColumnEmbedding(1, [4], width=2)
    embedding(torch.tensor([[1.0], [3.0], [3.0]])).sum().backward()
    assert embedding.table.weight.grad.tolist() == [[0, 0], [1, 1], [0, 0], [2, 2]]


def test_state_is_the_table_alone():
    assert list(ColumnEmbedding(3, [4, 5], width=2).state_dict()) == ["table.weight"]


@pytest.mark.parametrize(("dtype", "most"), [(torch.bfloat16, 256), (torch.float16, 2048)])
def test_codes_that_a_precision_has_not(dtype, most):
    rows = torch.tensor([[float(most - 1)]], dtype=dtype)
    embedding = ColumnEmbedding(1, [most], width=2).to(dtype)
    assert torch.equal(embedding(rows)[0], embedding.table.weight[-1])
    with pytest.raises(ValueError, match=f"a column has {most + 1} codes, which {dtype} doesn't hold"):
        ColumnEmbedding(1, [most + 1], width=2).to(dtype)(rows)


def test_more_categories_than_columns():
    with pytest.raises(ValueError, match="2 of 1 columns cannot be categorical"):
        ColumnEmbedding(1, [3, 3], width=2)
    with pytest.raises(ValueError, match="a width of at least 1, got 0"):
        ColumnEmbedding(1, [3], width=0)
