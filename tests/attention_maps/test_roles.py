"""Heads made for a role get its full score, and no other's."""

import pytest
import torch

from course_lib.attention_maps import head_roles
from course_lib.data import Vocabulary, annotated_text, collate_text

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
    longer = collate_text([*SENTENCES, max(annotated_text(300, 2), key=lambda s: len(s.tokens))],
                          Vocabulary.of(s.tokens for s in SENTENCES))  # fmt: skip
    extra = longer.tokens.shape[1] - LENGTH
    assert extra > 0
    even = longer.keep / longer.keep.sum(1, keepdim=True)
    weights = even[None, :24, None, None].expand(1, 24, 1, longer.tokens.shape[1], -1)
    first = type(longer)(
        longer.tokens[:24], longer.keep[:24],
        {k: v[:24] for k, v in longer.relations.items()},
        {k: v[:24] for k, v in longer.marks.items()}, longer.clauses[:24],
    )  # fmt: skip
    padded = head_roles(weights, first)
    for name in ("separators", "rare", "entropy", "clause", "previous"):
        torch.testing.assert_close(padded[name][0, 0], ROLES[name][0, 0])


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match="wanted \\(L, 24, H"):
        head_roles(torch.ones(1, 2, 1, LENGTH, LENGTH), BATCH)
