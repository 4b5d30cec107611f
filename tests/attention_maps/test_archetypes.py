"""The five kinds of map: the essay's pictures, drawn ones, and what blurs them."""

import pytest
import torch

from course_lib.attention_maps import ARCHETYPES, archetype, archetype_scores, synthetic_map
from course_lib.masks import causal_mask
from course_tests.refusals import refusals

ESSAY = {
    "diagonal": torch.eye(5),
    "vertical": torch.tensor([[0.5, 0, 0, 0, 0.5]]).repeat(5, 1),
    "block": torch.block_diag(torch.full((2, 2), 1 / 2), torch.full((3, 3), 1 / 3)),
    "heterogeneous": torch.tensor(
        [[0, 0.5, 0, 0, 0.5], [1, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 1, 0, 0], [1, 0, 0, 0, 0]]
    ),
    "uniform": torch.full((5, 5), 1 / 5),
}


@pytest.mark.parametrize("kind", ESSAY)
def test_the_pictures_of_the_essay(kind):
    assert archetype(ESSAY[kind]) == kind


@pytest.mark.parametrize("causal, n", [(False, 8), (False, 24), (True, 16), (True, 24)])
@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("kind", ARCHETYPES)
def test_drawn_maps_are_recognised(kind, noise, causal, n):
    mask = causal_mask(n) if causal else None
    for seed in range(10):
        weights = synthetic_map(
            kind, n, torch.Generator().manual_seed(seed), noise=noise, causal=causal
        )
        torch.testing.assert_close(weights.sum(-1), torch.ones(n))
        assert archetype(weights, mask=mask) == kind
        if causal:
            assert not weights[~mask].any()


def test_noise_makes_everything_uniform_in_the_end():
    for kind in ARCHETYPES:
        weights = synthetic_map(kind, 16, torch.Generator().manual_seed(0), noise=1.0)
        assert archetype(weights) == "uniform"


def test_without_its_mask_a_causal_uniform_head_looks_like_something_else():
    weights = synthetic_map("uniform", 16, torch.Generator().manual_seed(0), noise=0, causal=True)
    assert archetype(weights, mask=causal_mask(16)) == "uniform"
    assert archetype(weights) != "uniform"


def test_padding_rows_do_not_change_the_kind():
    for kind, weights in ESSAY.items():
        padded = torch.zeros(7, 7)
        padded[:5, :5] = weights
        mask = torch.zeros(7, 7, dtype=torch.bool)
        mask[:, :5] = True
        assert archetype(padded, mask=mask) == kind


def test_a_shifted_diagonal_and_neighbours_are_diagonal_too():
    for offset in (-2, -1, 1):
        assert archetype(torch.eye(12).roll(offset, dims=1)) == "diagonal"
    near = (torch.arange(12) - torch.arange(12)[:, None]).abs() <= 1
    assert archetype(near / near.sum(-1, keepdim=True)) == "diagonal"


def test_an_oblong_alignment_is_diagonal():
    weights = torch.zeros(4, 12)
    for query in range(4):
        weights[query, round(query * 11 / 3)] = 1
    assert archetype(weights) == "diagonal"
    assert archetype_scores(weights)["block"] == 0


test_wrong_input_is_named = refusals(
    (lambda: archetype(torch.ones(2, 3, 3)), "wanted one map"),
    (lambda: archetype(torch.zeros(3, 3)), "0 everywhere"),
    (lambda: synthetic_map("x", 8, torch.Generator()), "kind is 'x'"),
    (
        lambda: synthetic_map("block", 12, torch.Generator(), causal=True),
        "n is 12, wanted at least 16",
    ),
    (lambda: synthetic_map("block", 12, torch.Generator(), noise=2), "noise is 2"),
)
