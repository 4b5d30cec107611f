"""Rotary positions with time, height and width."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.attention import MultiHeadAttention
from course_lib.positions import (
    MultimodalRotary,
    Rotary,
    multimodal_positions,
    next_position,
    qwen2_vl_rotary,
    qwen3_vl_rotary,
    section_axes,
)
from course_tests.refusals import refusals

PARTS = st.lists(
    st.one_of(st.integers(1, 4), st.tuples(*[st.integers(1, 3)] * 3)), min_size=1, max_size=4
)


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("fused", [False, True])
def test_for_words_it_is_rotary_on_a_line(interleaved, fused):
    q, k = draw(2, 2, 3, 9, 16)
    rotary = MultimodalRotary(16, (4, 2, 2), interleaved=interleaved, fused=fused).double()
    line = Rotary(16, layout="half_split").double()
    for ours, theirs in zip(
        rotary(q, k, multimodal_positions([9], start=5)), line(q, k, 5), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


@given(parts=PARTS, shift=st.integers(0, 100), interleaved=st.booleans())
@settings(max_examples=20, deadline=None)
def test_scores_depend_on_the_three_distances_only(parts, shift, interleaved):
    rotary = MultimodalRotary(16, (4, 2, 2), interleaved=interleaved).double()
    positions = multimodal_positions(parts)
    q, k = draw(2, 1, 1, positions.shape[1], 16)
    here, there = (rotary(q, k, positions + s) for s in (0, shift))
    torch.testing.assert_close(here[0] @ here[1].mT, there[0] @ there[1].mT)


@given(parts=PARTS, start=st.integers(0, 9))
@settings(max_examples=30, deadline=None)
def test_every_part_begins_after_the_largest_number_before_it(parts, start):
    positions = multimodal_positions(parts, start=start)
    at, number = 0, start
    for part in parts:
        sizes = (part,) * 3 if isinstance(part, int) else part
        length = part if isinstance(part, int) else part[0] * part[1] * part[2]
        here = positions[:, at : at + length]
        assert (here[:, 0] == number).all()
        assert here.amax(1).tolist() == [number + size - 1 for size in sizes]
        if isinstance(part, tuple):
            assert here.unique(dim=1).shape[1] == length
        at, number = at + length, number + max(sizes)
    assert at == positions.shape[1] and next_position(positions) == number


def test_a_list_is_numbered_part_by_part():
    whole = multimodal_positions([3, (2, 2, 1), 2])
    first = multimodal_positions([3, (2, 2, 1)])
    rest = multimodal_positions([2], start=next_position(first))
    assert torch.equal(torch.cat([first, rest], dim=1), whole)
    assert multimodal_positions([]).shape == (3, 0)
    # Row by row, as transformers numbers an image. After a video of more frames than rows or
    # columns, that code goes on behind those, so that words get numbers of frames before them.
    image = multimodal_positions([1, (1, 2, 3), 1])
    assert image.tolist() == [
        [0, 1, 1, 1, 1, 1, 1, 4],
        [0, 1, 1, 1, 2, 2, 2, 4],
        [0, 1, 2, 3, 1, 2, 3, 4],
    ]
    assert multimodal_positions([(4, 1, 1), 1])[0].tolist() == [0, 1, 2, 3, 4]


def test_sections_of_the_published_models():
    blocks = qwen2_vl_rotary().axes
    assert blocks.tolist() == [0] * 16 + [1] * 24 + [2] * 24
    interleaved = qwen3_vl_rotary().axes
    assert interleaved.tolist() == [0, 1, 2] * 20 + [0] * 4
    assert section_axes((11, 11, 10), interleaved=True).bincount().tolist() == [11, 11, 10]
    assert not list(qwen2_vl_rotary().parameters()) and not qwen2_vl_rotary().state_dict()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_an_axis_turns_its_pairs_and_no_others(axis):
    rotary = MultimodalRotary(16, (4, 2, 2), interleaved=True)
    positions = torch.zeros(3, 1, dtype=torch.long)
    positions[axis] = 7
    turns = rotary.angles(positions)[0] != 0
    assert torch.equal(turns, rotary.axes == axis)


def test_attention_takes_it_and_batches_may_differ():
    attend = MultiHeadAttention(16, n_heads=1).double()
    rotary = MultimodalRotary(16, (4, 2, 2)).double()
    x = draw(2, 5, 16)
    batch = torch.stack([multimodal_positions([5]), multimodal_positions([1, (1, 2, 2)])], dim=1)
    out = attend(x, rotate=rotary.at(batch))
    for b in range(2):
        alone = attend(x[b : b + 1], rotate=rotary.at(batch[:, b]))
        torch.testing.assert_close(out[b : b + 1], alone)


test_misfits_are_refused = refusals(
    (lambda: multimodal_positions([2, 0]), "a part is 0, wanted words or"),
    (lambda: multimodal_positions([(1, 0, 2)]), r"a part is \(1, 0, 2\), wanted words or"),
    (lambda: multimodal_positions([(2, 2)]), r"a part is \(2, 2\), wanted words or"),
    (lambda: section_axes((2, 2)), r"sections are \(2, 2\), wanted pairs of time"),
    (
        lambda: MultimodalRotary(16, (2, 2, 2)),
        r"sections are \(2, 2, 2\), wanted pairs of the 16 channels",
    ),
    (
        lambda: MultimodalRotary(8, (2, 1, 1)).angles(torch.zeros(2, 3)),
        r"positions have shape \(2, 3\), wanted \(3, T\) or \(3, B, T\)",
    ),
)
