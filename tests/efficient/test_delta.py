"""The gated delta rule, against the loop of the paper's formula."""

import pytest
import torch

from course_lib.efficient import GatedDeltaAttention, gated_delta


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


def test_it_is_the_rule_of_a_published_model():
    name = "transformers.models.qwen3_next.modeling_qwen3_next"
    theirs = pytest.importorskip(name).torch_recurrent_gated_delta_rule
    q, k, v, keep, rate = (x.float() for x in drawn())
    tokens = (x.transpose(1, 2) for x in (q * q.shape[-1] ** 0.5, k, v, keep.log(), rate))
    wanted = theirs(*tokens)[0].transpose(1, 2)
    torch.testing.assert_close(gated_delta(q, k, v, keep, rate), wanted, atol=1e-5, rtol=1e-4)


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


def test_shapes_that_do_not_fit_are_refused():
    q, k, v, keep, rate = drawn()
    with pytest.raises(ValueError, match="rate is"):
        gated_delta(q, k, v, keep, rate[..., :3])
    with pytest.raises(ValueError, match="n_heads is 5"):
        GatedDeltaAttention(12, 5)
