"""One sequence for both: positions, masks, kinds, beside Qwen2-VL's own numbering."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.multimodal import (
    InterleavedConfig,
    InterleavedDecoder,
    UnifiedConfig,
    UnifiedEncoder,
    interleaved_mask,
    interleaved_positions,
    token_count,
    unified_positions,
)

sizes = st.integers(1, 4)
segment = st.one_of(st.integers(1, 5), st.tuples(sizes, sizes))


def test_the_text_goes_on_behind_a_long_video():
    positions = interleaved_positions([1, (6, 2, 2), 2])
    assert positions[:, 1:-2].amax(dim=1).tolist() == [6, 2, 2]
    assert positions[:, -2:].tolist() == [[7, 8]] * 3


@settings(max_examples=25, deadline=None)
@given(st.lists(segment, max_size=5))
def test_no_two_tokens_share_a_position_and_words_are_on_the_diagonal(parts):
    positions = interleaved_positions(parts)
    assert positions.shape == (3, token_count(parts))
    assert len(positions.unique(dim=1).T) == token_count(parts)
    line = interleaved_positions(parts, scheme="line")
    assert torch.equal(line[0], torch.arange(token_count(parts)))
    only_words = [part for part in parts if isinstance(part, int)]
    assert torch.equal(
        interleaved_positions(only_words), interleaved_positions(only_words, scheme="line")
    )


def test_patches_see_their_image_and_nothing_later():
    mask = interleaved_mask([2, (2, 2), 1, (1, 2), 1])
    assert mask[2:6, 2:6].all() and mask[7:9, 7:9].all()
    assert not mask[2:6, 6:].any() and not mask[7:9, 9:].any()
    assert torch.equal(mask | mask.T, torch.ones(10, 10).bool())
    causal = interleaved_mask([2, (2, 2), 1], whole_images=False)
    assert torch.equal(causal, torch.ones(7, 7).tril().bool())
    assert torch.equal(interleaved_mask([3, 4]), torch.ones(7, 7).tril().bool())


def test_two_images_in_a_row_stay_two():
    mask = interleaved_mask([(1, 2), (1, 2)])
    assert mask[:2, :2].all() and not mask[:2, 2:].any() and mask[2:].all()


def test_a_word_and_a_patch_share_a_code_so_the_kind_must_tell():
    table = unified_positions(5, 3, 4, d_model=16)
    assert table.shape == (17, 16)
    assert torch.equal(table[0], table[5]) and len(table.unique(dim=0)) == 16
    line = unified_positions(5, 3, 4, d_model=16, places="line")
    assert len(line.unique(dim=0)) == 17

    def gap(table, patch, other):
        return (table[5 + patch] - table[5 + other]).norm()

    # Neighbours in a column are as near as neighbours in a row on the grid, not on the line.
    torch.testing.assert_close(gap(table, 0, 4), gap(table, 0, 1))
    assert gap(line, 0, 4) > 1.5 * gap(line, 0, 1)


@pytest.mark.parametrize("places", ["dual", "line"])
def test_words_and_patches_hear_of_each_other_and_padding_of_nothing(places):
    config = UnifiedConfig(
        image_size=8, patch_size=4, max_len=4, d_model=16, n_heads=2, d_ff=32, places=places
    )
    model = UnifiedEncoder(config, generator=torch.Generator().manual_seed(0)).eval()
    image = torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(1))
    tokens = torch.tensor([[5, 6, 0, 0]])
    words, patches = model(tokens, image)
    assert words.shape == (1, 4, 16) and patches.shape == (1, 4, 16)
    _, other_patches = model(torch.tensor([[5, 7, 0, 0]]), image)
    assert (other_patches - patches).abs().amax(-1).min() > 1e-4
    assert (model(tokens, image + 1)[0] - words)[:, :2].abs().amax(-1).min() > 1e-4
    with torch.no_grad():
        model.embedding.weight[0] += 5
    assert torch.equal(model(tokens, image)[1], patches)
    # Words, patches, two kinds, two blocks, a norm; positions are fixed.
    counted = sum(p.numel() for p in model.parameters())
    block = 4 * (16 * 16 + 16) + 2 * 32 + (16 * 32 + 32) + (32 * 16 + 16)
    assert counted == 100 * 16 + (48 * 16 + 16) + 2 * 16 + 2 * block + 32


def decoder(**kwargs):
    config = InterleavedConfig(n_words=20, d_patch=6, d_model=16, n_heads=2, d_ff=32, **kwargs)
    return InterleavedDecoder(config, generator=torch.Generator().manual_seed(0)).double().eval()


def words_and_patches(n_words, n_patches):
    generator = torch.Generator().manual_seed(3)
    words = torch.randint(20, (1, n_words), generator=generator)
    return words, torch.randn(1, n_patches, 6, dtype=torch.float64, generator=generator)


def test_words_behind_an_image_see_it_and_words_before_do_not():
    model = decoder()
    words, patches = words_and_patches(5, 4)
    logits = model(words, patches, [2, (2, 2), 3])
    assert logits.shape == (1, 5, 20)
    changed = (model(words, -patches, [2, (2, 2), 3]) - logits).abs().amax(-1)[0]
    assert changed[:2].max() == 0 and changed[2:].min() > 1e-4
    later = words.clone()
    later[0, 4] = (later[0, 4] + 1) % 20
    changed = (model(later, patches, [2, (2, 2), 3]) - logits).abs().amax(-1)[0]
    assert changed[:4].max() == 0 and changed[4] > 1e-4


def test_the_order_of_segments_decides_and_not_that_of_the_arguments():
    model = decoder()
    words, patches = words_and_patches(5, 4)
    behind = model(words, patches, [5, (2, 2)])
    alone = model(words, patches[:, :0], [5])
    torch.testing.assert_close(behind, alone)
    apart = model(words, patches, [(1, 2), 2, (2, 1), 3])
    assert not torch.allclose(apart, model(words, patches, [(2, 2), 5]), atol=1e-4)
    cut = model(words[:, :2], patches[:, :2], [(1, 2), 2])
    torch.testing.assert_close(apart[:, :2], cut)


def test_a_picture_on_the_grid_is_not_its_transpose_nor_a_line():
    words, patches = words_and_patches(2, 6)
    model, line = decoder(), decoder(scheme="line")
    upright, flat = model(words, patches, [(3, 2), 2]), model(words, patches, [(2, 3), 2])
    assert (upright - flat).abs().max() > 1e-8
    assert torch.equal(line(words, patches, [(3, 2), 2]), line(words, patches, [(2, 3), 2]))


def test_under_a_causal_mask_the_first_patch_sees_nothing_of_its_image():
    words, patches = words_and_patches(1, 4)
    changed = patches.clone()
    changed[:, 3] *= -1

    def patch_states(model, patches):
        seen = []
        hook = model.blocks[0].register_forward_hook(lambda m, i, out: seen.append(out))
        model(words, patches, [(2, 2), 1])
        hook.remove()
        return seen[0][:, 0]

    for whole in (True, False):
        model = decoder(whole_images=whole)
        same = torch.equal(patch_states(model, patches), patch_states(model, changed))
        assert same is not whole


def test_wrong_input_is_named():
    words, patches = words_and_patches(5, 4)
    model = UnifiedEncoder(UnifiedConfig(image_size=8, patch_size=4, max_len=4))
    image = torch.zeros(1, 3, 8, 8)
    cases = [
        (lambda: interleaved_positions([0]), "segment is 0"),
        (lambda: interleaved_positions([(1, 2, 3, 4)]), "segment is"),
        (lambda: interleaved_positions([1], scheme="x"), "scheme is 'x'"),
        (lambda: unified_positions(1, 1, 1, 4, places="x"), "places is 'x'"),
        (lambda: model(torch.zeros(1, 3).long(), image), "tokens have shape"),
        (lambda: model(torch.zeros(1, 4).long(), image[..., :4]), "images have shape"),
        (lambda: UnifiedConfig(n_heads=3), "n_heads is 3"),
        (lambda: InterleavedConfig(n_heads=3), "n_heads is 3"),
        (lambda: InterleavedConfig(d_model=16, n_heads=4), "a head has 4 channels"),
        (lambda: decoder()(words, patches, [5, (2, 3)]), "wanted 5 words and 6 patches"),
        (lambda: decoder()(words, patches, [(2, 2)]), "wanted 0 words and 4 patches"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
