"""Longformer: windows and global positions, whose maps are their own."""

import pytest
import torch

from course_lib.attention import merge_heads, scaled_dot_product_attention, split_heads
from course_lib.efficient import LongformerAttention
from course_lib.masks import longformer_mask, padding_mask
from course_tests.refusals import refusals

B, T, D, H, R = 2, 24, 8, 2, 3


def make(*, fused=True, dropout=0.0, seed=0):
    torch.manual_seed(seed)
    attend = LongformerAttention(D, H, R, fused=fused, dropout=dropout)
    for part in (attend.q_global, attend.k_global, attend.v_global):
        part.reset_parameters()
    return attend.double().eval()


def tokens(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(B, T, D, generator=generator, dtype=torch.float64)


def dense(attend, x, positions, key_mask):
    outs = []
    for b, sequence in enumerate(x):
        sequence = sequence[None]
        chosen = [p for p in positions[b] if p >= 0]
        mask = longformer_mask(T, R, chosen)[None, None] & key_mask[b : b + 1]

        def project(kind, sequence=sequence):
            maps = (getattr(attend, f"{name}_{kind}") for name in "qkv")
            return [split_heads(f(sequence), H) for f in maps]

        local, _ = scaled_dot_product_attention(*project("proj"), mask)
        everywhere, _ = scaled_dot_product_attention(*project("global"), key_mask[b : b + 1])
        local[:, :, chosen] = everywhere[:, :, chosen]
        outs.append(attend.out_proj(merge_heads(local)))
    return torch.cat(outs)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize(
    "positions", [[0], [0, 23], [[0, 5, -1], [7, -1, -1]], [[-1], [3]], [[9, 8], [1, 0]]]
)
@pytest.mark.parametrize("lengths", [[T, T], [T, 6]])
def test_the_same_as_dense_masks_in_outputs_and_gradients(fused, positions, lengths):
    attend, x = make(fused=fused), tokens()
    key_mask = padding_mask(torch.tensor(lengths), T)
    given = torch.tensor(positions)
    rows = positions if given.ndim == 2 else [positions] * B
    results = []
    for call in (
        lambda x: attend(x, given, key_mask=key_mask),
        lambda x: dense(attend, x, rows, key_mask),
    ):
        leaf = x.clone().requires_grad_()
        out = call(leaf)
        attend.zero_grad()
        (out * torch.arange(D)).sum().backward()
        grads = [p.grad.clone() for p in attend.parameters() if p.grad is not None]
        results.append([out, leaf.grad, *grads])
    assert len(results[0]) == len(results[1]) == 2 + 14
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=0)


def test_weights_count_each_key_once():
    attend, x = make(), tokens()
    positions = torch.tensor([[0, 5], [7, -1]])
    out, weights, global_weights = attend(x, positions, return_weights=True)
    torch.testing.assert_close(out, attend(x, positions))
    assert weights.shape == (B, H, T, 2 + 2 * R + 1)
    assert global_weights.shape == (B, H, 2, T)
    local_rows = torch.ones(B, T, dtype=torch.bool)
    local_rows[0, [0, 5]] = False
    local_rows[1, 7] = False
    sums = weights.sum(-1)
    torch.testing.assert_close(sums, local_rows[:, None].to(sums).expand_as(sums))
    # Position 6 sees position 5 as a global key, so its window holds a 0 there.
    assert (weights[0, :, 6, 2 + R - 1] == 0).all() and (weights[0, :, 6, 1] > 0).all()
    torch.testing.assert_close(global_weights.sum(-1)[:, :, 0], torch.ones(B, H).double())
    assert (global_weights[1, :, 1] == 0).all()


def test_global_maps_start_as_copies_and_the_count_is_seven_maps():
    attend = LongformerAttention(D, H, R)
    assert sum(p.numel() for p in attend.parameters()) == 7 * (D * D + D)
    no_bias = LongformerAttention(D, H, R, bias=False)
    assert sum(p.numel() for p in no_bias.parameters()) == 7 * D * D
    for name in "qkv":
        local, far = getattr(attend, f"{name}_proj"), getattr(attend, f"{name}_global")
        assert torch.equal(local.weight, far.weight) and local.weight is not far.weight


test_errors_name_what_came_and_what_was_wanted = refusals(
    (lambda: LongformerAttention(8, 3, 1), "n_heads is 3, wanted a divisor of d_model 8"),
    (lambda: LongformerAttention(8, 2, -1), "radius is -1"),
    (lambda: LongformerAttention(8, 2, 1, dropout=1.0), "dropout is 1.0"),
    (lambda: make()(tokens()[0]), r"\(24, 8\), wanted \(B, T, 8\)"),
    (lambda: make()(tokens(), torch.tensor([0.0])), "torch.float32, wanted torch.int64"),
    (lambda: make()(tokens(), torch.zeros(3, 1).long()), r"\(3, 1\) .* \(2, G\)"),
    (lambda: make()(tokens(), torch.tensor([24])), r"\[24\] are not all in 0..23"),
    (lambda: make()(tokens(), torch.tensor([-2])), "or -1 for none"),
    (lambda: make()(tokens(), torch.tensor([3, 3])), "hold a position twice"),
)
