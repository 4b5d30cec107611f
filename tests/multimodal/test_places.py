"""Video, object queries and pages: who hears of whom, what costs what, which table says what."""

import pytest
import torch

from course_lib.attention_maps import reachability
from course_lib.multimodal import (
    FactorisedBlock,
    QueryDecoderLayer,
    factorised_mask,
    video_positions,
)
from course_tests.refusals import refusals


def video(frames=3, places=4, d=8, seed=0):
    return torch.randn(2, frames, places, d, generator=torch.Generator().manual_seed(seed))


def block(**kwargs):
    torch.manual_seed(0)
    return FactorisedBlock(8, n_heads=2, d_ff=16, **kwargs).eval()


def hears_of(layer, x):
    x = x[:1].double().requires_grad_()
    out = layer.double()(x).flatten(1, 2)
    rows = [torch.autograd.grad(out[0, i].sum() + out[0, i, 0], x, retain_graph=True)[0]
            for i in range(out.shape[1])]  # fmt: skip
    return torch.stack([row.flatten(1, 2)[0].abs().sum(-1) > 1e-12 for row in rows])


@pytest.mark.parametrize("causal", [False, True])
def test_one_block_reaches_what_the_two_masks_say(causal):
    masks = factorised_mask(3, 4, causal=causal)
    found = hears_of(block(causal=causal), video())
    assert torch.equal(found, reachability(masks))
    frame = torch.arange(12) // 4
    assert torch.equal(found, frame[:, None] >= frame if causal else torch.ones(12, 12).bool())


def test_scores_are_far_fewer_than_of_joint_attention():
    time, space = factorised_mask(8, 196)
    assert int(time.sum() + space.sum()) == 8 * 196 * (8 + 196)
    assert (8 * 196) ** 2 / int(time.sum() + space.sum()) > 7.6


def test_a_still_start_leaves_each_frame_to_itself():
    x = video()
    layer = block(still_start=True)
    apart = torch.cat([layer(x[:, f : f + 1]) for f in range(3)], dim=1)
    torch.testing.assert_close(layer(x), apart)
    assert not torch.allclose(
        block()(x), torch.cat([block()(x[:, f : f + 1]) for f in range(3)], 1)
    )


def test_the_order_of_places_does_not_matter_and_neither_that_of_frames_unless_causal():
    x = video()
    for layer, same in ((block(), True), (block(causal=True), False)):
        torch.testing.assert_close(layer(x.flip(2)), layer(x).flip(2))
        assert torch.allclose(layer(x.flip(1)), layer(x).flip(1), atol=1e-5) is same


def test_the_summary_hears_all_and_is_refused_under_a_causal_mask():
    x, summary = video(), torch.zeros(2, 8)
    out, first = block()(x, summary)
    assert out.shape == x.shape and first.shape == summary.shape
    for frame in range(3):
        changed = x.clone()
        # Not plus 1: a norm takes away what all channels have in common.
        changed[:, frame, 0] *= -1
        assert not torch.allclose(block()(changed, summary)[1], first, atol=1e-5)


def test_video_positions_are_all_different_and_say_each_axis_by_itself():
    for d_model in (6, 8, 10, 64):
        table = video_positions(3, 4, 5, d_model)
        assert table.shape == (3, 20, d_model)
        assert len(table.flatten(0, 1).unique(dim=0)) == 60
    time = 2 * (64 // 2 // 3)
    table = video_positions(3, 4, 5, 64)
    assert torch.equal(table[1, 0, :time], table[1, 7, :time])
    assert torch.equal(table[0, :, time:], table[2, :, time:])


def decoder():
    torch.manual_seed(0)
    return QueryDecoderLayer(8, n_heads=2, d_ff=16).eval()


def asked(n=3, m=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(2, k, 8, generator=generator) for k in (n, m, n, m))


def test_slots_are_a_set_and_so_is_the_image_with_its_places():
    layer = decoder()
    x, memory, slots, places = asked()
    out, weights = layer(x, memory, slots, places, return_weights=True)
    assert weights.shape == (2, 2, 3, 5)
    torch.testing.assert_close(layer(x, memory, slots, places), out)
    torch.testing.assert_close(layer(x.flip(1), memory, slots.flip(1), places), out.flip(1))
    torch.testing.assert_close(layer(x, memory.flip(1), slots, places.flip(1)), out)
    assert not torch.allclose(layer(x, memory.flip(1), slots, places), out, atol=1e-3)


def test_without_slots_all_answers_are_the_same():
    layer = decoder()
    _, memory, slots, places = asked()
    nothing = torch.zeros(2, 3, 8)
    same = layer(nothing, memory, None, places)
    torch.testing.assert_close(same[:, 0], same[:, 1])
    apart = layer(nothing, memory, slots, places)
    assert not torch.allclose(apart[:, 0], apart[:, 1], atol=1e-3)


def test_places_are_in_keys_but_not_in_values():
    layer = decoder()
    x, memory, slots, places = asked()
    one_place = memory[:, :1], places[:, :1]
    # With one key it is seen whatever its place is; the value must not have changed.
    torch.testing.assert_close(layer(x, one_place[0], slots, one_place[1]),
                               layer(x, one_place[0], slots, None))  # fmt: skip


def test_padding_of_the_image_is_not_seen():
    layer = decoder()
    x, memory, slots, places = asked()
    mask = torch.tensor([True, True, True, False, False])
    out = layer(x, memory, slots, places, mask=mask[None, :])
    torch.testing.assert_close(layer(x, memory[:, :3], slots, places[:, :3]), out)


test_wrong_input_is_named = refusals(
    (lambda: block()(video()[0]), r"wanted \(B, F, N, D\)"),
    (lambda: block()(video(), torch.zeros(2, 7)), "summary has shape"),
    (lambda: decoder()(torch.zeros(1, 2, 8), torch.zeros(1, 2, 5)), r"\(1, 2, 5\)"),
    (lambda: video_positions(1, 1, 1, 7), "d_model is 7"),
    (lambda: block(causal=True)(video(), torch.zeros(2, 8)), "carry the future back"),
)
