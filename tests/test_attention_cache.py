"""What else multi-head attention can do: keys and values kept, queries rotated, heads removed."""

import copy
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from course_lib import masks
from course_lib.attention import KVCache, MultiHeadAttention
from course_tests.refusals import refusals

B, T, S, D, H, DH = 2, 6, 5, 12, 3, 4
SEEDS = st.integers(0, 2**31)


def tokens(seed=0, length=T, width=D):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(B, length, width, generator=generator, dtype=torch.float64)


def layer(seed=0, **options):
    torch.manual_seed(seed)
    return MultiHeadAttention(D, H, **options).double()


def turn(q, k, offset):
    def by_position(x):
        angles = torch.arange(offset, offset + x.shape[-2], dtype=x.dtype)[:, None]
        even, odd = x[..., ::2], x[..., 1::2]
        parts = even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos()
        return torch.stack(parts, dim=-1).flatten(-2)

    return by_position(q), by_position(k)


@given(seed=SEEDS, cuts=st.sets(st.integers(1, T - 1)), rotated=st.booleans(), fused=st.booleans())
@settings(max_examples=25, deadline=None)
def test_any_cut_of_a_sequence_gives_what_the_whole_gives(seed, cuts, rotated, fused):
    attend, x = layer(seed, fused=fused), tokens(seed)
    rotate = turn if rotated else None
    whole = attend(x, mask=masks.causal_mask(T), rotate=rotate)
    cache, outs, edges = KVCache(), [], [0, *sorted(cuts), T]
    for a, b in pairwise(edges):
        assert cache.length == a
        attend(x[:, a:a], cache=cache, rotate=rotate)  # no tokens: nothing changes
        mask = masks.causal_mask(b - a, b)
        outs.append(attend(x[:, a:b], mask=mask, cache=cache, rotate=rotate))
    torch.testing.assert_close(torch.cat(outs, dim=1), whole, atol=1e-12, rtol=0)


@given(seed=SEEDS, fused=st.booleans())
@settings(max_examples=10, deadline=None)
def test_a_memory_is_projected_once(seed, fused):
    attend, x, memory = layer(seed, fused=fused), tokens(seed), tokens(seed + 1, S)
    mask = masks.padding_mask(torch.tensor([S, 2]), S)
    whole = attend(x, memory, mask=mask)
    calls = []
    attend.k_proj.register_forward_hook(lambda *_: calls.append(1))
    cache = KVCache(fixed=True)
    outs = [attend(x[:, :1], memory, mask=mask, cache=cache)]
    outs += [attend(x[:, t : t + 1], mask=mask, cache=cache) for t in range(1, T - 1)]
    outs.append(attend(x[:, -1:], memory, mask=mask, cache=cache))  # k may be given again
    torch.testing.assert_close(torch.cat(outs, dim=1), whole, atol=1e-12, rtol=0)
    assert calls == [1] and cache.length == S


def test_reorder_moves_sequences_and_leaves_the_old_cache():
    attend, x = layer(), tokens()
    cache = KVCache()
    attend(x, cache=cache)
    moved = cache.reorder(torch.tensor([1, 1, 0]))
    assert moved.keys.shape == (3, H, T, DH)
    assert torch.equal(moved.keys[0], cache.keys[1]) and torch.equal(
        moved.values[2], cache.values[0]
    )
    attend(x[[1, 1, 0], :1], cache=moved)
    assert (moved.length, cache.length) == (T + 1, T)
    assert KVCache(fixed=True).reorder(torch.tensor([0])).fixed


def test_gradients_flow_through_the_cache():
    attend, x = layer(), tokens().requires_grad_()
    whole = torch.autograd.grad(attend(x, mask=masks.causal_mask(T))[:, -1].sum(), x)[0]
    cache = KVCache()
    for t in range(T):
        out = attend(x[:, t : t + 1], cache=cache)
    torch.testing.assert_close(torch.autograd.grad(out.sum(), x)[0], whole)


@given(seed=SEEDS, shift=st.integers(0, 100), fused=st.booleans())
@settings(max_examples=10, deadline=None)
def test_rotation_tells_distances_and_not_places(seed, shift, fused):
    attend, x = layer(seed, fused=fused), tokens(seed)
    here = attend(x, rotate=turn)
    there = attend(x, rotate=lambda q, k, offset: turn(q, k, offset + shift))
    torch.testing.assert_close(here, there, atol=1e-10, rtol=0)
    order = torch.arange(T).flip(0)
    assert not torch.allclose(attend(x[:, order], rotate=turn), here[:, order])


@pytest.mark.parametrize("fused", [True, False])
def test_a_memory_of_another_width_equals_torch(fused):
    ours = layer(d_memory=7, fused=fused)
    theirs = nn.MultiheadAttention(D, H, kdim=7, vdim=7, batch_first=True).double()
    with torch.no_grad():
        for name in "qkv":
            part = getattr(ours, f"{name}_proj")
            getattr(theirs, f"{name}_proj_weight").copy_(part.weight)
        theirs.in_proj_bias.copy_(
            torch.cat([p.bias for p in (ours.q_proj, ours.k_proj, ours.v_proj)])
        )
        theirs.out_proj.load_state_dict(ours.out_proj.state_dict())
    x, memory = tokens(), tokens(1, S, 7)
    torch.testing.assert_close(ours(x, memory), theirs(x, memory, memory)[0])
    assert sum(p.numel() for p in ours.parameters()) == 2 * D * D + 2 * 7 * D + 4 * D


def test_names_in_a_checkpoint_are_those_of_before():
    assert list(layer().state_dict()) == [
        f"{part}_proj.{kind}" for part in ("q", "k", "v", "out") for kind in ("weight", "bias")
    ]


@pytest.mark.parametrize("fused", [True, False])
def test_heads_are_what_the_last_projection_reads(fused):
    attend, x = layer(fused=fused), tokens()
    out, weights, heads = attend(x, return_weights=True, return_heads=True)
    assert weights.shape == (B, H, T, T) and heads.shape == (B, H, T, DH)
    columns = attend.out_proj.weight.unflatten(1, (H, DH))
    contributions = torch.einsum("bhtc,dhc->bhtd", heads, columns)
    torch.testing.assert_close(contributions.sum(1) + attend.out_proj.bias, out)
    alone, only_heads = attend(x, return_heads=True)
    torch.testing.assert_close(alone, out)
    torch.testing.assert_close(only_heads, heads)


@given(
    seed=SEEDS,
    removed=st.sets(st.integers(0, H - 1), max_size=H - 1),
    fused=st.booleans(),
    bias=st.booleans(),
)
@settings(max_examples=20, deadline=None)
def test_pruning_a_head_is_masking_it_with_zero(seed, removed, fused, bias):
    attend = layer(seed, fused=fused, bias=bias, d_memory=7)
    x, memory = tokens(seed), tokens(seed + 1, S, 7)
    head_mask = torch.ones(H)
    head_mask[list(removed)] = 0
    masked, weights = attend(x, memory, head_mask=head_mask, return_weights=True)
    pruned = copy.deepcopy(attend)
    pruned.prune_heads(removed)
    out, kept = pruned(x, memory, return_weights=True)
    torch.testing.assert_close(out, masked)
    torch.testing.assert_close(kept, weights[:, [h for h in range(H) if h not in removed]])
    saved = len(removed) * (DH * (2 * D + 2 * 7) + 3 * DH * bias)
    count = sum(p.numel() for p in attend.parameters()) - saved
    assert sum(p.numel() for p in pruned.parameters()) == count


def test_pruning_twice_counts_from_what_is_left():
    attend, x = layer(), tokens()
    expected = attend(x, head_mask=torch.tensor([0.0, 1.0, 0.0]))
    attend.prune_heads([0])
    attend.prune_heads([1])
    torch.testing.assert_close(attend(x), expected)
    attend(x).sum().backward()
    assert all(p.grad is not None for p in attend.parameters())


@pytest.mark.parametrize("fused", [True, False])
def test_a_head_mask_can_differ_between_sequences_and_has_gradients(fused):
    attend, x = layer(fused=fused), tokens()
    rows = torch.tensor([[1.0, 0.0, 0.5], [0.0, 1.0, 1.0]], requires_grad=True)
    out = attend(x, head_mask=rows)
    for b in range(B):
        torch.testing.assert_close(out[b : b + 1], attend(x[b : b + 1], head_mask=rows[b]))
    out.square().sum().backward()
    assert (rows.grad != 0).all()
    silent = attend(x, head_mask=torch.zeros(H))
    torch.testing.assert_close(silent, attend.out_proj.bias.expand_as(silent))


def filled(**options):
    cache = KVCache(**options)
    cache.append(torch.zeros(B, H, S, DH).double(), torch.zeros(B, H, S, DH).double())
    return cache


test_errors_name_what_came_and_what_was_wanted = refusals(
    (lambda: layer()(tokens(), tokens(), cache=KVCache()), "got k and a cache that grows"),
    (lambda: layer()(tokens(), cache=KVCache(fixed=True)), "empty cache for a memory"),
    (lambda: layer()(tokens()[:1], cache=filled()), r"keys have shape \(1, 3, 6, 4\), wanted"),
    (lambda: filled(fixed=True).append(None, None), "fixed and holds a memory"),
    (lambda: layer(d_memory=7)(tokens()), r"k has shape \(2, 6, 12\), wanted \(B, length, 7\)"),
    (lambda: layer().prune_heads([3]), r"heads are \[3\], wanted some but not all of 0..2"),
    (lambda: layer().prune_heads(range(3)), r"heads are \[0, 1, 2\]"),
)


def test_a_cache_holds_one_type():
    cache = KVCache()
    cache.append(*torch.randn(2, 1, 2, 3, 4))
    with pytest.raises(ValueError, match="torch.float64 on cpu, wanted torch.float32"):
        cache.append(*torch.randn(2, 1, 2, 1, 4, dtype=torch.float64))
    assert cache.length == 3
