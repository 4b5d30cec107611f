"""Attention by tiles: the same numbers, without ever a matrix of all pairs."""

import math

import pytest
import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.efficient import online_attention
from course_lib.masks import padding_mask

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
