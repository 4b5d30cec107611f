"""A question is checked before it is shown."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("sphinx")
PATH = Path(__file__).parents[2] / "book" / "_ext" / "course_question.py"
GOOD: dict[str, Any] = {
    "stem": "What is it?",
    "options": [
        {"text": "this", "right": True, "why": "It is."},
        {"text": "that", "misconception": "that-is-this", "why": "It is not."},
        {"text": "both", "misconception": "both-are-one", "why": "Neither."},
    ],
}


@pytest.fixture(scope="module")
def fault_of() -> Callable[[str, Any], str | None]:
    spec = importlib.util.spec_from_file_location("course_question", PATH)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.fault_of


def test_a_good_question_has_no_fault(fault_of: Callable[[str, Any], str | None]) -> None:
    assert fault_of("what-is-it", GOOD) is None


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda q: q.pop("stem"), "wanted the keys"),
        (lambda q: q.update(hint="no"), "wanted the keys"),
        (lambda q: q["options"].pop(), "three or four"),
        (lambda q: q["options"][1].pop("misconception"), "option 'that'"),
        (lambda q: q["options"][1].pop("why"), "option 'that'"),
        (lambda q: q["options"][0].update(misconception="x"), "option 'this'"),
        (lambda q: q["options"][1].update(misconception="Not A Slug"), "is not a slug"),
        (lambda q: q["options"].append(deepcopy(q["options"][0])), "exactly one right"),
    ],
)
def test_a_spoilt_question_is_refused(
    fault_of: Callable[[str, Any], str | None], spoil: Callable[[Any], None], said: str
) -> None:
    question = deepcopy(GOOD)
    spoil(question)
    fault = fault_of("what-is-it", question)
    assert fault is not None and said in fault


def test_a_name_is_a_slug(fault_of: Callable[[str, Any], str | None]) -> None:
    assert "lower-case" in str(fault_of("What is it", GOOD))


CHAPTERS = sorted((PATH.parents[1] / "chapters").glob("*.md"))
FENCE = re.compile(r"^```\{question\} (\S+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_every_chapter_asks_four_good_questions(
    fault_of: Callable[[str, Any], str | None], chapter: Path
) -> None:
    questions = FENCE.findall(chapter.read_text(encoding="utf-8"))
    assert [fault for n, text in questions if (fault := fault_of(n, yaml.safe_load(text)))] == []
    assert len({name for name, _ in questions}) == len(questions) >= 4
