"""Vision Transformer: exact counts, patches equal to a convolution, what positions change."""

from typing import get_args

import pytest
import torch
import torch.nn.functional as F

from course_lib.vit import Positions, ViT, ViTConfig, patchify, rearrange_patches
from course_tests.refusals import refusals


def small(**kwargs):
    settings = {"d_model": 16, "n_layers": 2, "n_heads": 2, "d_ff": 32, "image_size": 12} | kwargs
    return ViT(ViTConfig(**settings), generator=torch.Generator().manual_seed(0)).eval()


def images(batch=3, size=12):
    return torch.randn(batch, 3, size, size, generator=torch.Generator().manual_seed(1))


def count(**kwargs):
    return sum(p.numel() for p in ViT(ViTConfig(**kwargs)).parameters())


def test_parameter_counts_of_the_report_and_of_the_paper():
    assert count() == 6_347_082
    assert count(positions="none") == 6_347_082
    assert count(positions="learned") == 6_373_082
    assert count(pooling="mean") == 6_347_082 - 400


def test_seeds_give_the_models_that_the_committed_records_were_measured_with():
    x = torch.linspace(-1, 1, 3 * 144).view(1, 3, 12, 12)
    logits = small()(x)[0, :4].tolist()
    assert logits == pytest.approx([-0.628183, -0.637946, 0.566013, 0.696711], abs=1e-4)
    names = list(small().state_dict())
    assert names[:3] == ["cls_token", "patch_proj.weight", "patch_proj.bias"]
    assert names[3:13:2] == [f"blocks.0.{part}.weight" for part in (
        "attention_norm", "attention.q_proj", "attention.k_proj", "attention.v_proj",
        "attention.out_proj",
    )]  # fmt: skip
    assert len(names) == 3 + 2 * 16 + 4


def test_patches_under_a_linear_map_are_a_convolution():
    x, kernel = images().double(), torch.randn(16, 3, 4, 4, dtype=torch.float64)
    convolved = F.conv2d(x, kernel, stride=4).flatten(2).transpose(1, 2)
    torch.testing.assert_close(F.linear(patchify(x, 4), kernel.flatten(1)), convolved)


def test_patches_of_an_oblong_image_are_its_pixels():
    x = images()[:, :, :8]
    patches = patchify(x, 4)
    assert patches.shape == (3, 6, 48)
    torch.testing.assert_close(patches[:, 4], x[:, :, 4:8, 4:8].flatten(1))


def test_rearranged_patches_are_the_patches_in_another_order():
    x, order = images()[:, :, :8], torch.tensor([5, 0, 3, 1, 4, 2])
    moved = rearrange_patches(x, order, 4)
    assert moved.shape == x.shape
    assert torch.equal(patchify(moved, 4), patchify(x, 4)[:, order])
    assert torch.equal(rearrange_patches(moved, order.argsort(), 4), x)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("positions", get_args(Positions))
def test_only_without_positions_does_the_order_of_patches_not_matter(positions, pooling):
    model = small(positions=positions, pooling=pooling)
    x = images()
    shuffled = torch.cat([x[:, :, 4:], x[:, :, :4]], dim=2)
    same = torch.allclose(model(x), model(shuffled), atol=1e-5)
    assert same is (positions == "none")


def test_added_sinusoids_confuse_places_that_mirror_each_other():
    added, apart = small(positions="added").positions[1:], small().positions[1:]
    assert len(added.unique(dim=0)) == 6 and len(apart.unique(dim=0)) == 9
    grid = added.unflatten(0, (3, 3))
    assert torch.equal(grid[0, 2], grid[2, 0])


@pytest.mark.parametrize("pooling, n_tokens", [("cls", 10), ("mean", 9)])
def test_weights_are_returned_on_request_and_change_nothing(pooling, n_tokens):
    model = small(pooling=pooling)
    logits, weights = model(images(), return_weights=True)
    assert weights.shape == (2, 3, 2, n_tokens, n_tokens)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 2, n_tokens))
    torch.testing.assert_close(model(images()), logits)


def test_fixed_positions_are_no_parameter_and_leave_the_class_token_alone():
    model = small()
    assert "positions" not in model.state_dict()
    assert (model.positions[0] == 0).all() and (model.positions[1:].abs().sum(-1) > 0).all()


test_errors_name_what_came_and_what_was_wanted = refusals(
    (lambda: ViTConfig(positions="sine"), "positions is 'sine', wanted one of"),
    (lambda: ViTConfig(pooling="max"), "pooling is 'max', wanted one of"),
    (lambda: ViTConfig(patch_size=5), "patch_size is 5, wanted a divisor of image_size 32"),
    (lambda: ViTConfig(n_heads=3), "n_heads is 3, wanted a divisor of d_model 400"),
    (lambda: ViTConfig(n_layers=0), "n_layers is 0"),
    (lambda: small(d_model=18), "d_model is 18, wanted a positive multiple of 4"),
    (lambda: small()(images()[:, :1]), r"\(3, 1, 12, 12\), wanted \(B, 3, 12, 12\)"),
    (lambda: small()(images()[..., :8]), r"\(3, 3, 12, 8\), wanted \(B, 3, 12, 12\)"),
    (lambda: small()(images(size=8)), r"\(3, 3, 8, 8\), wanted \(B, 3, 12, 12\)"),
    (lambda: small()(images().byte()), "torch.uint8, wanted a floating-point one"),
    (lambda: patchify(images(), 5), "patch_size is 5, wanted a divisor of 12 and 12"),
    (lambda: patchify(images()[0], 4), r"\(3, 12, 12\), wanted \(B, C, height, width\)"),
    (lambda: rearrange_patches(images(), torch.tensor([*range(8)]), 4), "permutation of 9 patches"),
    (
        lambda: rearrange_patches(images(), torch.tensor([*range(8), 7]), 4),
        "permutation of 9 patches",
    ),
    (
        lambda: rearrange_patches(images(), torch.tensor([[*range(9)]]), 4),
        "permutation of 9 patches",
    ),
)
