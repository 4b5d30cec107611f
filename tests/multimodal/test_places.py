"""Video, object queries and pages: who hears of whom, what costs what, which table says what."""

import pytest
import torch

from course_lib.attention_maps import reachability
from course_lib.multimodal import (
    FactorisedBlock,
    LayoutEmbedding,
    QueryDecoderLayer,
    factorised_mask,
    normalise_boxes,
    video_positions,
)


def video(frames=3, places=4, d=8, seed=0):
    return torch.randn(2, frames, places, d, generator=torch.Generator().manual_seed(seed))


def block(**kwargs):
    torch.manual_seed(0)
    return FactorisedBlock(8, n_heads=2, d_ff=16, **kwargs).eval()


def hears_of(layer, x):
    """Which tokens (rows) depend on which (columns), by gradients."""
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
    with pytest.raises(ValueError, match="carry the future back"):
        block(causal=True)(x, summary)


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


# --------------------------------------------------------------------------- queries


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


# --------------------------------------------------------------------------- pages


def embed():
    return LayoutEmbedding(20, 6, 8, generator=torch.Generator().manual_seed(0)).eval()


def test_both_edges_of_an_axis_share_a_table():
    layer = embed()
    layer.norm = torch.nn.Identity()
    tokens = torch.tensor([[3]])
    with torch.no_grad():
        for table in (layer.words.weight, layer.positions, layer.height.weight, layer.width.weight):
            table.zero_()
    out = layer(tokens, torch.tensor([[[10, 20, 30, 40]]]))[0, 0]
    torch.testing.assert_close(
        out, layer.x.weight[10] + layer.x.weight[30] + layer.y.weight[20] + layer.y.weight[40]
    )


def test_the_place_in_the_text_and_the_place_on_the_page_both_count():
    layer = embed()
    tokens = torch.tensor([[3, 3, 3]])
    boxes = torch.tensor([[[0, 0, 10, 10], [0, 0, 10, 10], [0, 50, 10, 60]]])
    out = layer(tokens, boxes)[0]
    assert not torch.allclose(out[0], out[1], atol=1e-3)
    moved = layer(tokens, boxes.flip(1))[0]
    assert not torch.allclose(out[0], moved[0], atol=1e-3)
    torch.testing.assert_close(out[1], moved[1])
    assert sum(p.numel() for p in layer.parameters()) == 8 * (20 + 6 + 4 * 1001 + 2)


def test_boxes_in_thousandths():
    boxes = torch.tensor([[0, 0, 595, 842], [59.5, 421, 297.5, 842]])
    assert normalise_boxes(boxes, 595, 842).tolist() == [[0, 0, 1000, 1000], [100, 500, 500, 1000]]
    assert normalise_boxes(torch.tensor([-5, 0, 700, 900]), 595, 842).tolist() == [0, 0, 1000, 1000]


def test_wrong_input_is_named():
    layer = embed()
    cases = [
        (lambda: block()(video()[0]), r"wanted \(B, F, N, D\)"),
        (lambda: block()(video(), torch.zeros(2, 7)), "summary has shape"),
        (lambda: layer(torch.ones(1, 7).long(), torch.ones(1, 7, 4).long()), "T at most 6"),
        (lambda: layer(torch.ones(1, 3).long(), torch.ones(1, 3, 2).long()), "boxes have shape"),
        (lambda: normalise_boxes(torch.ones(3), 1, 1), r"wanted \(..., 4\)"),
        (lambda: normalise_boxes(torch.ones(4), 0, 1), "the page is 0 by 1"),
        (lambda: decoder()(torch.zeros(1, 2, 8), torch.zeros(1, 2, 5)), r"\(1, 2, 5\)"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
