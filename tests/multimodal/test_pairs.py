"""Pairs of pictures and captions, and the loss that brings them together."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.data.shapes import COLOURS, SHAPES
from course_lib.multimodal import (
    CAPTIONS,
    KEPT_BACK,
    DualEncoder,
    DualEncoderConfig,
    ImageTower,
    Temperature,
    TextTower,
    all_captions,
    close_ups,
    contrastive_loss,
    pair_similarities,
    retrieval_accuracy,
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


CONFIG = DualEncoderConfig(image_size=8, patch_size=4, n_words=12, max_len=6, end=11)


def embeddings(n, d=5, seed=0):
    return torch.randn(2, n, d, generator=torch.Generator().manual_seed(seed))


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 9), st.floats(0.1, 20), st.integers(0, 99))
def test_the_loss_is_what_its_definition_says(n, factor, seed):
    images, texts = embeddings(n, seed=seed)
    s = pair_similarities(images, texts, factor)
    rows = sum(-s[i, i] + s[i].logsumexp(0) for i in range(n)) / n
    columns = sum(-s[i, i] + s[:, i].logsumexp(0) for i in range(n)) / n
    torch.testing.assert_close(contrastive_loss(s), (rows + columns) / 2)
    torch.testing.assert_close(contrastive_loss(s), contrastive_loss(s.T))
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(contrastive_loss(s[order][:, order]), contrastive_loss(s))


def test_knowing_nothing_costs_the_logarithm_of_the_batch():
    for n in (2, 64):
        assert contrastive_loss(torch.full((n, n), 3.0)).item() == pytest.approx(math.log(n))


def test_only_directions_count():
    images, texts = embeddings(4)
    torch.testing.assert_close(
        pair_similarities(7 * images, texts / 3), pair_similarities(images, texts)
    )


def test_the_factor_stops_at_its_ceiling_and_comes_back_only_when_clamped():
    temperature = Temperature()
    assert temperature().item() == pytest.approx(1 / 0.07, rel=1e-5)
    with torch.no_grad():
        temperature.log_factor.fill_(math.log(200.0))
    assert temperature().item() == pytest.approx(100, rel=1e-5)
    (stuck,) = torch.autograd.grad(temperature(), temperature.log_factor)
    assert stuck == 0
    temperature.clamp_()
    (free,) = torch.autograd.grad(temperature(), temperature.log_factor)
    assert free.item() == pytest.approx(100, rel=1e-4)


def test_ties_are_no_success():
    assert retrieval_accuracy(torch.zeros(5, 5)) == 0
    assert retrieval_accuracy(torch.zeros(5, 5), k=5) == 1
    assert retrieval_accuracy(torch.eye(5)) == 1


def test_the_text_is_read_at_its_first_end_whatever_is_behind():
    tower = TextTower(CONFIG, generator=torch.Generator().manual_seed(0)).eval()
    texts = torch.tensor([[3, 4, 11, 0, 0, 0], [3, 4, 11, 5, 11, 7], [3, 4, 5, 11, 0, 0]])
    out = tower(texts)
    torch.testing.assert_close(out[0], out[1])
    assert not torch.allclose(out[0], out[2], atol=1e-3)
    torch.testing.assert_close(tower(texts[:1, :3])[0], out[0])


IMAGES, TEXTS = embeddings(3)
MODEL = DualEncoder(CONFIG)
PICTURE = torch.zeros(1, 3, 8, 8)
test_wrong_input_is_named = refusals(
    (lambda: pair_similarities(IMAGES, TEXTS[:, :2]), "\\(3, 2\\)"),
    (lambda: contrastive_loss(torch.zeros(2, 3)), r"wanted \(N, N\)"),
    (lambda: retrieval_accuracy(torch.zeros(2, 3)), r"wanted \(N, N\)"),
    (lambda: retrieval_accuracy(torch.zeros(2, 2), k=3), "k is 3"),
    (lambda: Temperature(start=200.0), "start is 200"),
    (lambda: MODEL(torch.zeros(1, 3, 9, 9), torch.tensor([[11]])), "wanted \\(B, 3, 8, 8\\)"),
    (lambda: MODEL(torch.zeros(1, 3, 8, 8), torch.full((1, 7), 11)), "T at most 6"),
    (lambda: MODEL.text_tower(torch.tensor([[11], [3]])), r"tokens\[1\] has no end token"),
    (lambda: DualEncoderConfig(patch_size=5), "patch_size is 5"),
    (lambda: DualEncoderConfig(text_n_heads=5), "text_n_heads is 5"),
    (lambda: DualEncoderConfig(end=100), "end is 100"),
    (lambda: MODEL.image_tower(PICTURE.byte()), "torch.uint8, wanted a floating-point one"),
    (lambda: ImageTower(CONFIG)(PICTURE.byte()), "torch.uint8, wanted a floating-point one"),
)


def test_an_encoder_that_says_nothing_finds_nothing():
    similarities = torch.eye(3)
    similarities[1] = math.nan
    assert retrieval_accuracy(similarities) == pytest.approx(2 / 3)
    assert retrieval_accuracy(torch.full((3, 3), math.nan)) == 0
