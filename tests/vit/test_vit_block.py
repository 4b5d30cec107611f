"""The block with parts taken out, as the CIFAR-10 report's ablations need it."""

import pytest
import torch

from course_lib.layers import EncoderBlock
from course_lib.vit import VisionBlock, ViT, ViTConfig

SMALL = {"d_model": 16, "n_layers": 2, "n_heads": 2, "d_ff": 32, "image_size": 12}


def tokens():
    return torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(0))


def count(**changes):
    return sum(p.numel() for p in ViT(ViTConfig(**SMALL, **changes)).parameters())


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
    whole = count()
    norm, feed_forward = 2 * 16, 2 * 16 * 32 + 32 + 16
    assert count(layer_norm=False) == whole - 5 * norm
    assert count(feed_forward=False) == whole - 2 * (feed_forward + norm)
    assert count(residual=False) == count(**{}) == whole
    assert sum(p.numel() for p in ViT(ViTConfig(**{**SMALL, "n_heads": 1})).parameters()) == whole


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
    model = ViT(ViTConfig(**SMALL, **{removed: False}), generator=generator)
    images = torch.randn(2, 3, 12, 12, generator=generator)
    logits, weights = model(images, return_weights=True)
    assert weights.shape == (2, 2, 2, 10, 10)
    logits.square().sum().backward()
    assert all(p.grad is not None for p in model.parameters())
