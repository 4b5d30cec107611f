"""Mixtures of keys: what the package computes, what they cost and what they cannot do."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.attention import scaled_dot_product_attention
from course_lib.efficient import LinformerAttention, linformer_attention
from course_lib.masks import causal_mask, padding_mask
from course_tests.refusals import refusals

D, H, LENGTH, RANK = 12, 3, 10, 4
OPTIONS = {
    "plain": {},
    "shared projection": {"share_projection": True},
    "shared keys and values": {"share_kv": True},
    "one head of keys": {"one_kv_head": True},
    "everything shared": {"share_kv": True, "one_kv_head": True},
}


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def make(**options):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return LinformerAttention(D, H, LENGTH, RANK, **options).double().eval()


def both_paths(**options):
    fast, explicit = make(**options), make(**options, fused=False)
    explicit.load_state_dict(fast.state_dict())
    return fast, explicit


@pytest.mark.parametrize("length", [LENGTH, 7])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_every_option_is_that_of_the_package(options, length):
    linformer = pytest.importorskip("linformer")
    if "share_projection" in options:
        return  # the package knows no mixture shared by different keys and values
    fast, explicit = both_paths(**options)
    peer = linformer.LinformerSelfAttention(D, LENGTH, k=RANK, heads=H, **options).double()
    with torch.no_grad():
        peer.to_q.weight.copy_(fast.q_proj.weight)
        peer.to_k.weight.copy_(fast.k_proj.weight)
        peer.proj_k.copy_(fast.mix_keys.T)
        if fast.v_proj is not None:
            peer.to_v.weight.copy_(fast.v_proj.weight)
            peer.proj_v.copy_(fast.mix_values.T)
    peer.to_out.load_state_dict(fast.out_proj.state_dict())
    assert sum(p.numel() for p in peer.parameters()) == sum(p.numel() for p in fast.parameters())
    x, memory = draw(2, 5, D), draw(2, length, D, seed=1)
    for module in (fast, explicit):
        torch.testing.assert_close(module(memory), peer(memory))
        torch.testing.assert_close(module(x, memory), peer(x, memory))


@pytest.mark.parametrize("masked", [False, True], ids=["open", "padded"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_mixing_tokens_first_changes_neither_output_nor_gradients(options, masked):
    x = draw(2, 7, D).requires_grad_()
    mask = padding_mask(torch.tensor([7, 4]), 7) if masked else None
    found = []
    for module in both_paths(**options):
        out = module(x, key_mask=mask)
        found.append([out, *torch.autograd.grad(out.square().sum(), [x, *module.parameters()])])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)


def test_parameters_are_counted():
    def count(**options):
        return sum(p.numel() for p in make(**options).parameters())

    projections = 4 * D * D + D
    assert count() == projections + 2 * RANK * LENGTH
    assert count(share_projection=True) == projections + RANK * LENGTH
    assert count(share_kv=True) == projections - D * D + RANK * LENGTH
    assert count(one_kv_head=True) == 2 * D * D + D + 2 * D * D // H + 2 * RANK * LENGTH


@settings(max_examples=15, deadline=None)
@given(keys=st.integers(1, LENGTH), T=st.integers(1, 4), seed=st.integers(0, 99))
def test_one_mixture_a_key_is_plain_attention(keys, T, seed):
    q = draw(1, 2, T, 3, seed=seed)
    k, v = draw(1, 2, keys, 3, seed=seed + 1), draw(1, 2, keys, 3, seed=seed + 2)
    eye = torch.eye(keys, dtype=torch.float64)
    out, weights = linformer_attention(q, k, v, eye, eye)
    for a, b in zip((out, weights), scaled_dot_product_attention(q, k, v), strict=True):
        torch.testing.assert_close(a, b)


def test_padding_has_no_influence_and_without_the_mask_it_has():
    fast, explicit = both_paths()
    x = draw(1, 7, D)
    changed = x.clone()
    changed[:, 5:] = 100.0
    mask = padding_mask(torch.tensor([5]), 7)
    for module in (fast, explicit):
        ours, theirs = module(x, key_mask=mask)[:, :5], module(changed, key_mask=mask)[:, :5]
        torch.testing.assert_close(ours, theirs)
        torch.testing.assert_close(ours, module(x[:, :5]))
        assert (module(x) - module(changed))[:, :5].abs().max() > 0.1


def test_with_nothing_to_see_only_the_bias_is_left():
    for module in both_paths():
        x = draw(2, 7, D).requires_grad_()
        out = module(x, key_mask=padding_mask(torch.tensor([0, 7]), 7))
        torch.testing.assert_close(out[0], module.out_proj.bias.expand(7, D))
        out.sum().backward()
        assert x.grad.isfinite().all()


test_what_does_not_fit_is_named = refusals(
    (lambda: LinformerAttention(12, 5, 10, 4), "n_heads is 5, wanted a divisor of d_model 12"),
    (lambda: LinformerAttention(12, 3, 10, 0), "rank 0"),
    (lambda: LinformerAttention(12, 3, 10, 4, dropout=1), "dropout is 1"),
    (lambda: make()(draw(1, 11, D)), "there are 11 keys, wanted at most 10"),
    (
        lambda: make()(draw(1, 5, D), draw(1, 5)),
        r"memory has shape \(1, 5\), wanted \(B, length, 12",
    ),
    *(
        (
            lambda mask=mask, fused=fused: make(fused=fused)(draw(2, 5, D), key_mask=mask),
            "hidden from a single query",
        )
        for mask in (causal_mask(5), torch.ones(2, H, 1, 5, dtype=torch.bool))
        for fused in (True, False)
    ),
)
