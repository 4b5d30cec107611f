"""The gated delta rule by chunks, and attention by tiles: the same as the formula."""

import math

import pytest
import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.efficient import GatedDeltaAttention, gated_delta, online_attention
from course_lib.masks import padding_mask


def drawn(T=11):
    source = torch.Generator().manual_seed(0)
    q, k = torch.nn.functional.normalize(
        torch.randn(2, 2, 3, T, 4, generator=source, dtype=torch.float64), dim=-1
    )
    v = torch.randn(2, 3, T, 5, generator=source, dtype=torch.float64)
    keep, rate = torch.rand(2, 2, 3, T, generator=source, dtype=torch.float64)
    return q, k, v, keep, rate


def by_the_formula(q, k, v, keep, rate):
    out = torch.empty_like(v)
    for b in range(len(q)):
        for h in range(q.shape[1]):
            S = torch.zeros(v.shape[-1], k.shape[-1], dtype=v.dtype)
            for t in range(q.shape[2]):
                key, value = k[b, h, t], v[b, h, t]
                erase = torch.eye(len(key)) - rate[b, h, t] * torch.outer(key, key)
                S = S @ (keep[b, h, t] * erase) + rate[b, h, t] * torch.outer(value, key)
                out[b, h, t] = S @ q[b, h, t]
    return out


@pytest.mark.parametrize("chunk", [1, 4, 11, 64])
def test_chunks_of_any_length_give_what_the_loop_gives(chunk):
    given = [x.requires_grad_() for x in drawn()]
    fast, slow = gated_delta(*given, chunk=chunk), by_the_formula(*given)
    torch.testing.assert_close(fast, slow)
    weight = torch.randn_like(slow)
    for ours, theirs in zip(
        torch.autograd.grad((fast * weight).sum(), given),
        torch.autograd.grad((slow * weight).sum(), given),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


def test_a_state_that_forgets_all_in_a_long_chunk_stays_finite():
    q, k, v, keep, rate = (x.float() for x in drawn(200))
    keep = (keep / 100).requires_grad_()
    out = gated_delta(q, k, v, keep, rate, chunk=200)
    torch.testing.assert_close(out, by_the_formula(q, k, v, keep, rate), atol=1e-5, rtol=1e-4)
    (slope,) = torch.autograd.grad(out.sum(), keep)
    assert slope.isfinite().all()


@pytest.mark.parametrize("chunk", [4, 64])
def test_tokens_that_keep_nothing_empty_the_state(chunk):
    q, k, v, keep, rate = drawn()
    keep[..., [0, 3, 4]] = 0.0
    out = gated_delta(q, k, v, keep, rate, chunk=chunk)
    torch.testing.assert_close(out, by_the_formula(q, k, v, keep, rate))


def test_the_layer_is_the_formula_between_its_projections():
    layer, x = GatedDeltaAttention(12, 3).double(), drawn()[2].transpose(1, 2).reshape(2, 11, 15)
    x = x[..., :12]
    q, k, v = layer.project(x)
    keep = 1 / (1 + (-x @ layer.keep_proj.weight.T - layer.memory).exp())
    rate = 1 / (1 + (-layer.rate_proj(x)).exp())
    heads = by_the_formula(
        q / q.norm(dim=-1, keepdim=True), k / k.norm(dim=-1, keepdim=True), v, keep.mT, rate.mT
    )
    torch.testing.assert_close(layer(x), layer.merge(heads))


def test_half_precision_is_close_and_no_tokens_give_none():
    given = [x.half() for x in drawn()]
    whole = gated_delta(*(x.double() for x in given))
    torch.testing.assert_close(gated_delta(*given), whole.half(), atol=1e-3, rtol=1e-2)
    assert gated_delta(*(x[:, :, :0] for x in given)).shape == (2, 3, 0, 5)


def test_shapes_that_do_not_fit_are_refused():
    q, k, v, keep, rate = drawn()
    with pytest.raises(ValueError, match="rate is"):
        gated_delta(q, k, v, keep, rate[..., :3])
    with pytest.raises(ValueError, match=r"wanted \(B, H, T, Dh\) and \(B, H, T, Dh\)"):
        gated_delta(q, k[:, :, :3], v[:, :, :3], keep, rate)
    with pytest.raises(ValueError, match="n_heads is 5"):
        GatedDeltaAttention(12, 5)


B, H, T, S, DH, DV = 2, 3, 5, 7, 4, 6


def draw(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def inputs(dtype=torch.float64):
    shapes = (B, H, T, DH), (B, H, S, DH), (B, H, S, DV)
    return [draw(*s, seed=i, dtype=dtype).requires_grad_() for i, s in enumerate(shapes)]


def holes(*shape):
    mask = torch.rand(*shape, generator=torch.Generator().manual_seed(3)) > 0.4
    mask[..., 1, :] = False
    return mask


CASES = {
    "plain": {},
    "mask": {"mask": holes(B, 1, T, S)},
    "mask of each head": {"mask": holes(1, H, T, S)},
    "padding": {"mask": padding_mask(torch.tensor([0, 4]), S)},
    "row": {"mask": torch.tensor([True] * 3 + [False] * 4), "bias": draw(S)},
    "column": {"mask": torch.tensor([[True], [False], [True], [True], [False]])},
    "nothing": {"mask": torch.tensor(False), "bias": torch.tensor(1.0)},
    "bias": {"bias": draw(B, H, T, S, seed=4)},
    "bias of each head": {"bias": draw(1, H, T, S, seed=4)},
    "bias of each key": {"bias": draw(B, 1, 1, S, seed=4)},
    "bias of each query": {"bias": draw(T, 1, seed=4)},
    "blocking bias": {"bias": torch.where(holes(T, S), 0.0, -math.inf)},
    "both": {"mask": holes(B, 1, T, S), "bias": draw(1, H, T, S, seed=4)},
    "scale": {"scale": 0.7},
}


def expected(q, k, v, mask=None, **rest):
    return scaled_dot_product_attention(q, k, v, mask, **rest)[0]


def run(attend, arguments, dtype=torch.float64):
    leaves = inputs(dtype)
    arguments = dict(arguments)
    if "bias" in arguments:
        arguments["bias"] = arguments["bias"].to(dtype).clone().requires_grad_()
        leaves.append(arguments["bias"])
    out = attend(*leaves[:3], **arguments)
    out.square().sum().backward()
    return [out, *(leaf.grad for leaf in leaves)]


@pytest.mark.parametrize("case", CASES)
def test_the_readable_loop_says_the_same(case):
    ours = run(lambda *a, **kw: online_attention(*a, **kw, tile=3), CASES[case])
    for a, b in zip(ours, run(expected, CASES[case]), strict=True):
        torch.testing.assert_close(a, b, atol=1e-12, rtol=1e-12)


def test_scores_of_ten_thousand_and_rows_without_a_key():
    q, k = torch.tensor([[1e2]]), torch.tensor([[1e2], [-1e2], [1e2]])
    v = torch.tensor([[1.0], [2.0], [3.0]])
    assert online_attention(q, k, v, tile=1).item() == 2
    assert online_attention(q, k, v, torch.tensor([[False, True, False]]), tile=1).item() == 2
    assert online_attention(q, k, v, torch.tensor([[False] * 3]), tile=1).item() == 0


def test_a_tile_of_nothing_is_refused():
    with pytest.raises(ValueError, match="tile is 0, wanted at least 1"):
        online_attention(*inputs(), tile=0)
