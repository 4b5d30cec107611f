"""Blocks: equal to torch's own encoder layer, in both orders of the norm."""

import pytest
import torch
from torch import nn

from course_lib import masks
from course_lib.attention import KVCache
from course_lib.layers import (
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    TiedEmbedding,
    layer_norm,
    xavier_init,
)

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
    for part in (block.attention_norm, block.feed_forward_norm):
        nn.init.normal_(part.weight)
        nn.init.normal_(part.bias)
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


@pytest.mark.parametrize("bias", [True, False])
def test_parameter_counts(bias):
    def count(block):
        return sum(p.numel() for p in block.parameters())

    attention, feed_forward = 4 * (D * D + bias * D), D * F + F * D + bias * (F + D)
    norm = (1 + bias) * D
    assert count(EncoderBlock(D, H, F, bias=bias)) == attention + feed_forward + 2 * norm
    assert count(DecoderBlock(D, H, F, bias=bias)) == 2 * attention + feed_forward + 3 * norm


# ------------------------------------------------------------------------------ decoder block


def copy_decoder_into_torch(block: DecoderBlock, activation: str) -> nn.TransformerDecoderLayer:
    theirs = nn.TransformerDecoderLayer(
        D, H, F, dropout=0.0, activation=activation, batch_first=True,
        norm_first=block.norm == "pre",
    )  # fmt: skip
    pairs = [
        (block.feed_forward.in_proj, theirs.linear1),
        (block.feed_forward.out_proj, theirs.linear2),
        (block.attention_norm, theirs.norm1),
        (block.cross_attention_norm, theirs.norm2),
        (block.feed_forward_norm, theirs.norm3),
    ]
    for mine, other in (
        (block.attention, theirs.self_attn),
        (block.cross_attention, theirs.multihead_attn),
    ):
        projections = mine.q_proj, mine.k_proj, mine.v_proj
        with torch.no_grad():
            other.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
            other.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
        pairs.append((mine.out_proj, other.out_proj))
    for mine, other in pairs:
        other.load_state_dict(mine.state_dict())
    return theirs


def decoder_inputs():
    torch.manual_seed(0)
    return torch.randn(B, T, D), torch.randn(B, T + 2, D)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_decoder_block_equals_torch(norm, activation):
    x, memory = decoder_inputs()
    block = DecoderBlock(D, H, F, norm=norm, activation=activation)
    for part in block.modules():
        if isinstance(part, nn.LayerNorm):
            nn.init.normal_(part.weight)
            nn.init.normal_(part.bias)
    mask, memory_mask = masks.causal_mask(T), masks.padding_mask(torch.tensor([3, T + 2]), T + 2)
    expected = copy_decoder_into_torch(block, activation)(
        x, memory, tgt_mask=masks.to_blocked(mask), memory_key_padding_mask=~memory_mask[:, 0, 0]
    )
    out = block(x, memory, mask=mask, memory_mask=memory_mask)
    torch.testing.assert_close(out, expected)
    out, weights, memory_weights = block(
        x, memory, mask=mask, memory_mask=memory_mask, return_weights=True
    )
    torch.testing.assert_close(out, expected)
    assert (weights[..., ~mask] == 0).all() and (memory_weights[0, ..., 3:] == 0).all()


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_decoder_block_in_single_steps_equals_the_whole(norm):
    x, memory = (part.double() for part in decoder_inputs())
    block = DecoderBlock(D, H, F, norm=norm).double()
    cache = KVCache(), KVCache(fixed=True)
    outs = [block(x[:, :1], memory, cache=cache)]
    outs += [block(x[:, t : t + 1], cache=cache) for t in range(1, T)]
    whole = block(x, memory, mask=masks.causal_mask(T))
    torch.testing.assert_close(torch.cat(outs, 1), whole, atol=1e-12, rtol=0)


def test_decoder_block_drops_where_torch_drops():
    block = DecoderBlock(D, H, F, dropout=0.5)
    x, memory = decoder_inputs()
    assert block.attention.dropout == block.cross_attention.dropout == 0.5
    assert not torch.equal(block(x, memory), block(x, memory))
    block.eval()
    assert torch.equal(block(x, memory), block(x, memory))


def test_a_head_mask_reaches_the_heads():
    block, x = EncoderBlock(D, H, F), torch.randn(B, T, D)
    nothing = block(x, head_mask=torch.zeros(H))
    nn.init.zeros_(block.attention.out_proj.weight)
    torch.testing.assert_close(nothing, block(x))


# ------------------------------------------------------------------------------ parts


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


def test_uniform_xavier_stays_within_its_bound_and_has_the_same_variance():
    layer = nn.Linear(400, 600)
    xavier_init(layer, uniform=True, generator=torch.Generator().manual_seed(0))
    bound = (6 / 1000) ** 0.5
    assert 0.99 * bound < layer.weight.abs().max() <= bound
    assert abs(layer.weight.var().item() / (2 / 1000) - 1) < 0.02


def test_maps_of_q_k_and_v_drawn_as_one_matrix_would_be_smaller():
    """torch draws its packed (3D, D) matrix as one layer: half the variance of three layers."""
    attend = nn.MultiheadAttention(400, 4)
    block = EncoderBlock(400, 4, 8)
    xavier_init(block, uniform=True, generator=torch.Generator().manual_seed(0))
    ratio = attend.in_proj_weight.var() / block.attention.q_proj.weight.var()
    assert abs(ratio.item() - 0.5) < 0.02


def test_a_tied_embedding_is_one_matrix_for_both_directions():
    embedding = TiedEmbedding(7, D, scaled=True)
    tokens = torch.tensor([[1, 6, 1]])
    x = embedding(tokens)
    torch.testing.assert_close(x, embedding.weight[tokens] * D**0.5)
    torch.testing.assert_close(embedding.logits(x), x @ embedding.weight.T)
    assert list(embedding.state_dict()) == ["weight"]
    (embedding(tokens).sum() + embedding.logits(torch.ones(1, D)).sum()).backward()
    expected = torch.ones(7, D)
    expected[1], expected[6] = 1 + 2 * D**0.5, 1 + D**0.5
    torch.testing.assert_close(embedding.weight.grad, expected)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: DecoderBlock(4, 2, 8)(torch.ones(1, 2, 4)), "got no memory, wanted one or"),
        (
            lambda: DecoderBlock(4, 2, 8, d_memory=3)(torch.ones(1, 2, 4), torch.ones(1, 2, 4)),
            r"k has shape \(1, 2, 4\), wanted \(B, length, 3\)",
        ),
        (lambda: DecoderBlock(4, 2, 8, norm="none"), "norm is 'none', wanted one of"),
        (lambda: FeedForward(4, 8, activation="tanh"), "activation is 'tanh', wanted one of"),
        (lambda: EncoderBlock(4, 2, 8, norm="none"), "norm is 'none', wanted one of"),
        (lambda: EncoderBlock(4, 3, 8), "n_heads is 3"),
    ],
)
def test_errors_name_what_came_and_what_was_wanted(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("eps", [1e-5, 1.0])
def test_the_norm_is_torchs(dtype: torch.dtype, eps: float) -> None:
    generator = torch.Generator().manual_seed(0)
    x = (300 + 400 * torch.randn(B, T, D, generator=generator)).to(dtype)
    scale, shift = torch.randn(2, D, generator=generator).to(dtype)
    theirs = torch.nn.functional.layer_norm(x, (D,), scale, shift, eps)
    mine = layer_norm(x, scale, shift, eps=eps)
    assert mine.dtype == dtype
    torch.testing.assert_close(mine, theirs)
    torch.testing.assert_close(
        layer_norm(x, eps=eps), torch.nn.functional.layer_norm(x, (D,), eps=eps)
    )


def test_a_hook_sees_what_the_first_map_returned():
    feed_forward, seen = FeedForward(8, 32), []
    feed_forward.in_proj.register_forward_hook(lambda module, given, out: seen.append(out))
    x = torch.randn(4, 8)
    feed_forward(x)
    torch.testing.assert_close(seen[0], nn.functional.linear(x, *feed_forward.in_proj.parameters()))
    assert seen[0].min() < 0


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
def test_only_real_numbers_have_a_norm(dtype):
    with pytest.raises(ValueError, match=f"x has dtype {dtype}, wanted a floating-point one"):
        layer_norm(torch.arange(4).to(dtype))


@pytest.mark.parametrize(
    "tokens, text",
    [
        (torch.tensor([[0, 10]]), "numbers from 0 to 10, wanted 0 to 9"),
        (torch.tensor([[-1, 3]]), "numbers from -1 to 3, wanted 0 to 9"),
        (torch.tensor([[1.0]]), "dtype torch.float32, wanted integers"),
    ],
)
def test_tokens_that_are_in_no_vocabulary_are_refused(tokens, text):
    with pytest.raises(ValueError, match=text):
        TiedEmbedding(10, 4)(tokens)


def test_no_tokens_have_no_vectors():
    assert TiedEmbedding(10, 4)(torch.zeros(0, 3, dtype=torch.long)).shape == (0, 3, 4)
