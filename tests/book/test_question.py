"""A question is checked before it is shown."""

from collections import Counter
from copy import deepcopy
from pathlib import Path

import pytest
import torch
import yaml

from course_lib.book.questions import QUESTION, fault_of, options_shown

BOOK = Path(__file__).parents[2] / "book"
GOOD = {
    "stem": "What is it?",
    "options": [
        {"text": "this", "right": True, "why": "It is."},
        {"text": "that", "misconception": "that-is-this", "why": "It is not."},
        {"text": "both", "misconception": "both-are-one", "why": "Neither."},
    ],
}


def test_a_good_question_has_no_fault():
    assert fault_of("what-is-it", GOOD) is None
    assert fault_of("what-is-it", GOOD | {"outcome": "a.b", "order": "kept"}) is None


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda q: q.pop("stem"), "expected the keys"),
        (lambda q: q.update(hint="no"), "expected the keys"),
        (lambda q: q.update(order="sorted"), "expected 'kept'"),
        (lambda q: q["options"].pop(), "three or four"),
        (lambda q: q["options"][1].pop("misconception"), "option 'that'"),
        (lambda q: q["options"][1].pop("why"), "option 'that'"),
        (lambda q: q["options"][0].update(misconception="x"), "option 'this'"),
        (lambda q: q["options"][1].update(misconception="Not A Slug"), "is not a slug"),
        (lambda q: q["options"].append(deepcopy(q["options"][0])), "exactly one right"),
    ],
)
def test_a_spoilt_question_is_refused(spoil, said):
    question = deepcopy(GOOD)
    spoil(question)
    fault = fault_of("what-is-it", question)
    assert fault is not None and said in fault


def test_a_name_is_a_slug():
    assert "lower-case" in str(fault_of("What is it", GOOD))


CHAPTERS = sorted((BOOK / "chapters").glob("*.md"))


def questions(page):
    found = QUESTION.findall(page.read_text(encoding="utf-8"))
    return [(name, yaml.safe_load(text)) for name, text in found]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_every_page_of_a_chapter_asks_good_questions(chapter):
    asked = questions(chapter)
    assert [fault for name, data in asked if (fault := fault_of(name, data))] == []
    assert len({name for name, _ in asked}) == len(asked) >= 2


def test_the_right_places_of_a_page_are_dealt():
    before = Counter()
    deck = [options_shown(GOOD, "book/a", before) for _ in range(6)]
    places = [[bool(o.get("right")) for _, o in shown].index(True) for shown in deck]
    assert sorted(places[:3]) == sorted(places[3:]) == [0, 1, 2]
    for shown in deck:
        assert all(GOOD["options"][number] is option for number, option in shown)
        assert [number for number, _ in shown if number] == [1, 2], "the wrong ones are in order"
    again = Counter()
    assert deck == [options_shown(GOOD, "book/a", again) for _ in range(6)]
    kept = options_shown(GOOD | {"order": "kept"}, "book/a", before)
    assert [number for number, _ in kept] == [0, 1, 2] and before == again


def test_neither_place_nor_length_gives_the_right_option_away():
    places = {3: Counter[int](), 4: Counter[int]()}
    lengths = Counter[str]()
    for page in [BOOK / "intro.md", *CHAPTERS]:
        before = Counter()
        for _, data in questions(page):
            name = page.relative_to(BOOK.parent).with_suffix("").as_posix()
            options = [option for _, option in options_shown(data, name, before)]
            place = [bool(option.get("right")) for option in options].index(True)
            places[len(options)][place] += 1
            characters = [len(str(option["text"])) for option in options]
            right = characters.pop(place)
            lengths["longest"] += right > max(characters)
            lengths["shortest"] += right < min(characters)
    for size, counts in places.items():
        wanted = counts.total() / size
        deviation = sum((counts[place] - wanted) ** 2 / wanted for place in range(size))
        # The upper tail of chi-square with size - 1 degrees of freedom.
        tail = torch.special.gammaincc(torch.tensor((size - 1) / 2), torch.tensor(deviation / 2))
        assert tail > 0.01, f"right places of {size}: {dict(counts)}"
    asked = sum(counts.total() for counts in places.values())
    assert max(lengths.values()) < asked / 2, f"of {asked} right options: {dict(lengths)}"
