from collections import Counter
from random import Random

import pytest

from course_lib.data.translation.german import _NOUNS, GermanEnglish
from course_lib.data.translation.pairs import SentencePair


def sample(n: int = 2000) -> list[SentencePair]:
    grammar, rng = GermanEnglish(), Random(0)
    return [grammar.sample(rng, 3 + i % 20) for i in range(n)]


PAIRS = sample()


def test_alignments_are_complete_and_monotonic() -> None:
    for pair in PAIRS:
        assert {i for i, _ in pair.alignment} == set(range(len(pair.source))), pair
        assert {j for _, j in pair.alignment} == set(range(len(pair.target))), pair
        for i, j in pair.alignment:
            for k, m in pair.alignment:
                assert i >= k or j <= m, pair


def test_articles_agree_in_gender() -> None:
    articles = {"m": {"der", "den", "ein", "einen"}, "f": {"die", "eine"}, "n": {"das", "ein"}}
    seen = Counter()
    for pair in PAIRS:
        for article, word in zip(pair.source, pair.source[1:], strict=False):
            for noun in _NOUNS:
                if word == noun.german and article in set().union(*articles.values()):
                    seen[noun.gender] += 1
                    assert article in articles[noun.gender], pair
    assert min(seen[gender] for gender in "mfn") > 50


def test_a_thing_is_it_whatever_its_german_gender() -> None:
    seen = set()
    for pair in PAIRS:
        for i, j in pair.alignment:
            if pair.source[i] in ("er", "sie", "es"):
                seen.add((pair.source[i], pair.target[j]))
    assert seen == {("er", "he"), ("er", "it"), ("sie", "she"), ("sie", "it"), ("es", "it")}


def test_indefinite_article_before_a_vowel_is_an() -> None:
    for pair in PAIRS:
        for article, word in zip(pair.target, pair.target[1:], strict=False):
            if article in ("a", "an"):
                assert (article == "an") == (word[0] in "aeiou"), pair


def test_the_sentence_of_the_lecture_is_in_the_grammar() -> None:
    grammar, rng = GermanEnglish(), Random(0)
    drawn = {str(grammar.sample(rng, 3)) for _ in range(2000)}
    assert "guten abend . -> good evening ." in drawn


def test_impossible_length_is_refused() -> None:
    with pytest.raises(ValueError, match="length is 2, wanted at least 3"):
        GermanEnglish().sample(Random(0), 2)
