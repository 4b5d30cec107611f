"""Residual network: exact counts, what a shortcut does, the stem, errors."""

import pytest
import torch
import torch.nn.functional as F

from course_lib.resnet import BasicBlock, ResNet, ResNetConfig, ResNetStage, resnet18
from course_tests.refusals import refusals


def small(seed=0, **changes):
    config = ResNetConfig(**{"widths": (8, 16), "n_blocks": (1, 2), **changes})
    return ResNet(config, generator=torch.Generator().manual_seed(seed)).eval()


def images(batch=3, size=8, channels=3):
    return torch.randn(batch, channels, size, size, generator=torch.Generator().manual_seed(1))


def count(model):
    return sum(p.numel() for p in model.parameters())


def test_parameter_counts():
    with torch.device("meta"):
        assert count(resnet18()) == 11_173_962
        assert count(resnet18(100)) == 11_173_962 + 90 * 513
        # The same blocks as in the ImageNet model, whose stem has 7 x 7 instead of 3 x 3 weights.
        assert count(resnet18(1000)) + 3 * 64 * (49 - 9) == 11_689_512


def test_a_block_whose_last_norm_is_zero_passes_on_what_came_in():
    block = BasicBlock(4, 4).eval()
    torch.nn.init.zeros_(block.norm2.weight)
    x = images(channels=4)
    torch.testing.assert_close(block(x), F.relu(x))


def test_the_gradient_reaches_the_input_around_the_convolutions():
    block = BasicBlock(4, 4).eval()
    for norm in (block.norm1, block.norm2):
        torch.nn.init.zeros_(norm.weight)
    x = images(channels=4).requires_grad_()
    block(x).sum().backward()
    torch.testing.assert_close(x.grad, (x > 0).float())


@pytest.mark.parametrize("size", [7, 8])
def test_stages_halve_the_resolution_and_keep_a_last_odd_row(size):
    sides = [x.shape[-1] for x in small().features(images(size=size))]
    assert sides == [size, -(-size // 2)]


def test_in_evaluation_an_image_does_not_depend_on_its_batch():
    model = small()
    torch.testing.assert_close(model(images())[:1], model(images()[:1]))
    model.train()
    assert not torch.allclose(model(images())[:1], model(images()[:2])[:1], atol=1e-3)


def test_moving_an_image_moves_its_features():
    image = torch.zeros(1, 3, 16, 16)
    image[:, :, 4:8, 4:8] = 1.0
    model = small(widths=(8,), n_blocks=(1,))
    before, after = (model.features(x)[0] for x in (image, image.roll((3, 2), (2, 3))))
    inner = slice(5, 11)
    torch.testing.assert_close(
        before.roll((3, 2), (2, 3))[..., inner, inner], after[..., inner, inner]
    )


def test_the_scale_of_features_survives_many_blocks():
    model = small(n_blocks=(6, 6)).train()
    found = model.features(images(batch=16))
    assert all(0.1 < x.std().item() < 10 for x in found)


test_errors_name_what_came_and_what_was_wanted = refusals(
    (lambda: small()(images(channels=1)), r"\(3, 1, 8, 8\), wanted \(B, 3, height, width\)"),
    (lambda: small()(images()[0]), r"\(3, 8, 8\), wanted \(B, 3, height, width\)"),
    (lambda: small()(images().byte()), "torch.uint8, wanted a floating-point one"),
    (lambda: small(n_blocks=(1,)), "widths has 2 stages and n_blocks 1, wanted the same"),
    (lambda: ResNetConfig(widths=(), n_blocks=()), "widths has 0 stages"),
    (lambda: ResNetStage(4, 4, n_blocks=0), "n_blocks is 0, wanted at least 1"),
)


def test_hooks_see_what_norms_returned():
    block, seen = BasicBlock(4, 4), {}
    for name in ("norm1", "norm2"):
        getattr(block, name).register_forward_hook(
            lambda module, given, out, name=name: seen.update({name: (given[0], out)})
        )
    block(torch.randn(2, 4, 6, 6))
    for name, (given, out) in seen.items():
        norm = getattr(block, name)
        torch.testing.assert_close(
            out, F.batch_norm(given, None, None, norm.weight, norm.bias, training=True)
        )
        assert out.min() < 0
