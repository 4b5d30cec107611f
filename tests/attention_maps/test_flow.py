"""Reach by masks against reach by gradients, receptive fields, ways of the gradient."""

from itertools import pairwise

import pytest
import torch
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.attention_maps import (
    effective_receptive_field,
    field_side,
    layers_to_reach_all,
    reachability,
)
from course_lib.masks import causal_mask, sliding_window_mask
from course_lib.mixing import layers_until_reached
from course_tests.refusals import refusals


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
    sides = []
    for depth in (1, 4, 12):
        torch.manual_seed(0)
        width = [3] + [8] * depth
        layers = nn.Sequential(*(nn.Conv2d(a, b, 3, padding=1) for a, b in pairwise(width)))
        field = effective_receptive_field(layers, x, torch.Generator().manual_seed(0))
        assert field.sum().item() == pytest.approx(1, abs=1e-4)
        outside = (torch.arange(33) - 16).abs() > depth
        assert not field[outside].any()
        sides.append(field_side(field))
    assert sides[0] == 3 and sides == sorted(sides) and sides[-1] < 2 * 12 + 1


def test_a_sum_over_normed_channels_would_have_no_gradient():
    x = torch.randn(1, 6, 9, 9, dtype=torch.float64, requires_grad=True)
    out = Normed()(x)
    (summed,) = torch.autograd.grad(out[:, :, 4, 4].sum(), x)
    assert summed.abs().max() < 1e-6
    field = effective_receptive_field(Normed(), x, torch.Generator().manual_seed(0))
    assert field_side(field) == 1


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
    (lambda: field_side(X[0, 0], 0.0), "share is 0"),
)
