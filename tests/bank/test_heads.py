"""References of the head exercises, which stand in no other module, against the layer itself."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from course_lib.attention import MultiHeadAttention
from course_lib.bank.heads import (
    head_contributions_answers as head_contributions,
)
from course_lib.bank.heads import (
    head_cost_answers as head_cost,
)
from course_lib.bank.heads import (
    head_importance_answers as head_importance,
)
from course_lib.bank.heads import (
    multi_head_attention_answers as multi_head_attention,
)
from course_lib.bank.heads import (
    positional_heads_answers as positional_heads,
)


def matrices(layer):
    parts = (layer.q_proj, layer.k_proj, layer.v_proj, layer.out_proj)
    return [part.weight.T for part in parts]


@pytest.mark.parametrize("n_heads", [1, 3, 6])
def test_several_heads_as_in_the_layer(n_heads):
    torch.manual_seed(0)
    layer = MultiHeadAttention(6, n_heads, d_memory=4, bias=False)
    x, memory = torch.randn(2, 3, 6), torch.randn(2, 5, 4)
    keep = torch.rand(2, 1, 3, 5) < 0.6
    keep[..., 0] = True
    wanted = layer(x, memory, mask=keep, return_weights=True)
    got = multi_head_attention.reference(x, memory, *matrices(layer), n_heads, keep)
    torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("factors", [[1.0, 0.0, 0.5], [[1.0, 1.0, 0.0], [0.0, 2.0, 1.0]]])
def test_contributions_add_up_to_the_layer_with_a_head_mask(factors):
    torch.manual_seed(0)
    layer = MultiHeadAttention(6, 3, bias=False)
    x, mask = torch.randn(2, 4, 6), torch.tensor(factors)
    _, heads = layer(x, return_heads=True)
    parts = head_contributions.reference(heads, layer.out_proj.weight.T, mask)
    torch.testing.assert_close(parts.sum(1), layer(x, head_mask=mask))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("n_heads", [1, 4])
def test_costs_are_those_that_torch_counts(n_heads, bias):
    layer = MultiHeadAttention(8, n_heads, bias=bias)
    x, memory = torch.randn(3, 5, 8), torch.randn(3, 7, 8)
    with FlopCounterMode(display=False) as counter:
        _, weights = layer(x, memory, return_weights=True)
    counted = (
        sum(p.numel() for p in layer.parameters()),
        counter.get_total_flops() // 2,
        weights.numel(),
    )
    assert head_cost.reference(8, n_heads, 5, 7, 3, bias) == counted


def test_the_worth_of_a_pair_exceeds_the_sum_by_twice_the_inner_product():
    generator = torch.Generator().manual_seed(0)
    parts = torch.randn(50, 4, 3, generator=generator, dtype=torch.float64)
    target = torch.randn(50, 3, generator=generator, dtype=torch.float64)
    alone, pairs = head_importance.reference(parts, target)
    inner = torch.einsum("nad,nbd->ab", parts, parts) / target.numel()
    more = pairs - alone[:, None] - alone
    off = ~torch.eye(4, dtype=torch.bool)
    torch.testing.assert_close(more[off], 2 * inner[off])
    torch.testing.assert_close(pairs.diagonal(), alone)


def test_positional_heads_by_hand():
    eye = torch.eye(6)
    maps = torch.stack([eye.roll(-1, 1), eye.roll(2, 1), eye, torch.full((6, 6), 1 / 6)])
    # Equal weights: the first key is the most attended one.
    assert positional_heads.reference(maps[None], torch.tensor([6])) == [-1, 2, 0, None]
    assert positional_heads.reference(maps[None], torch.tensor([6]), 0.9, 1) == [-1, None, 0, None]
    half = maps.clone()
    half[0, 4:] = eye[0]
    assert positional_heads.reference(half[None], torch.tensor([6]))[0] is None
    assert positional_heads.reference(half[None], torch.tensor([4]))[0] == -1
    padded = maps.clone()
    padded[..., 4:] = 9  # what stands in columns after a sentence means nothing
    assert positional_heads.reference(padded[None], torch.tensor([4]))[0] == -1
