from collections import Counter

import pytest

from course_lib.data.translation import (
    KoreanEnglish,
    generate,
    german_english,
    korean_english,
    split_of,
)
from course_tests.refusals import refusals


@pytest.mark.parametrize("corpus", [korean_english, german_english])
def test_same_seed_same_corpus(corpus) -> None:  # type: ignore[no-untyped-def]
    assert corpus(50, seed=1) == corpus(50, seed=1)
    assert corpus(50, seed=1) != corpus(50, seed=2)
    assert corpus(50, seed=1)[:20] == corpus(20, seed=1)


@pytest.mark.parametrize("corpus", [korean_english, german_english])
def test_splits_share_no_source_and_no_target(corpus) -> None:  # type: ignore[no-untyped-def]
    """Short sentences repeat often, so an overlap would show."""
    parts = [corpus(1500, 0, split, 3, 6) for split in ("train", "valid", "test")]
    sources = [{pair.source for pair in part} for part in parts]
    targets = [{pair.target for pair in part} for part in parts]
    for sets in (sources, targets):
        assert not sets[0] & sets[1] and not sets[0] & sets[2] and not sets[1] & sets[2]
    assert len(parts[0]) > len(sources[0])  # the control: within a split they do repeat


def test_a_source_has_one_translation() -> None:
    targets: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for pair in korean_english(5000, seed=0, max_length=6):
        targets.setdefault(pair.source, set()).add(pair.target)
    assert all(len(found) == 1 for found in targets.values())


def test_split_sizes_are_eight_one_one() -> None:
    from random import Random

    grammar, rng = KoreanEnglish(), Random(0)
    counts = Counter(split_of(grammar.sample(rng, 10)) for _ in range(3000))
    assert counts["train"] / 3000 == pytest.approx(0.8, abs=0.03)
    assert counts["valid"] / 3000 == pytest.approx(0.1, abs=0.03)


def test_lengths_are_uniform_over_the_range() -> None:
    counts = Counter(
        len(pair.source) for pair in korean_english(3600, 0, min_length=3, max_length=20)
    )
    assert sorted(counts) == list(range(3, 21))
    assert min(counts.values()) > 130 and max(counts.values()) < 280


test_bad_arguments_are_refused = refusals(
    ({"n": 1, "seed": 0, "split": "dev"}, "'dev'"),
    ({"n": -1, "seed": 0}, "n is -1, wanted at least 0"),
    ({"n": 1, "seed": 0, "min_length": 2}, "min_length is 2 and max_length 20, wanted 3 <="),
    (
        {"n": 1, "seed": 0, "min_length": 9, "max_length": 8},
        "min_length is 9 and max_length 8, wanted 3 <=",
    ),
    by=lambda **arguments: generate(KoreanEnglish(), **arguments),
)
