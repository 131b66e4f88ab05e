"""Networks of timm by name."""

from __future__ import annotations

import pytest
import timm
import torch

from lightning_renyicl.encoders import TimmModel


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("resnet10t", {}),
        ("convnext_atto", {}),
        ("mobilenetv3_small_050", {}),
        ("vit_tiny_patch16_224", {"img_size": 64, "depth": 2}),
    ],
)
def test_features_are_timms(name, arguments):
    torch.manual_seed(0)
    encoder = TimmModel(name, arguments=arguments).eval()
    network = timm.create_model(name, num_classes=0, **arguments).eval()
    network.load_state_dict(encoder.network.state_dict())
    images = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        features = encoder(images)
        torch.testing.assert_close(features, network(images), rtol=1e-3, atol=1e-4)
    assert features.shape == (2, encoder.num_features)


def test_a_name_that_timm_does_not_know():
    with pytest.raises(ValueError, match=r"timm .* has no network resnet_18; it has .*resnet18"):
        TimmModel("resnet_18")
    with pytest.raises(ValueError, match="it has none like it"):
        TimmModel("???")


def test_a_network_that_gives_a_map():
    encoder = TimmModel("resnet10t", arguments={"global_pool": ""})
    with pytest.raises(ValueError, match=r"gives \[2, 512, 1, 1\] for 2 images in place of one vector of 512"):
        encoder(torch.randn(2, 3, 32, 32))


def test_images_of_another_size():
    encoder = TimmModel("vit_tiny_patch16_224", arguments={"depth": 1})
    with pytest.raises(ValueError, match=r"height \(32\) doesn't match model \(224\).* arguments\.img_size"):
        encoder(torch.randn(2, 3, 32, 32))


def test_a_classifier():
    with pytest.raises(ValueError, match="arguments cannot have num_classes"):
        TimmModel("resnet10t", arguments={"num_classes": 10})
