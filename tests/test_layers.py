"""Blocks: equal to torch's own encoder layer, in both orders of the norm."""

import pytest
import torch
from torch import nn

from course_lib import masks
from course_lib.layers import EncoderBlock, FeedForward, xavier_init

B, T, D, H, F = 2, 5, 12, 3, 20


def copy_into_torch(block: EncoderBlock, activation: str) -> nn.TransformerEncoderLayer:
    theirs = nn.TransformerEncoderLayer(
        D,
        H,
        F,
        dropout=0.0,
        activation=activation,
        batch_first=True,
        norm_first=block.norm == "pre",
    )
    attention = block.attention
    projections = attention.q_proj, attention.k_proj, attention.v_proj
    with torch.no_grad():
        theirs.self_attn.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
        theirs.self_attn.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
    for mine, other in (
        (attention.out_proj, theirs.self_attn.out_proj),
        (block.feed_forward.in_proj, theirs.linear1),
        (block.feed_forward.out_proj, theirs.linear2),
        (block.attention_norm, theirs.norm1),
        (block.feed_forward_norm, theirs.norm2),
    ):
        other.load_state_dict(mine.state_dict())
    return theirs


@pytest.mark.parametrize("mask", [None, masks.causal_mask(T)])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_block_equals_torch(norm, activation, mask):
    torch.manual_seed(0)
    block = EncoderBlock(D, H, F, norm=norm, activation=activation)
    for layer_norm in (block.attention_norm, block.feed_forward_norm):
        nn.init.normal_(layer_norm.weight)
        nn.init.normal_(layer_norm.bias)
    x = torch.randn(B, T, D)
    expected = copy_into_torch(block, activation)(
        x, src_mask=None if mask is None else masks.to_blocked(mask)
    )
    torch.testing.assert_close(block(x, mask=mask), expected)
    torch.testing.assert_close(block(x, mask=mask, return_weights=True)[0], expected)


def test_block_drops_where_torch_drops():
    block = EncoderBlock(D, H, F, dropout=0.5)
    dropouts = [m.p for m in block.modules() if isinstance(m, nn.Dropout)]
    assert dropouts == [0.5, 0.5] and block.attention.dropout == 0.5
    x = torch.randn(B, T, D)
    assert not torch.equal(block(x), block(x))
    block.eval()
    assert torch.equal(block(x), block(x))


def test_pre_norm_with_silent_parts_is_the_identity_and_post_norm_is_not():
    x = torch.randn(B, T, D)
    for norm, same in (("pre", True), ("post", False)):
        block = EncoderBlock(D, H, F, norm=norm)
        for last in (block.attention.out_proj, block.feed_forward.out_proj):
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)
        assert torch.allclose(block(x), x) is same


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_block_is_permutation_equivariant(norm):
    block = EncoderBlock(D, H, F, norm=norm).double()
    x, order = torch.randn(B, T, D, dtype=torch.float64), torch.randperm(T)
    torch.testing.assert_close(block(x[:, order]), block(x)[:, order])


def test_bias_and_mask_reach_the_weights():
    block = EncoderBlock(D, H, F)
    bias, mask = torch.zeros(1, H, T, T), masks.causal_mask(T)
    bias[:, 0, :, 0] = 1e4
    _, weights = block(torch.randn(B, T, D), mask=mask, bias=bias, return_weights=True)
    assert (weights[:, 0, :, 0] == 1).all() and (weights[:, :, ~mask] == 0).all()


def test_parameter_counts():
    count = sum(p.numel() for p in EncoderBlock(D, H, F).parameters())
    assert count == 4 * (D * D + D) + (D * F + F + F * D + D) + 4 * D


def test_feed_forward_is_its_formula():
    feed_forward = FeedForward(D, F, activation="relu")
    w1, b1, w2, b2 = feed_forward.parameters()
    x = torch.randn(B, T, D)
    expected = torch.clamp(x @ w1.T + b1, min=0) @ w2.T + b2
    torch.testing.assert_close(feed_forward(x), expected)
    assert FeedForward(D, F, bias=False).in_proj.bias is None


def test_xavier_has_the_variance_of_the_formula_and_a_generator_of_its_own():
    def draw(seed):
        layer = nn.Linear(400, 600)
        xavier_init(nn.Sequential(layer), generator=torch.Generator().manual_seed(seed))
        return layer

    layer = draw(0)
    assert abs(layer.weight.var().item() / (2 / 1000) - 1) < 0.02
    assert (layer.bias == 0).all()
    torch.manual_seed(1)
    assert torch.equal(draw(0).weight, layer.weight)
    assert not torch.equal(draw(1).weight, layer.weight)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: FeedForward(4, 8, activation="tanh"), "activation is 'tanh', wanted one of"),
        (lambda: EncoderBlock(4, 2, 8, norm="none"), "norm is 'none', wanted one of"),
        (lambda: EncoderBlock(4, 3, 8), "n_heads is 3"),
    ],
)
def test_errors_name_what_came_and_what_was_wanted(call, text):
    with pytest.raises(ValueError, match=text):
        call()
