"""Frames and places of a video: what two steps reach and cost, and which code says what."""

import pytest
import torch

from course_lib.attention_maps import reachability
from course_lib.multimodal import factorised_mask, video_positions


@pytest.mark.parametrize("causal", [False, True])
def test_both_steps_reach_every_token_that_is_not_hidden(causal):
    found = reachability(factorised_mask(3, 4, causal=causal))
    frame = torch.arange(12) // 4
    assert torch.equal(found, frame[:, None] >= frame if causal else torch.ones(12, 12).bool())


def test_scores_are_far_fewer_than_of_joint_attention():
    time, space = factorised_mask(8, 196)
    assert int(time.sum() + space.sum()) == 8 * 196 * (8 + 196)
    assert (8 * 196) ** 2 / int(time.sum() + space.sum()) > 7.6


def test_video_positions_are_all_different_and_say_each_axis_by_itself():
    for d_model in (6, 8, 10, 64):
        table = video_positions(3, 4, 5, d_model)
        assert table.shape == (3, 20, d_model)
        assert len(table.flatten(0, 1).unique(dim=0)) == 60
    time = 2 * (64 // 2 // 3)
    table = video_positions(3, 4, 5, 64)
    assert torch.equal(table[1, 0, :time], table[1, 7, :time])
    assert torch.equal(table[0, :, time:], table[2, :, time:])
    with pytest.raises(ValueError, match="d_model is 7"):
        video_positions(1, 1, 1, 7)
