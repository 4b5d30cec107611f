"""Gates between modalities, and masks and places of videos."""

import pytest
import torch

from course_lib.attention_maps import reachability
from course_lib.multimodal import (
    GatedCrossAttention,
    factorised_mask,
    preceding_image_mask,
    video_positions,
)
from course_tests.refusals import refusals


def pair(batch=2, length=3, memory=4, d=8, d_memory=8, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (
        torch.randn(batch, length, d, generator=generator),
        torch.randn(batch, memory, d_memory, generator=generator),
    )


def test_a_shut_gate_is_the_identity_and_only_gates_have_a_gradient():
    layer = GatedCrossAttention(8, n_heads=2, d_ff=16)
    x, memory = pair()
    out = layer(x, memory)
    assert torch.equal(out, x)
    out.square().sum().backward()
    for name, weight in layer.named_parameters():
        assert bool(weight.grad.any()) is name.endswith("gate"), name


def test_a_gate_saturates_at_one():
    x, memory = pair()
    torch.manual_seed(0)
    layer = GatedCrossAttention(8, n_heads=2, d_ff=16, gate=20.0)
    torch.manual_seed(0)
    more = GatedCrossAttention(8, n_heads=2, d_ff=16, gate=2000.0)
    torch.testing.assert_close(layer(x, memory), more(x, memory))


def test_words_before_the_first_image_hear_nothing_of_it():
    is_image = torch.tensor([[False, True, False, True, False], [True, False, False, False, False]])
    mask = preceding_image_mask(is_image, tokens_per_image=2)
    assert mask.shape == (2, 1, 5, 4)
    assert not mask[0, 0, 0].any() and not mask[1, 0, :, 2:].any()
    assert torch.equal(mask[0, 0, 2], torch.tensor([True, True, False, False]))
    assert torch.equal(mask[0, 0, 4], torch.tensor([False, False, True, True]))
    layer = GatedCrossAttention(8, n_heads=2, d_ff=16, gate=0.5)
    x, memory = pair(length=5)
    out, weights = layer(x, memory, mask=mask, return_weights=True)
    assert not weights[0, :, 0].any()
    changed = layer(x, memory + 1, mask=mask)
    assert torch.equal(changed[0, 0], out[0, 0])
    assert not torch.allclose(changed[0, 1:], out[0, 1:])
    assert torch.allclose(layer(x, memory, mask=mask), out, atol=1e-6)


def test_text_without_images_has_an_empty_memory():
    mask = preceding_image_mask(torch.zeros(2, 3, dtype=torch.bool), tokens_per_image=4)
    assert mask.shape == (2, 1, 3, 0)


def test_memory_of_another_width():
    x, memory = pair(d_memory=6)
    gated = GatedCrossAttention(8, n_heads=2, d_ff=16, d_memory=6, gate=1.0)
    assert gated(x, memory).shape == x.shape


X, MEMORY = pair()
test_wrong_input_is_named = refusals(
    (lambda: GatedCrossAttention(8, 2, 16)(X, MEMORY[..., :5]), "\\(2, 4, 5\\)"),
    (lambda: preceding_image_mask(torch.zeros(2, 3), 1), "wanted boolean"),
    (lambda: preceding_image_mask(torch.zeros(2, 3).bool(), 0), "tokens_per_image is 0"),
)


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
