"""The residual stream of a model, its lens, silenced heads and moved vectors."""

from typing import cast

import pytest
import torch

from course_lib.attention_maps import (
    logit_lens,
    pair_excess,
    residual_stream,
    restored_share,
    silenced,
    silencing_curve,
    spare_one_by_one,
)
from course_lib.whole import GPT, Block
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
