"""MLP and MaxOut."""

import pytest
import torch
from torch import nn

from lightning_renyicl.encoders import MLP
from lightning_renyicl.encoders.mlp import MaxOut


@pytest.mark.parametrize("sets", [1, 2, 3, 6])
def test_maxout_by_loop(sets):
    x = torch.randn(4, 6)
    features = 6 // sets
    expected = [[max(row[s * features + f].item() for s in range(sets)) for f in range(features)] for row in x]
    torch.testing.assert_close(MaxOut(sets)(x), torch.tensor(expected), rtol=0, atol=0)


def test_layers_and_shapes():
    encoder = MLP(5, [8, 7, 6], maxout_sets=3)
    names = ["Linear", "BatchNorm1d", "ReLU", "Linear", "BatchNorm1d", "ReLU", "Linear", "MaxOut"]
    assert [type(layer).__name__ for layer in encoder.layers] == names
    assert [layer.bias is None for layer in encoder.layers if isinstance(layer, nn.Linear)] == [True, True, False]
    assert encoder.num_features == 2
    assert encoder(torch.randn(4, 5)).shape == (4, 2)


def test_default_is_the_papers():
    with torch.device("meta"):
        encoder = MLP(54)
    widths = [layer.out_features for layer in encoder.layers if isinstance(layer, nn.Linear)]
    assert widths == [2048, 2048, 4096, 4096, 8192]
    assert encoder.num_features == 2048


@pytest.mark.parametrize(("widths", "sets"), [([8, 6], 4), ([8], 0)])
def test_widths_that_maxout_cannot_divide(widths, sets):
    with pytest.raises(ValueError, match=f"maxout_sets must be at least 1 and divide the last of widths, got {sets}"):
        MLP(5, widths, sets)


def test_no_layer():
    with pytest.raises(ValueError, match="at least one layer"):
        MLP(5, [], 4)
