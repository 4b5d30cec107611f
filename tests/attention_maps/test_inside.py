"""What happens inside a model, and how far what it reads can flow."""

from itertools import pairwise
from typing import cast

import pytest
import torch
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.attention_maps import (
    effective_receptive_field,
    layers_to_reach_all,
    logit_lens,
    pair_excess,
    reachability,
    residual_stream,
    restored_share,
    silenced,
    silencing_curve,
    spare_one_by_one,
)
from course_lib.masks import causal_mask, sliding_window_mask
from course_lib.whole import GPT, Block
from course_tests.dependence import layers_until_reached
from course_tests.refusals import refusals

torch.manual_seed(0)
MODEL = GPT(n_words=11, max_len=6, d_model=8, n_heads=2, d_ff=16, n_layers=3).eval()
BLOCKS = [cast(Block, block) for block in MODEL.blocks]
TEXT = torch.tensor([[1, 7, 3, 3], [4, 2, 9, 0]])


def states(tokens):
    with torch.no_grad():
        x = MODEL.tokens(tokens) + MODEL.positions[: tokens.shape[1]]
        return residual_stream(BLOCKS, x, causal=True)


def test_the_lens_after_the_last_block_is_the_model():
    found = states(TEXT)
    assert len(found) == 4
    lens = logit_lens(torch.stack(found), MODEL.norm, MODEL.tokens.weight)
    assert lens.shape == (4, 2, 4, 11)
    torch.testing.assert_close(lens[-1], MODEL(TEXT))


def test_a_silenced_head_is_one_without_weights_and_comes_back():
    before = MODEL(TEXT)
    layers = [block.attention for block in BLOCKS]
    with silenced(layers, [(0, 1), (2, 0)], 4):
        without = MODEL(TEXT)
    torch.testing.assert_close(MODEL(TEXT), before)
    kept = {name: weights.clone() for name, weights in MODEL.state_dict().items()}
    with torch.no_grad():
        layers[0].out_proj.weight[:, 4:] = 0.0
        layers[2].out_proj.weight[:, :4] = 0.0
        torch.testing.assert_close(MODEL(TEXT), without)
    MODEL.load_state_dict(kept)
    assert not torch.allclose(without, before)


def test_a_patch_restores_what_depends_on_its_vector():
    clean, other = states(TEXT), states(TEXT + torch.tensor([0, 1, 0, 0]))

    def share(layer, place):
        places = torch.full((2,), place)
        return restored_share(
            BLOCKS, clean, other, layer, places, lambda x: x[:, -1, 0], causal=True
        )

    torch.testing.assert_close(share(0, 1), torch.ones(2))  # nothing else differs
    torch.testing.assert_close(share(0, 3), torch.zeros(2))
    torch.testing.assert_close(share(3, 3), torch.ones(2))  # nothing comes after
    torch.testing.assert_close(share(2, 0), torch.zeros(2))  # the past cannot change


def twins(mask):
    """Heads 0 and 3 do the same, head 1 does a little, head 2 nothing."""
    first, second, _, fourth = mask.flatten().tolist()
    return 1.0 - max(first, fourth) - 0.1 * second


def test_a_curve_starts_with_all_heads_and_follows_the_order():
    assert silencing_curve(twins, [2, 0, 3], (2, 2)) == pytest.approx([-0.1, -0.1, -0.1, 0.9])
    assert silencing_curve(twins, [], (2, 2)) == pytest.approx([-0.1])


test_a_head_that_is_not_there_is_refused = refusals(
    (lambda: silencing_curve(twins, [0, 0], (2, 2)), "different heads from 0 to 3"),
    (lambda: silencing_curve(twins, [4], (2, 2)), "different heads from 0 to 3"),
    (lambda: silencing_curve(twins, [-1], (2, 2)), "different heads from 0 to 3"),
)


def test_the_other_twin_is_kept_longest():
    order = spare_one_by_one(twins, (2, 2))
    assert sorted(order) == [0, 1, 2, 3]
    assert set(order[:2]) == {0, 2} and order[-1] == 3


def test_only_twins_are_missed_more_together():
    excess = pair_excess(twins, (2, 2))
    assert excess.nonzero().tolist() == [[0, 3], [3, 0]]
    assert excess[0, 3] == pytest.approx(1.0)


def test_masks_have_the_shape_of_the_model():
    seen = []

    def measure(mask):
        seen.append(tuple(mask.shape))
        assert ((mask == 0) | (mask == 1)).all()
        return float(mask.sum())

    assert silencing_curve(measure, [5, 0], (2, 3)) == [6.0, 5.0, 4.0]
    assert set(seen) == {(2, 3)}
    assert torch.equal(pair_excess(measure, (2, 3)), torch.zeros(6, 6, dtype=torch.float64))


def test_reach_by_masks_is_reach_by_gradients():
    mask = sliding_window_mask(11, radius=2)
    attend = MultiHeadAttention(4, n_heads=1).double()
    x = torch.randn(1, 11, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def layer(x, depth):
        return x + attend(x, mask=mask)

    by_gradient = layers_until_reached(layer, x, most=10)
    corner = torch.zeros(11, 11).bool()
    corner[-1, 0] = True
    assert layers_to_reach_all(mask, corner) == by_gradient == 5


@pytest.mark.parametrize("radius", [1, 2, 4])
def test_a_window_reaches_its_radius_further_each_layer(radius):
    mask = sliding_window_mask(20, radius)
    for depth in range(4):
        assert torch.equal(reachability(mask, depth), sliding_window_mask(20, radius * depth))


def test_blocks_never_meet_unless_they_are_shifted():
    blocks, shifted = _blocks(12, 4, 0), _blocks(12, 4, 2)
    with pytest.raises(ValueError, match="96 of the pairs wanted unreached"):
        layers_to_reach_all(blocks)
    assert layers_to_reach_all([blocks, shifted]) == 5
    assert torch.equal(reachability([blocks, shifted]), reachability([blocks, shifted], 2))
    # The order of layers counts: the second one's masks come after the first one's.
    assert not torch.equal(reachability([blocks, shifted]), reachability([shifted, blocks]))


def _blocks(n, size, shift):
    block = (torch.arange(n) + shift) // size
    return block[:, None] == block


def test_under_a_causal_mask_earlier_tokens_are_reached_at_once_and_later_never():
    mask = causal_mask(6)
    assert layers_to_reach_all(mask, mask) == 1
    assert torch.equal(reachability(mask, 9), mask)
    with pytest.raises(ValueError, match="15 of the pairs"):
        layers_to_reach_all(mask)


class Normed(nn.Module):
    def forward(self, x):
        return nn.functional.layer_norm(x.movedim(1, -1), x.shape[1:2]).movedim(-1, 1)


def test_the_field_of_convolutions_grows_slower_than_what_they_could_see():
    x = torch.randn(2, 3, 33, 33, generator=torch.Generator().manual_seed(0))
    spreads = []
    distance = torch.arange(33) - 16
    for depth in (1, 4, 12):
        torch.manual_seed(0)
        width = [3] + [8] * depth
        layers = nn.Sequential(*(nn.Conv2d(a, b, 3, padding=1) for a, b in pairwise(width)))
        field = effective_receptive_field(layers, x, torch.Generator().manual_seed(0))
        assert field.sum().item() == pytest.approx(1, abs=1e-4)
        assert not field[distance.abs() > depth].any()
        spreads.append((field.sum(1) @ distance.square().float()).sqrt().item())
    # The spread of what a convolution could see grows with its depth, that of its field less.
    assert spreads == sorted(spreads) and spreads[-1] < 12 / 2 * spreads[0]


def test_a_sum_over_normed_channels_would_have_no_gradient():
    x = torch.randn(1, 6, 9, 9, dtype=torch.float64, requires_grad=True)
    out = Normed()(x)
    (summed,) = torch.autograd.grad(out[:, :, 4, 4].sum(), x)
    assert summed.abs().max() < 1e-6
    field = effective_receptive_field(Normed(), x, torch.Generator().manual_seed(0))
    assert field[4, 4] == pytest.approx(1)


def test_global_attention_sees_the_whole_image_in_one_layer():
    attend = MultiHeadAttention(4, n_heads=1)

    def layer(x):
        return attend(x.flatten(2).transpose(1, 2)).transpose(1, 2).unflatten(2, x.shape[2:])

    x = torch.randn(1, 4, 7, 7, generator=torch.Generator().manual_seed(0))
    field = effective_receptive_field(layer, x, torch.Generator().manual_seed(0), at=(0, 0))
    assert (field > 0).all()


EYE = torch.eye(3).bool()
X = torch.zeros(1, 1, 3, 3)
GENERATOR = torch.Generator()
test_wrong_input_is_named = refusals(
    (lambda: reachability(torch.eye(3)), "wanted boolean"),
    (lambda: reachability(EYE[:2]), "\\(2, 3\\)"),
    (lambda: reachability([]), "empty"),
    (lambda: reachability(EYE, -1), "n_layers is -1"),
    (lambda: layers_to_reach_all(EYE, EYE[0]), "pairs has shape"),
    (lambda: effective_receptive_field(lambda x: x, X[0], GENERATOR), "x has shape"),
    (lambda: effective_receptive_field(lambda x: x[0], X, GENERATOR), "layer returned"),
    (lambda: effective_receptive_field(lambda x: 0 * x, X, GENERATOR), "no pixel"),
)
