"""Attention as a dictionary: the scale and the angle against the softmax itself."""

import math

import pytest
import torch

from course_lib.lookup import lookup_scale, mixing_angle


def best_weight(query, keys, scale):
    return (scale * keys.double() @ query.double()).softmax(0).max().item()


@pytest.mark.parametrize("n", [2, 3, 50])
@pytest.mark.parametrize("least", [0.6, 0.99, 1 - 1e-9])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_scale_is_the_smallest_at_which_the_best_key_has_the_weight(n, least, size):
    g = torch.Generator().manual_seed(n)
    query, keys = size * torch.randn(4, generator=g), torch.randn(n, 4, generator=g)
    scale = lookup_scale(query, keys, least)
    assert best_weight(query, keys, scale) == pytest.approx(least, abs=1e-12)
    assert best_weight(query, keys, 0.999 * scale) < least


def test_scale_knows_what_needs_none_and_what_has_none():
    query = torch.tensor([1.0, 2.0])
    keys = torch.tensor([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, -3.0]])
    assert lookup_scale(query, keys, 0.25) == 0.0
    assert lookup_scale(query, keys, 0.5) == math.inf
    assert best_weight(query, keys, lookup_scale(query, keys, 0.49)) == pytest.approx(0.49)
    assert lookup_scale(query, keys[:2], 0.5) == 0.0
    assert lookup_scale(query, keys[:2], 0.51) == math.inf
    assert lookup_scale(query, keys[:1], 0.99) == 0.0


@pytest.mark.parametrize("scale", [1.2, 5.0, 1e4, 1e12])
def test_angle_gives_just_the_weight(scale):
    angle = math.radians(mixing_angle(scale, 0.9))
    # 1 - cos, without the loss of digits that it suffers at small angles
    assert 1 / (1 + math.exp(-scale * 2 * math.sin(angle / 2) ** 2)) == pytest.approx(0.9)


def test_angle_agrees_with_the_scale():
    angle = math.radians(mixing_angle(30.0, 0.99))
    keys = torch.tensor([[1.0, 0.0], [math.cos(angle), math.sin(angle)]], dtype=torch.float64)
    assert lookup_scale(keys[0], keys, 0.99) == pytest.approx(30.0)


def test_angle_knows_what_needs_none_and_what_has_none():
    assert mixing_angle(3.0, 0.5) == mixing_angle(3.0, 0.1) == 0.0
    assert mixing_angle(math.log(9) / 2 * 0.999, 0.9) == math.inf
    assert mixing_angle(math.log(9) / 2 * 1.001, 0.9) == pytest.approx(180, abs=4)


@pytest.mark.parametrize("least", [0.0, 1.0, -0.5, math.nan])
def test_a_weight_lies_between_0_and_1(least):
    with pytest.raises(ValueError, match="wanted a weight between 0 and 1"):
        lookup_scale(torch.ones(2), torch.ones(3, 2), least)
    with pytest.raises(ValueError, match="wanted a weight between 0 and 1"):
        mixing_angle(1.0, least)


def test_bad_shapes_and_scales_are_refused():
    with pytest.raises(ValueError, match=r"query has shape \(3,\) and keys \(4, 2\)"):
        lookup_scale(torch.ones(3), torch.ones(4, 2), 0.9)
    with pytest.raises(ValueError, match="wanted a positive number"):
        mixing_angle(0.0, 0.9)
