"""Vision Transformer: patches, what positions change, blocks with parts taken out, and counts."""

from typing import get_args

import pytest
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from course_lib.layers import EncoderBlock
from course_lib.training import count_parameters
from course_lib.vit import (
    Positions,
    VisionBlock,
    ViT,
    ViTConfig,
    patchify,
    rearrange_patches,
    vit,
    vit_costs,
)
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
    assert names[3:13:2] == [
        f"blocks.0.{part}.weight"
        for part in (
            "attention_norm",
            "attention.q_proj",
            "attention.k_proj",
            "attention.v_proj",
            "attention.out_proj",
        )
    ]
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


BLOCK = {"d_model": 16, "n_layers": 2, "n_heads": 2, "d_ff": 32, "image_size": 12}


def tokens():
    return torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(0))


def count_small(**changes):
    return sum(p.numel() for p in ViT(ViTConfig(**BLOCK, **changes)).parameters())


def test_whole_it_is_the_pre_norm_encoder_block():
    ours, plain = VisionBlock(16, 2, 32).eval(), EncoderBlock(16, 2, 32).eval()
    ours.load_state_dict(plain.state_dict())
    torch.testing.assert_close(ours(tokens()), plain(tokens()))
    torch.manual_seed(0)
    mine = VisionBlock(16, 2, 32, dropout=0.3)
    plain = EncoderBlock(16, 2, 32, dropout=0.3)
    mine.load_state_dict(plain.state_dict())
    results = []
    for block in (mine, plain):
        torch.manual_seed(1)
        results.append(block(tokens()))
    torch.testing.assert_close(*results)


def test_what_is_taken_out_leaves_no_weights():
    whole = count_small()
    norm, feed_forward = 2 * 16, 2 * 16 * 32 + 32 + 16
    assert count_small(layer_norm=False) == whole - 5 * norm
    assert count_small(feed_forward=False) == whole - 2 * (feed_forward + norm)
    assert count_small(residual=False) == count_small(**{}) == whole
    assert sum(p.numel() for p in ViT(ViTConfig(**{**BLOCK, "n_heads": 1})).parameters()) == whole


def test_without_residuals_a_token_does_not_survive_a_block_that_ignores_it():
    block = VisionBlock(16, 2, 32, residual=False).eval()
    torch.nn.init.zeros_(block.attention.out_proj.weight)
    first, second = block(tokens()), block(tokens().flip(1))
    torch.testing.assert_close(first, second)
    kept = VisionBlock(16, 2, 32).eval()
    torch.nn.init.zeros_(kept.attention.out_proj.weight)
    assert not torch.allclose(kept(tokens()), kept(tokens().flip(1)), atol=1e-3)


def test_without_norms_a_block_follows_the_scale_of_its_input():
    def growth(layer_norm):
        block = VisionBlock(16, 2, 32, layer_norm=layer_norm, residual=False, feed_forward=False)
        block.eval()
        return (block(1000 * tokens()).std() / block(tokens()).std()).item()

    assert growth(layer_norm=True) == pytest.approx(1, abs=0.01)
    assert growth(layer_norm=False) > 100


@pytest.mark.parametrize("removed", ["residual", "layer_norm", "feed_forward"])
def test_every_ablation_runs_learns_and_returns_weights(removed):
    generator = torch.Generator().manual_seed(0)
    model = ViT(ViTConfig(**BLOCK, **{removed: False}), generator=generator)
    images = torch.randn(2, 3, 12, 12, generator=generator)
    logits, weights = model(images, return_weights=True)
    assert weights.shape == (2, 2, 2, 10, 10)
    logits.square().sum().backward()
    assert all(p.grad is not None for p in model.parameters())


ODD = {"image_size": 12, "d_model": 24, "n_heads": 2, "d_ff": 33, "n_layers": 3, "dropout": 0.0}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"positions": "learned"},
        {"positions": "none", "pooling": "mean"},
        {"positions": "learned", "pooling": "mean", "n_classes": 7, "n_channels": 1},
        {"feed_forward": False},
        {"layer_norm": False},
    ],
)
def test_the_formula_counts_what_is_built_and_what_is_run(changes):
    config = ViTConfig(**(ODD | changes))
    model = ViT(config, fused=False).eval()
    with FlopCounterMode(display=False) as counter:
        model(torch.zeros(1, config.n_channels, 12, 12))
    found = vit_costs(config)
    assert found.parameters == count_parameters(model)
    assert 2 * found.multiplications == counter.get_total_flops()


def test_models_with_a_name_have_their_published_size():
    for name, parameters, billions in (
        ("ti16", 5_717_416, 1.25),
        ("s16", 22_050_664, 4.60),
        ("b16", 86_567_656, 17.56),
    ):
        with torch.device("meta"):
            found = vit_costs(vit(name).config)
        assert found.parameters == parameters
        assert round(found.multiplications / 1e9, 2) == billions
    assert vit_costs(vit("cifar").config).parameters == 6_347_082


test_what_does_not_fit_is_refused = refusals(
    (lambda: vit_costs(ViTConfig(positions="axial")), "positions is 'axial'"),
    (lambda: vit("l16"), "no preset 'l16'; there are ti16, s16, b16, cifar"),
)


def test_recomputing_drops_the_same_channels_twice():
    config = ViTConfig(**(ODD | {"dropout": 0.5}))
    model = ViT(config, recompute=True, generator=torch.Generator().manual_seed(1))
    plain = ViT(config, generator=torch.Generator().manual_seed(1))
    images = torch.randn(2, 3, 12, 12, generator=torch.Generator().manual_seed(0))
    found = []
    for m in (model, plain):
        torch.manual_seed(3)
        m(images).square().sum().backward()
        found.append(m.patch_proj.weight.grad)
    torch.testing.assert_close(*found)
