"""Attention: equal to torch's own where torch has it, and to the formula where it has not."""

import math

import pytest
import torch

from course_lib import masks
from course_lib.attention import (
    MultiHeadAttention,
    attention_weights,
    fused_attention,
    merge_heads,
    scaled_dot_product_attention,
    split_heads,
)
from course_tests.refusals import refusals

B, H, T, S, DH, DV = 2, 3, 4, 6, 8, 5


def inputs(dtype=torch.float32, *, requires_grad=False):
    generator = torch.Generator().manual_seed(0)
    shapes = (B, H, T, DH), (B, H, S, DH), (B, H, S, DV)
    return tuple(
        torch.randn(shape, generator=generator).to(dtype).requires_grad_(requires_grad)
        for shape in shapes
    )


def mask_with_an_empty_row():
    mask = torch.rand(B, 1, T, S, generator=torch.Generator().manual_seed(1)) > 0.4
    mask[0, :, 1] = False
    return mask


def some_bias():
    return torch.randn(1, H, T, S, generator=torch.Generator().manual_seed(2))


CASES = {
    "plain": {},
    "mask": {"mask": mask_with_an_empty_row()},
    "padding": {"mask": masks.padding_mask(torch.tensor([0, 4]), S)},
    "causal": {"mask": masks.causal_mask(T, S)},
    "bias": {"bias": some_bias()},
    "both": {"mask": mask_with_an_empty_row(), "bias": some_bias()},
    "row": {"mask": torch.tensor([True] * 3 + [False] * 3), "bias": torch.zeros(S)},
    "row mask": {"mask": torch.tensor([True] * 3 + [False] * 3)},
    "row bias": {"bias": torch.arange(S).float()},
    "scalars": {"mask": torch.tensor(True), "bias": torch.tensor(1.0)},
    "nothing": {"mask": torch.tensor(False)},
    "column": {"mask": torch.tensor([[True], [False], [True], [True]])},
    "scale": {"scale": 0.7},
}


@pytest.mark.parametrize("case", CASES)
def test_explicit_and_fused_agree_in_output_and_gradients(case):
    grads = []
    for function in (lambda *a, **kw: scaled_dot_product_attention(*a, **kw)[0], fused_attention):
        qkv = inputs(requires_grad=True)
        out = function(*qkv, **CASES[case])
        out.square().sum().backward()
        grads.append((out, *(x.grad for x in qkv)))
    for explicit, fused in zip(*grads, strict=True):
        torch.testing.assert_close(explicit, fused, atol=1e-5, rtol=1e-4)


def test_weights_and_output_follow_the_formula():
    q, k, v = inputs(torch.float64)
    out, weights = scaled_dot_product_attention(q, k, v)
    for b in range(B):
        for h in range(H):
            for t in range(T):
                exps = [math.exp(float(q[b, h, t] @ k[b, h, s]) / math.sqrt(DH)) for s in range(S)]
                row = torch.tensor([e / sum(exps) for e in exps], dtype=torch.float64)
                torch.testing.assert_close(weights[b, h, t], row)
                torch.testing.assert_close(out[b, h, t], row @ v[b, h])


@pytest.mark.parametrize("case", CASES)
def test_rows_of_the_weights_sum_to_one_or_to_zero(case):
    q, k, _ = inputs()
    arguments = CASES[case]
    weights = attention_weights(q, k, **arguments)
    mask = arguments.get("mask", torch.ones((), dtype=torch.bool)).expand(B, H, T, S)
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).float())
    assert (weights[~mask] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_an_empty_row_gives_zero_and_a_finite_gradient(dtype):
    q, k, v = inputs(dtype, requires_grad=True)
    bias = some_bias().requires_grad_()
    out, weights = scaled_dot_product_attention(q, k, v, mask_with_an_empty_row(), bias)
    assert (out[0, :, 1] == 0).all() and (weights[0, :, 1] == 0).all()
    out.sum().backward()
    assert all(x.grad.isfinite().all() for x in (q, k, v, bias))
    assert (q.grad[0, :, 1] == 0).all()


def test_half_precision_survives_a_product_beyond_its_range():
    x = torch.full((1, 64), 40.0, dtype=torch.float16)
    assert float(x.float() @ x.float().T) > torch.finfo(torch.float16).max
    out, weights = scaled_dot_product_attention(x, x, x)
    assert weights.item() == 1 and torch.equal(out, x)


def test_logits_of_ten_thousand():
    q, k, v = torch.tensor([[1e2]]), torch.tensor([[1e2], [-1e2]]), torch.tensor([[1.0], [2.0]])
    assert scaled_dot_product_attention(q, k, v)[0].tolist() == [[1.0]]


def test_a_nan_in_a_hidden_key_reaches_every_query_on_the_fused_path_alone():
    q, k, v = torch.randn(3, 1, 2, T, DH, generator=torch.Generator().manual_seed(0))
    k[..., -1, 0] = float("nan")
    fused, (explicit, _) = (
        attend(q, k, v, masks.causal_mask(T))
        for attend in (fused_attention, scaled_dot_product_attention)
    )
    assert fused.isnan().all()
    assert explicit[..., -1, :].isnan().all() and explicit[..., :-1, :].isfinite().all()


def test_heads_survive_split_and_merge_and_match_slices():
    x = torch.randn(B, T, H * DH)
    heads = split_heads(x, H)
    for h in range(H):
        assert torch.equal(heads[:, h], x[..., h * DH : (h + 1) * DH])
    assert torch.equal(merge_heads(heads), x)


@pytest.mark.parametrize("fused", [True, False])
def test_causal_attention_has_no_gradient_from_the_future(fused):
    torch.manual_seed(0)
    attend = MultiHeadAttention(12, 3, fused=fused)
    x = torch.randn(1, T, 12, requires_grad=True)
    for t in range(T):
        (grad,) = torch.autograd.grad(attend(x, mask=masks.causal_mask(T))[0, t].sum(), x)
        assert (grad[0, t + 1 :] == 0).all()
        assert (grad[0, : t + 1].abs().sum(-1) > 0).all()


def test_padding_changes_neither_output_nor_gradient():
    torch.manual_seed(0)
    attend = MultiHeadAttention(12, 3)
    x = torch.randn(1, T, 12)
    padded = torch.cat([x, torch.full((1, 2, 12), 7.0)], dim=1)
    mask = masks.padding_mask(torch.tensor([T]), T + 2)

    def run(x, mask=None):
        attend.zero_grad()
        out = attend(x, mask=mask)[:, :T]
        out.square().sum().backward()
        return [out, *(p.grad.clone() for p in attend.parameters())]

    for alone, batched in zip(run(x), run(padded, mask), strict=True):
        torch.testing.assert_close(alone, batched, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("fused", [True, False])
def test_a_query_without_keys_gets_only_the_output_bias(fused):
    attend = MultiHeadAttention(12, 3, fused=fused)
    mask = masks.padding_mask(torch.tensor([0, T]), T)
    out = attend(torch.randn(B, T, 12), mask=mask)
    torch.testing.assert_close(out[0], attend.out_proj.bias.expand(T, 12))


def test_returned_weights_are_those_before_dropout():
    attend = MultiHeadAttention(12, 3, dropout=0.5)
    x = torch.randn(B, T, 12)
    out, weights = attend(x, return_weights=True)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, 3, T))
    quiet, quiet_weights = attend.eval()(x, return_weights=True)
    torch.testing.assert_close(weights, quiet_weights)
    assert not torch.allclose(out, quiet)
    torch.testing.assert_close(attend(x), quiet)


test_module_errors_name_what_came_and_what_was_wanted = refusals(
    (lambda: MultiHeadAttention(10, 3), "n_heads is 3, wanted a divisor of d_model 10"),
    (lambda: MultiHeadAttention(10, 0), "n_heads is 0"),
    (lambda: MultiHeadAttention(10, 2, dropout=1.0), "dropout is 1.0"),
    (lambda: MultiHeadAttention(4, 2)(torch.ones(2, 3, 5)), r"q .*\(2, 3, 5\), wanted .* 4\)"),
    (lambda: split_heads(torch.ones(2, 3), 1), r"\(2, 3\), wanted \(B, T, D\)"),
    (lambda: split_heads(torch.ones(2, 3, 4), 3), "n_heads is 3, wanted a divisor of"),
    (lambda: merge_heads(torch.ones(2, 3, 4)), r"\(2, 3, 4\), wanted \(B, H, T, Dh\)"),
)
