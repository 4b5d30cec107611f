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
from course_tests.refusals import refusals

B, T, D, H, F = 2, 5, 12, 3, 20


def test_pre_norm_with_silent_parts_is_the_identity_and_post_norm_is_not():
    x = torch.randn(B, T, D)
    for norm, same in (("pre", True), ("post", False)):
        block = EncoderBlock(D, H, F, norm=norm)
        for last in (block.attention.out_proj, block.feed_forward.out_proj):
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)
        assert torch.allclose(block(x), x) is same


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


def decoder_inputs():
    torch.manual_seed(0)
    return torch.randn(B, T, D), torch.randn(B, T + 2, D)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_decoder_block_in_single_steps_equals_the_whole(norm):
    x, memory = (part.double() for part in decoder_inputs())
    block = DecoderBlock(D, H, F, norm=norm).double()
    cache = KVCache(), KVCache(fixed=True)
    outs = [block(x[:, :1], memory, cache=cache)]
    outs += [block(x[:, t : t + 1], cache=cache) for t in range(1, T)]
    whole = block(x, memory, mask=masks.causal_mask(T))
    torch.testing.assert_close(torch.cat(outs, 1), whole, atol=1e-12, rtol=0)


def test_a_head_mask_reaches_the_heads():
    block, x = EncoderBlock(D, H, F), torch.randn(B, T, D)
    nothing = block(x, head_mask=torch.zeros(H))
    nn.init.zeros_(block.attention.out_proj.weight)
    torch.testing.assert_close(nothing, block(x))


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


test_errors_name_what_came_and_what_was_wanted = refusals(
    (lambda: DecoderBlock(4, 2, 8)(torch.ones(1, 2, 4)), "got no memory, wanted one or"),
    (lambda: DecoderBlock(4, 2, 8, norm="none"), "norm is 'none', wanted one of"),
    (lambda: FeedForward(4, 8, activation="tanh"), "activation is 'tanh', wanted one of"),
    (lambda: EncoderBlock(4, 2, 8, norm="none"), "norm is 'none', wanted one of"),
    (lambda: EncoderBlock(4, 3, 8), "n_heads is 3"),
    (
        lambda: layer_norm(torch.arange(4).to(torch.int64)),
        "dtype torch.int64, wanted a floating-point",
    ),
    (
        lambda: layer_norm(torch.arange(4).to(torch.bool)),
        "dtype torch.bool, wanted a floating-point",
    ),
    (
        lambda: layer_norm(torch.arange(4).to(torch.complex64)),
        "dtype torch.complex64, wanted a floating-point",
    ),
    (lambda: TiedEmbedding(10, 4)(torch.tensor([[0, 10]])), "numbers from 0 to 10, wanted 0 to 9"),
    (lambda: TiedEmbedding(10, 4)(torch.tensor([[-1, 3]])), "from -1 to 3, wanted 0 to 9"),
    (lambda: TiedEmbedding(10, 4)(torch.tensor([[1.0]])), "dtype torch.float32, wanted integers"),
)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("eps", [1e-5, 1.0])
def test_the_norm_is_torchs(dtype, eps):
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


def test_no_tokens_have_no_vectors():
    assert TiedEmbedding(10, 4)(torch.zeros(0, 3, dtype=torch.long)).shape == (0, 3, 4)
