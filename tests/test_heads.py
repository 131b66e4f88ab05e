"""Layers of projection and prediction heads."""

import pytest
import torch
from torch import nn

from lightning_renyicl.heads import MLPHead, NoHead, Predictor


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["Linear", "BatchNorm1d", "ReLU", "Linear", "BatchNorm1d", "ReLU", "Linear"]),
        ({"norm": False}, ["Linear", "ReLU", "Linear", "ReLU", "Linear"]),
        (
            {"last_norm": True},
            ["Linear", "BatchNorm1d", "ReLU", "Linear", "BatchNorm1d", "ReLU", "Linear", "BatchNorm1d"],
        ),
    ],
    ids=["norm", "bare", "last norm"],
)
def test_layers(options, expected):
    head = MLPHead(7, [6, 5, 4], **options)
    assert [type(layer).__name__ for layer in head.layers] == expected
    linear = [layer for layer in head.layers if isinstance(layer, nn.Linear)]
    assert [(layer.in_features, layer.out_features) for layer in linear] == [(7, 6), (6, 5), (5, 4)]
    assert all((layer.bias is None) == options.get("norm", True) for layer in linear)
    assert head.out_features == 4
    assert head(torch.randn(3, 7)).shape == (3, 4)


def test_only_the_last_norm_lacks_affine_parameters():
    norms = [layer for layer in MLPHead(7, [6, 5], last_norm=True).layers if isinstance(layer, nn.BatchNorm1d)]
    assert [norm.affine for norm in norms] == [True, False]


def test_a_single_width_is_one_linear_layer():
    (layer,) = MLPHead(3, [2]).layers
    assert isinstance(layer, nn.Linear)


def test_no_widths():
    with pytest.raises(ValueError, match="at least one layer"):
        MLPHead(3, [])


def test_no_head_is_the_identity():
    x = torch.randn(3, 7)
    assert NoHead(7)(x) is x
    assert NoHead(7).out_features == 7


@pytest.mark.parametrize("width", [3, 8])
def test_a_predictor_is_as_wide_as_its_input(width):
    head = Predictor(width, hidden=5)
    assert [type(layer).__name__ for layer in head.layers] == ["Linear", "BatchNorm1d", "ReLU", "Linear"]
    assert [tuple(head.layers[i].weight.shape) for i in (0, 3)] == [(5, width), (width, 5)]
    assert head.out_features == width


def test_a_predictor_without_hidden_units():
    with pytest.raises(ValueError, match="hidden must be at least 1, got 0"):
        Predictor(4, hidden=0)
