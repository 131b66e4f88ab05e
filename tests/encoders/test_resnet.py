"""ResNet against torchvision's own."""

import subprocess
import sys

import pytest
import torch
from torch import nn
from torchvision.models import resnet18, resnet34, resnet50

from lightning_renyicl.encoders import ResNet


@pytest.mark.parametrize(("depth", "features"), [(10, 512), (18, 512), (50, 2048)])
@pytest.mark.parametrize("cifar_stem", [False, True])
def test_shapes(depth, features, cifar_stem):
    encoder = ResNet(depth, cifar_stem).eval()
    with torch.no_grad():
        assert encoder(torch.randn(2, 3, 32, 32)).shape == (2, features)
    assert encoder.num_features == features


@pytest.mark.parametrize(("depth", "reference"), [(18, resnet18), (34, resnet34), (50, resnet50)])
def test_torchvision_weights_fit(depth, reference):
    network = reference()
    network.fc = nn.Identity()
    ResNet(depth).network.load_state_dict(network.state_dict(), strict=True)


def test_cifar_stem_is_a_modified_torchvision_network():
    network = resnet18()
    network.conv1 = nn.Conv2d(3, 64, 3, stride=1, padding=1, bias=False)
    network.maxpool, network.fc = nn.Identity(), nn.Identity()
    encoder = ResNet(18, cifar_stem=True)
    encoder.network.load_state_dict(network.state_dict(), strict=True)
    images = torch.randn(2, 3, 16, 16)
    with torch.no_grad():
        torch.testing.assert_close(encoder.eval()(images), network.eval()(images), rtol=1e-4, atol=1e-5)


def test_cifar_stem_keeps_the_resolution():
    seen = []
    encoder = ResNet(10, cifar_stem=True).eval()
    encoder.network.layer1.register_forward_hook(lambda module, inputs, output: seen.append(output))
    with torch.no_grad():
        encoder(torch.randn(2, 3, 8, 8))
    assert seen[0].shape == (2, 64, 8, 8)
    assert seen[0].is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("zero", [False, True])
def test_residual_blocks_may_start_as_the_identity(zero):
    encoder = ResNet(10, zero_init_residual=zero)
    assert all(bool(getattr(encoder.network, f"layer{i}")[0].bn2.weight.any()) != zero for i in range(1, 5))


def test_unknown_depth():
    with pytest.raises(ValueError, match=r"depth must be one of \[10, 18, 34, 50\], got 20"):
        ResNet(20)


@pytest.mark.parametrize(("depth", "expansion"), [(18, 1), (50, 4)])
@pytest.mark.parametrize("cifar_stem", [False, True])
def test_width(depth, expansion, cifar_stem):
    narrow, whole = ResNet(depth, cifar_stem, width=16), ResNet(depth, cifar_stem)
    assert narrow.num_features == 128 * expansion
    with torch.no_grad():
        assert narrow.eval()(torch.randn(2, 3, 32, 32)).shape == (2, 128 * expansion)
    for (name, small), (_, large) in zip(narrow.named_parameters(), whole.named_parameters(), strict=True):
        # input and output channels are a quarter, but for the three colours and the kernels' sides
        for side, other in zip(small.shape, large.shape, strict=True):
            assert side in (other, other / 4), name
        assert small.shape[0] == large.shape[0] / 4, name
    ours, theirs = ([m.stride for m in e.modules() if isinstance(m, nn.Conv2d)] for e in (narrow, whole))
    assert ours == theirs


@pytest.mark.parametrize("cifar_stem", [False, True])
def test_first_weights_of_a_narrow_network_are_as_large_as_torchvisions(cifar_stem):
    torch.manual_seed(0)
    weight = ResNet(10, cifar_stem, width=4).network.conv1.weight
    reached = 4 * weight[0, 0].numel()  # outputs of an input
    assert weight.std().item() == pytest.approx((2 / reached) ** 0.5, rel=0.2)  # 3 deviations at 108 weights


def test_width_errors():
    with pytest.raises(ValueError, match="width must be at least 1, got 0"):
        ResNet(18, width=0)


@pytest.mark.slow
@pytest.mark.parametrize("width", [4, 8, 16])
def test_gradients_of_narrow_networks_on_large_images(width):
    """In a process of its own, which oneDNN would end on some processors."""
    program = (
        "import torch; from lightning_renyicl.encoders import ResNet; "
        f"encoder = ResNet(10, width={width}); encoder(torch.rand(16, 3, 224, 224)).sum().backward(); "
        "assert all(p.grad.isfinite().all() for p in encoder.parameters())"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
