import unicodedata

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


def test_final_consonant_agrees_with_unicode_decomposition() -> None:
    for code in range(0xAC00, 0xD7A4, 7):
        has_final = len(unicodedata.normalize("NFD", chr(code))) == 3
        assert bool(final_consonant(chr(code))) == has_final


@pytest.mark.parametrize(
    ("stem", "final", "expected"),
    [("보", FINAL_N, "본"), ("하", FINAL_B, "합"), ("기다리", FINAL_N, "기다린")],
)
def test_with_final(stem: str, final: int, expected: str) -> None:
    assert with_final(stem, final) == expected


def test_with_final_refuses_a_second_final_consonant() -> None:
    with pytest.raises(ValueError, match="final consonant already"):
        with_final("찾", FINAL_N)


def test_attach_looks_at_the_last_syllable_only() -> None:
    assert attach("사과", "을/를") == "사과를"
    assert attach("그림", "을/를") == "그림을"


@pytest.mark.parametrize("word", ["", "dog"])
def test_words_that_are_not_hangul_are_refused(word: str) -> None:
    with pytest.raises(ValueError, match=f"word is {word!r}, wanted one that ends in a Hangul"):
        final_consonant(word)


def test_romanised_nouns_and_names_stay_distinct() -> None:
    nouns = [n.korean for n in words.PEOPLE + words.ANIMALS + words.THINGS + words.NAMES]
    assert len({romanise(noun) for noun in nouns}) == len(set(nouns)) == len(nouns)


def test_romanise_keeps_other_characters() -> None:
    assert romanise("한글 ABC.") == "hangeul ABC."
