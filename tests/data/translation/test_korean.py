"""The Korean half of the generated corpus, and its letters."""

import unicodedata
from random import Random

import pytest

from course_lib.data.translation import korean_words as words
from course_lib.data.translation.hangul import (
    FINAL_B,
    FINAL_N,
    attach,
    final_consonant,
    romanise,
    with_final,
)
from course_lib.data.translation.korean import KoreanEnglish
from course_tests.refusals import refusals


def sample(n=2000, script="hangul", seed=0):
    grammar, rng = KoreanEnglish(script), Random(seed)
    return [grammar.sample(rng, 3 + i % 20) for i in range(n)]


PAIRS = sample()


def translations(pair, position):
    return [pair.target[j] for i, j in pair.alignment if i == position]


@pytest.mark.parametrize("length", [3, 4, 5, 9, 14, 21, 40])
def test_length_is_exact(length):
    grammar, rng = KoreanEnglish(), Random(length)
    for _ in range(50):
        assert len(grammar.sample(rng, length).source) == length


def test_every_word_of_both_sides_is_aligned():
    for pair in PAIRS:
        assert {i for i, _ in pair.alignment} == set(range(len(pair.source))), pair
        assert {j for _, j in pair.alignment} == set(range(len(pair.target))), pair


def test_the_verb_comes_last_and_moves_to_the_middle():
    for pair in PAIRS:
        if len(pair.source) < 4 or pair.source[-1] == "?" or "," in pair.source:
            continue
        verb = len(pair.source) - 2
        assert pair.source[verb].endswith("니다")
        position = min(j for i, j in pair.alignment if i == verb)
        assert position < len(pair.target) - 1
    crossing = sum(
        any(a[0] < b[0] and a[1] > b[1] for a in p.alignment for b in p.alignment) for p in PAIRS
    )
    assert crossing > 0.8 * len(PAIRS)


def test_english_verbs_agree_with_their_subject():
    first_word = {"i": False, "we": False, "they": False, "he": True, "she": True}
    finite = {v.third.split()[0]: True for v in words.VERBS}
    finite |= {v.english.split()[0]: False for v in words.VERBS}
    seen = set()
    for pair in PAIRS:
        third = first_word.get(pair.target[0])
        if third is None or pair.target[1] not in finite:
            continue
        seen.add(third)
        assert finite[pair.target[1]] == third, pair
    assert seen == {True, False}


def test_own_takes_its_gender_from_the_subject():
    seen = set()
    names = {noun.english: noun.gender for noun in words.NAMES}
    pronouns = {p.english: p.possessive for p in words.PRONOUNS}
    for pair in PAIRS:
        if "자기" not in pair.source or len({",", "and"} & set(pair.target)) > 0:
            continue
        (possessive,) = translations(pair, pair.source.index("자기"))
        subject = (names | pronouns).get(pair.target[0])
        if subject is not None:
            seen.add(possessive)
            assert possessive == subject, pair
    assert {"his", "her", "my"} <= seen


def test_the_sentence_of_the_lecture_is_in_the_grammar():
    grammar, rng = KoreanEnglish("hangul"), Random(0)
    drawn = {str(grammar.sample(rng, 3)) for _ in range(2000)}
    assert "좋은 저녁입니다 . -> good evening ." in drawn


def test_scripts_write_the_same_sentences():
    for hangul, roman in zip(sample(50), sample(50, "roman"), strict=True):
        assert hangul.target == roman.target and hangul.alignment == roman.alignment
        assert all(word.isascii() for word in roman.source)


test_what_does_not_fit_is_refused = refusals(
    (lambda: KoreanEnglish("runes"), "script is 'runes', wanted 'roman' or 'hangul'"),
    (lambda: KoreanEnglish().sample(Random(0), 2), "length is 2, wanted at least 3"),
    (lambda: with_final("찾", FINAL_N), "final consonant already"),
    (lambda: final_consonant(""), "word is '', wanted one that ends in a Hangul"),
    (lambda: final_consonant("dog"), "word is 'dog', wanted one that ends in a Hangul"),
)


def test_final_consonant_agrees_with_unicode_decomposition():
    for code in range(0xAC00, 0xD7A4, 7):
        has_final = len(unicodedata.normalize("NFD", chr(code))) == 3
        assert bool(final_consonant(chr(code))) == has_final


@pytest.mark.parametrize(
    ("stem", "final", "expected"),
    [("보", FINAL_N, "본"), ("하", FINAL_B, "합"), ("기다리", FINAL_N, "기다린")],
)
def test_with_final(stem, final, expected):
    assert with_final(stem, final) == expected


def test_attach_looks_at_the_last_syllable_only():
    assert attach("사과", "을/를") == "사과를"
    assert attach("그림", "을/를") == "그림을"


def test_romanised_nouns_and_names_stay_distinct():
    nouns = [n.korean for n in words.PEOPLE + words.ANIMALS + words.THINGS + words.NAMES]
    assert len({romanise(noun) for noun in nouns}) == len(set(nouns)) == len(nouns)


def test_romanise_keeps_other_characters():
    assert romanise("한글 ABC.") == "hangeul ABC."
