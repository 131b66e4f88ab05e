"""Layers of projection and prediction heads."""

import pytest
import torch
from torch import nn

from lightning_renyicl.heads import HeadPerAugmentation, MLPHead, NoHead, Predictor, ResidualHead


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


@pytest.mark.parametrize("norm", [False, True])
def test_xavier_weights_are_within_their_limit_and_biases_0(norm):
    torch.manual_seed(0)
    head = MLPHead(60, [90, 40], norm=norm, initialization="xavier")
    for layer in [layer for layer in head.layers if isinstance(layer, nn.Linear)]:
        limit = (6 / (layer.in_features + layer.out_features)) ** 0.5
        assert 0.98 * limit < layer.weight.abs().max() <= limit
        assert layer.bias is None or not layer.bias.any()


def test_the_default_is_how_torch_begins():
    torch.manual_seed(0)
    expected = nn.Linear(6, 4)
    torch.manual_seed(0)
    (layer,) = MLPHead(6, [4], norm=False).layers
    assert torch.equal(layer.weight, expected.weight)
    assert torch.equal(layer.bias, expected.bias)


def test_an_initialization_of_another_name():
    with pytest.raises(ValueError, match="one of kaiming, xavier, got zeros"):
        MLPHead(6, [4], initialization="zeros")


def test_a_residual_head_adds_a_block_to_a_linear_shortcut():
    torch.manual_seed(0)
    head = ResidualHead(5)
    x = torch.randn(3, 5)
    shortcut = x @ head.shortcut.weight.T
    block = x
    for layer in head.layers[::2]:
        block = (block @ layer.weight.T).relu()
    torch.testing.assert_close(head(x), block + shortcut)  # all biases are 0
    assert head.out_features == 5


class TestHeadPerAugmentation:
    def head(self):
        torch.manual_seed(0)
        return HeadPerAugmentation(5, choices=3, widths=[6, 4])

    def test_every_sample_has_its_own_head(self):
        head, x = self.head(), torch.randn(7, 5)
        choice = torch.tensor([0, 2, 1, 1, 0, 2, 2])
        expected = torch.stack([head.heads[number](row) for number, row in zip(choice.tolist(), x, strict=True)])
        torch.testing.assert_close(head(x, choice), expected)
        assert head.out_features == 4

    def test_the_last_head_is_of_samples_as_they_are(self):
        head, x = self.head(), torch.randn(7, 5)
        torch.testing.assert_close(head(x), head.heads[2](x))

    def test_no_head_is_without_a_gradient(self):
        head = self.head()
        head(torch.randn(7, 5), torch.zeros(7, dtype=torch.long)).sum().backward()
        assert all(parameter.grad is not None for parameter in head.parameters())
        assert not head.heads[1].layers[0].weight.grad.any()

    def test_no_choices(self):
        with pytest.raises(ValueError, match="choices must be at least 1, got 0"):
            HeadPerAugmentation(5, choices=0, widths=[4])
