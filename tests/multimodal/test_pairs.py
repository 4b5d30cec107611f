"""Captions that are kept back, pictures that show their captions, and what a search costs."""

import pytest
import torch

from course_lib.data.shapes import COLOURS, SHAPES
from course_lib.multimodal import (
    CAPTIONS,
    KEPT_BACK,
    all_captions,
    close_ups,
    search_scores,
    train_towers,
)
from course_tests.refusals import refusals


def test_every_word_is_learned_from_other_captions():
    shown = {c for n, c in enumerate(CAPTIONS) if n not in KEPT_BACK}
    assert len(CAPTIONS) == 24 and len({*KEPT_BACK}) == 6
    for word in (*COLOURS, *SHAPES):
        assert sum(word in caption.split() for caption in shown) >= 3
        assert any(word in CAPTIONS[n].split() for n in KEPT_BACK)


def test_captions_are_different_and_end():
    tokens = all_captions()
    assert len(tokens.unique(dim=0)) == 24
    assert (tokens[:, 0] == 1).all() and (tokens[:, -1] == 2).all()
    assert (tokens[:, 1].reshape(6, 4) == tokens[::4, 1:2]).all()
    assert (tokens[:, 2].reshape(6, 4) == tokens[:4, 2]).all()


def test_a_picture_has_the_colour_of_its_caption():
    made = close_ups(200, torch.Generator().manual_seed(0))
    middle = made.images[:, :, 6:10, 6:10].mean(dim=(2, 3))
    rgb = torch.tensor(
        [[1, -1, -1], [-1, 1, -1], [-1, -1, 1], [1, 1, -1], [1, -1, 1], [-1, 1, 1]]
    ).float()
    nearest = torch.cdist(middle, rgb).argmin(dim=1)
    assert (nearest == made.caption // 4).float().mean() > 0.97
    assert len(made.caption.unique()) == 24


def test_captions_that_are_kept_back_are_not_trained_on():
    pairs = close_ups(400, torch.Generator().manual_seed(0))
    kept = torch.isin(pairs.caption, torch.tensor(KEPT_BACK))
    blank = type(pairs)(
        torch.where(kept[:, None, None, None], torch.nan, pairs.images), pairs.caption
    )
    _, losses = train_towers(pairs, steps=3)
    _, without = train_towers(blank, steps=3)
    assert torch.equal(losses, without) and losses.isfinite().all()
    _, everything = train_towers(pairs, kept_back=(), steps=3)
    assert not torch.equal(losses, everything)


@pytest.mark.parametrize("layout", ["towers", "joint", "cross", "slots"])
def test_a_search_costs_what_its_parts_cost(layout):
    def count(n, m):
        return search_scores(layout, 5, 7, 3, n_images=n, n_texts=m, n_slots=2)

    own_image, own_text, pair = {
        "towers": (3 * 49, 3 * 25, 0),
        "joint": (0, 0, 3 * 144),
        "cross": (3 * 49, 0, 3 * (25 + 35)),
        "slots": (3 * 49 + 14, 0, 3 * 49),
    }[layout]
    for n, m in ((1, 1), (4, 1), (1, 6), (4, 6)):
        assert count(n, m) == n * own_image + m * own_text + n * m * pair


test_numbers_that_cannot_be_are_refused = refusals(
    (lambda: search_scores("towers", 0, 7, 3), "wanted at least 1 each"),
    (lambda: search_scores("both", 5, 7, 3), "layout is 'both', wanted one of"),
)
