from collections import Counter
from random import Random

import pytest

from course_lib.data.translation import korean_words as words
from course_lib.data.translation.korean import KoreanEnglish
from course_lib.data.translation.pairs import SentencePair


def sample(n: int = 2000, script: str = "hangul", seed: int = 0) -> list[SentencePair]:
    grammar, rng = KoreanEnglish(script), Random(seed)
    return [grammar.sample(rng, 3 + i % 20) for i in range(n)]


PAIRS = sample()


def find(source: str) -> SentencePair:
    """A pair that holds the source words ``source`` in a row."""
    wanted = source.split()
    for pair in PAIRS:
        for i in range(len(pair.source)):
            if list(pair.source[i : i + len(wanted)]) == wanted:
                return pair
    raise AssertionError(f"no sentence holds {source!r}")


def translations(pair: SentencePair, position: int) -> list[str]:
    return [pair.target[j] for i, j in pair.alignment if i == position]


@pytest.mark.parametrize("length", [3, 4, 5, 9, 14, 21, 40])
def test_length_is_exact(length: int) -> None:
    grammar, rng = KoreanEnglish(), Random(length)
    for _ in range(50):
        assert len(grammar.sample(rng, length).source) == length


def test_every_word_of_both_sides_is_aligned() -> None:
    for pair in PAIRS:
        assert {i for i, _ in pair.alignment} == set(range(len(pair.source))), pair
        assert {j for _, j in pair.alignment} == set(range(len(pair.target))), pair


def test_alignment_has_one_to_one_one_to_many_and_many_to_one() -> None:
    kinds = set()
    for pair in PAIRS:
        sources, targets = (
            Counter(i for i, _ in pair.alignment),
            Counter(j for _, j in pair.alignment),
        )
        kinds |= {(min(sources[i], 2), min(targets[j], 2)) for i, j in pair.alignment}
    assert {(1, 1), (2, 1), (1, 2)} <= kinds


def test_the_verb_comes_last_and_moves_to_the_middle() -> None:
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


def test_english_verbs_agree_with_their_subject() -> None:
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


def test_korean_verbs_agree_with_honoured_subjects() -> None:
    """께서 and 시 come together: one without the other would be an error of agreement."""
    for pair in PAIRS:
        clauses = " ".join(pair.source).replace(" , ", "|")
        if "고" in clauses or "|" in clauses:
            continue
        honoured = "께서" in clauses
        verb = pair.source[-2]
        if honoured:
            assert "시" in verb or "셨" in verb or "십" in verb, pair


def test_own_takes_its_gender_from_the_subject() -> None:
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


def test_questions_put_do_first() -> None:
    questions = [pair for pair in PAIRS if pair.source[-1] == "?"]
    assert len(questions) > 100
    for pair in questions:
        assert pair.target[0] in ("do", "does", "did")
        assert (len(pair.source) - 2, 0) in pair.alignment


def test_a_light_verb_is_two_words_for_one() -> None:
    pair = find("공부를 하고")
    start = pair.source.index("공부를")
    (verb,) = translations(pair, start)
    assert verb in ("study", "studies", "studied")
    assert translations(pair, start + 1)[0] == verb


def test_a_counter_and_its_number_are_two_words_for_one() -> None:
    pair = find("개 두")
    start = pair.source.index("개")
    assert translations(pair, start) == ["dogs"]
    assert translations(pair, start + 1) == ["two"]
    assert translations(pair, start + 2)[0] == "two"


def test_one_word_may_be_two_in_english() -> None:
    pair = find("매일")
    assert translations(pair, pair.source.index("매일")) == ["every", "day"]


def test_the_sentence_of_the_lecture_is_in_the_grammar() -> None:
    grammar, rng = KoreanEnglish("hangul"), Random(0)
    drawn = {str(grammar.sample(rng, 3)) for _ in range(2000)}
    assert "좋은 저녁입니다 . -> good evening ." in drawn


def test_names_get_rarer() -> None:
    counts = Counter(word for pair in PAIRS for word in pair.target)
    names = [counts[noun.english] for noun in words.NAMES]
    assert names[0] > 5 * names[-1]


def test_scripts_write_the_same_sentences() -> None:
    for hangul, roman in zip(sample(50), sample(50, "roman"), strict=True):
        assert hangul.target == roman.target and hangul.alignment == roman.alignment
        assert all(word.isascii() for word in roman.source)


def test_unknown_script_and_impossible_length_are_refused() -> None:
    with pytest.raises(ValueError, match="script is 'runes', wanted 'roman' or 'hangul'"):
        KoreanEnglish("runes")
    with pytest.raises(ValueError, match="length is 2, wanted at least 3"):
        KoreanEnglish().sample(Random(0), 2)
