"""Roles and kinds of heads: what was made for one is recognised."""

import pytest
import torch

from course_lib.attention_maps import (
    ARCHETYPES,
    archetype,
    archetype_scores,
    head_roles,
    synthetic_map,
)
from course_lib.data import Vocabulary, annotated_text, collate_text
from course_lib.masks import causal_mask
from course_tests.refusals import refusals

SENTENCES = annotated_text(24, seed=1)
BATCH = collate_text(SENTENCES, Vocabulary.of(s.tokens for s in SENTENCES))
LENGTH = BATCH.tokens.shape[1]
EVEN = (BATCH.keep / BATCH.keep.sum(1, keepdim=True))[:, None].expand(-1, LENGTH, -1)


def follow(links):
    share = links / links.sum(-1, keepdim=True).clamp(min=1)
    return torch.where(links.any(-1, keepdim=True), share, EVEN)


def columns(mark):
    links = BATCH.marks[mark][:, None].expand(-1, LENGTH, -1)
    return follow(links)


HEADS = {
    "even": EVEN,
    "previous": torch.eye(LENGTH).roll(-1, dims=1).expand_as(EVEN),
    "next": torch.eye(LENGTH).roll(1, dims=1).expand_as(EVEN),
    "agreement": follow(BATCH.relations["agreement"]),
    "coreference": follow(BATCH.relations["coreference"]),
    "emphasis": follow(BATCH.relations["emphasis"]),
    "separators": columns("separators"),
    "rare": columns("rare"),
    "clause": follow(
        (BATCH.clauses[:, :, None] == BATCH.clauses[:, None]) & (BATCH.clauses >= 0)[:, None]
    ),
}
NAMES = list(HEADS)
ROLES = head_roles(torch.stack(list(HEADS.values()), dim=1)[None], BATCH)


@pytest.mark.parametrize("role", [name for name in NAMES if name != "even"])
def test_the_head_that_was_made_for_a_role_has_its_highest_score(role):
    scores = ROLES[role][0]
    own = scores[NAMES.index(role)]
    assert own == scores.max()
    if role in ("separators", "rare"):
        assert own > 3
    else:
        assert own == pytest.approx(1, abs=1e-5)


def test_the_even_head_has_no_role():
    even = {name: ROLES[name][0, 0].item() for name in ROLES}
    assert even["entropy"] == pytest.approx(1, abs=1e-5)
    assert even["separators"] == pytest.approx(1, abs=1e-5)
    assert even["rare"] == pytest.approx(1, abs=1e-5)
    assert max(even[name] for name in ("previous", "next", "agreement", "coreference")) < 0.25


def test_a_previous_token_head_finds_subjects_by_counting():
    scores = {name: ROLES[name][0, NAMES.index("previous")].item() for name in ROLES}
    assert scores["agreement"] > 0.4 and scores["coreference"] == 0


def test_padding_does_not_count():
    longer = collate_text(
        [*SENTENCES, max(annotated_text(300, 2), key=lambda s: len(s.tokens))],
        Vocabulary.of(s.tokens for s in SENTENCES),
    )
    extra = longer.tokens.shape[1] - LENGTH
    assert extra > 0
    even = longer.keep / longer.keep.sum(1, keepdim=True)
    weights = even[None, :24, None, None].expand(1, 24, 1, longer.tokens.shape[1], -1)
    first = type(longer)(
        longer.tokens[:24],
        longer.keep[:24],
        {k: v[:24] for k, v in longer.relations.items()},
        {k: v[:24] for k, v in longer.marks.items()},
        longer.clauses[:24],
    )
    padded = head_roles(weights, first)
    for name in ("separators", "rare", "entropy", "clause", "previous"):
        torch.testing.assert_close(padded[name][0, 0], ROLES[name][0, 0])


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match="wanted \\(L, 24, H"):
        head_roles(torch.ones(1, 2, 1, LENGTH, LENGTH), BATCH)


ESSAY = {
    "diagonal": torch.eye(5),
    "vertical": torch.tensor([[0.5, 0, 0, 0, 0.5]]).repeat(5, 1),
    "block": torch.block_diag(torch.full((2, 2), 1 / 2), torch.full((3, 3), 1 / 3)),
    "heterogeneous": torch.tensor(
        [[0, 0.5, 0, 0, 0.5], [1, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 1, 0, 0], [1, 0, 0, 0, 0]]
    ),
    "uniform": torch.full((5, 5), 1 / 5),
}


@pytest.mark.parametrize("kind", ESSAY)
def test_the_pictures_of_the_essay(kind):
    assert archetype(ESSAY[kind]) == kind


@pytest.mark.parametrize("causal, n", [(False, 8), (False, 24), (True, 16), (True, 24)])
@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("kind", ARCHETYPES)
def test_drawn_maps_are_recognised(kind, noise, causal, n):
    mask = causal_mask(n) if causal else None
    for seed in range(10):
        weights = synthetic_map(
            kind, n, torch.Generator().manual_seed(seed), noise=noise, causal=causal
        )
        torch.testing.assert_close(weights.sum(-1), torch.ones(n))
        assert archetype(weights, mask=mask) == kind
        if causal:
            assert not weights[~mask].any()


def test_noise_makes_everything_uniform_in_the_end():
    for kind in ARCHETYPES:
        weights = synthetic_map(kind, 16, torch.Generator().manual_seed(0), noise=1.0)
        assert archetype(weights) == "uniform"


def test_without_its_mask_a_causal_uniform_head_looks_like_something_else():
    weights = synthetic_map("uniform", 16, torch.Generator().manual_seed(0), noise=0, causal=True)
    assert archetype(weights, mask=causal_mask(16)) == "uniform"
    assert archetype(weights) != "uniform"


def test_padding_rows_do_not_change_the_kind():
    for kind, weights in ESSAY.items():
        padded = torch.zeros(7, 7)
        padded[:5, :5] = weights
        mask = torch.zeros(7, 7, dtype=torch.bool)
        mask[:, :5] = True
        assert archetype(padded, mask=mask) == kind


def test_a_shifted_diagonal_and_neighbours_are_diagonal_too():
    for offset in (-2, -1, 1):
        assert archetype(torch.eye(12).roll(offset, dims=1)) == "diagonal"
    near = (torch.arange(12) - torch.arange(12)[:, None]).abs() <= 1
    assert archetype(near / near.sum(-1, keepdim=True)) == "diagonal"


def test_an_oblong_alignment_is_diagonal():
    weights = torch.zeros(4, 12)
    for query in range(4):
        weights[query, round(query * 11 / 3)] = 1
    assert archetype(weights) == "diagonal"
    assert archetype_scores(weights)["block"] == 0


test_wrong_maps_are_named = refusals(
    (lambda: archetype(torch.ones(2, 3, 3)), "wanted one map"),
    (lambda: archetype(torch.zeros(3, 3)), "0 everywhere"),
    (lambda: synthetic_map("x", 8, torch.Generator()), "kind is 'x'"),
    (
        lambda: synthetic_map("block", 12, torch.Generator(), causal=True),
        "n is 12, wanted at least 16",
    ),
    (lambda: synthetic_map("block", 12, torch.Generator(), noise=2), "noise is 2"),
)
