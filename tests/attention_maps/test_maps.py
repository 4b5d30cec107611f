"""Maps, rollout and distances: against loops, closed forms, and what is easily done wrong."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.attention_maps import (
    attention_distance,
    attention_maps,
    attention_rollout,
    grid_distances,
)
from course_tests.refusals import refusals


def rows_of_weights(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).softmax(-1)


def test_a_map_is_where_the_patches_are():
    weights = rows_of_weights(2, 3, 4, 7, 7)
    maps = attention_maps(weights, (2, 3))
    assert maps.shape == (2, 3, 4, 2, 3)
    assert torch.equal(maps[..., 1, 0], weights[..., 0, 4])
    other = attention_maps(weights, (2, 3), query=5)
    assert torch.equal(other[..., 0, 2], weights[..., 5, 3])


def test_to_take_the_first_tokens_for_patches_shifts_the_map():
    # With two tokens in front, a map cut as if there were one is off by a patch.
    weights = torch.zeros(1, 18, 18)
    weights[0, 0, 2] = 1.0  # all on the first patch
    right = attention_maps(weights, (4, 4), n_prefix=2)
    assert right[0].argmax() == 0
    assert weights[0, 0, 1:17].argmax() == 1


def rollout_by_loops(weights, residual):
    """Paths from each token of the last layer down to each input, counted one after the other."""
    n_layers, _, n_tokens, _ = weights.shape
    mixed = weights.mean(1)
    result = torch.zeros(n_tokens, n_tokens, dtype=weights.dtype)

    def walk(layer, start, at, share):
        if layer < 0:
            result[start, at] += share
            return
        for to in range(n_tokens):
            stays = residual if to == at else 0.0
            walk(layer - 1, start, to, share * ((1 - residual) * mixed[layer, at, to] + stays))

    for token in range(n_tokens):
        walk(n_layers - 1, token, token, 1.0)
    return result


@pytest.mark.parametrize("residual", [0.0, 0.5, 0.8])
def test_rollout_adds_up_all_paths(residual):
    weights = rows_of_weights(3, 2, 3, 3)
    torch.testing.assert_close(
        attention_rollout(weights, residual=residual), rollout_by_loops(weights, residual)
    )


@given(
    n_layers=st.integers(1, 3),
    fusion=st.sampled_from(["mean", "max", "min"]),
    residual=st.floats(0, 1),
    seed=st.integers(0, 5),
)
@settings(max_examples=20, deadline=None)
def test_rollout_keeps_distributions(n_layers, fusion, residual, seed):
    weights = rows_of_weights(n_layers, 2, 3, 4, 4, seed=seed)
    rolled = attention_rollout(weights, residual=residual, fusion=fusion)
    assert rolled.shape == (2, 4, 4) and (rolled >= 0).all()
    torch.testing.assert_close(rolled.sum(-1), torch.ones(2, 4, dtype=torch.float64))


def test_heads_that_share_nothing_leave_the_residual_path():
    weights = torch.eye(3).roll(1, 1).repeat(2, 2, 1, 1)
    weights[:, 1] = torch.eye(3).roll(2, 1)
    rolled = attention_rollout(weights, fusion="min")
    torch.testing.assert_close(rolled, torch.eye(3))
    assert attention_rollout(weights, fusion="min", residual=0.0).isfinite().all()


def distance_by_loops(weights, rows, columns, n_prefix):
    total = 0.0
    n_patches = rows * columns
    for i in range(n_patches):
        row = weights[n_prefix + i, n_prefix:]
        for j in range(n_patches):
            dy, dx = i // columns - j // columns, i % columns - j % columns
            total += (row[j] / row.sum()).item() * math.hypot(dy, dx) / n_patches
    return total


@pytest.mark.parametrize("n_prefix", [0, 1, 2])
def test_distance_is_the_mean_by_weight(n_prefix):
    weights = rows_of_weights(6 + n_prefix, 6 + n_prefix)
    found = attention_distance(weights, (2, 3), n_prefix=n_prefix).item()
    assert found == pytest.approx(distance_by_loops(weights, 2, 3, n_prefix))


def test_distances_of_vit_b16_in_pixels():
    distances = 16 * grid_distances(14, 14)
    uniform = torch.full((196, 196), 1 / 196)
    found = attention_distance(uniform, (14, 14), n_prefix=0, patch_size=16)
    torch.testing.assert_close(found, distances.mean())
    assert round(found.item()) == 116
    # The largest mean distance that there can be: every patch looks at the one farthest away.
    assert round(distances.amax(-1).mean().item()) == 229


def test_distance_of_all_layers_and_heads():
    weights = rows_of_weights(3, 2, 4, 5, 5)
    assert attention_distance(weights, (2, 2)).shape == (3, 2, 4)
    assert attention_distance(torch.zeros(5, 5), (2, 2)) == 0


test_errors_name_what_came_and_what_was_wanted = refusals(
    (lambda: attention_maps(torch.eye(6), (2, 2)), r"\(6, 6\), wanted \(..., 5, 5\): 1 tokens"),
    (lambda: attention_maps(torch.eye(5), (2, 2), query=5), "query is 5, wanted one of 5"),
    (lambda: attention_distance(torch.eye(5), (2, 3)), r"wanted \(..., 7, 7\)"),
    (lambda: attention_rollout(torch.eye(5)), r"\(5, 5\), wanted \(L, ..., H, T, T\)"),
    (lambda: attention_rollout(torch.zeros(1, 1, 2, 3)), "wanted"),
    (lambda: attention_rollout(torch.zeros(1, 1, 2, 2), residual=2), "residual is 2, wanted a"),
    (lambda: attention_rollout(torch.zeros(1, 1, 2, 2), fusion="sum"), "fusion is 'sum'"),
    (lambda: attention_rollout(torch.zeros(0, 2, 3, 3)), r"\(0, 2, 3, 3\), wanted"),
)
