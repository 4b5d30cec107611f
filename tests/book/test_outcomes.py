"""What the chapters promise is assessed, and what assesses names a promise."""

from pathlib import Path

import pytest

from course_lib.book.outcomes import assessed as asked_for
from course_lib.book.outcomes import load_outcomes, questions
from course_lib.book.teaching import tasks
from grader.checks.exercise import find, identifiers

BOOK = Path(__file__).parents[2] / "book"


@pytest.fixture(scope="module")
def outcomes():
    return load_outcomes(BOOK.parent)


@pytest.fixture(scope="module")
def assessed():
    found = {identifier: find(identifier).outcomes for identifier in identifiers()}
    for page in (BOOK / "chapters").glob("*.md"):
        for name, outcome in questions(page).items():
            if outcome:
                found[f"question {name}"] = (outcome,)
    return found


def test_a_chapter_has_three_to_five_outcomes_and_an_id_is_used_once(outcomes):
    every = [i for chapter in outcomes.values() for i in chapter]
    assert len(every) == len(set(every))
    for chapter, sentences in outcomes.items():
        assert 3 <= len(sentences) <= 5, chapter
        assert len({i.split(".")[0] for i in sentences}) == 1, chapter
        assert all(s[0].isupper() and s.endswith(".") for s in sentences.values()), chapter


def test_every_outcome_has_an_exercise_or_a_question(outcomes, assessed):
    named = {i for ids in assessed.values() for i in ids}
    assert not [i for chapter in outcomes.values() for i in chapter if i not in named]


def test_the_page_shows_for_each_outcome_what_asks_for_it():
    every = [one for outcomes in asked_for(BOOK.parent).values() for one in outcomes]
    assert not [one.id for one in every if not one.questions and not one.exercises]


def test_nothing_assesses_an_unknown_outcome(outcomes, assessed):
    known = {i for chapter in outcomes.values() for i in chapter}
    assert not {who: ids for who, ids in assessed.items() if set(ids) - known}


def test_an_exercise_names_an_outcome_of_the_chapter_that_sets_it(outcomes):
    """The page that helps with it may belong to another chapter."""
    for folder in sorted((BOOK.parent / "solutions").glob("[0-9][0-9]_*")):
        own = outcomes.get(int(folder.name[:2]), {})
        for task in tasks(folder.name, BOOK.parent):
            if own and task.exercise:
                assert set(task.exercise.outcomes) & set(own), task.exercise.id


def test_the_page_of_outcomes_names_every_question_and_exercise_once():
    found = [o for chapter in asked_for(BOOK.parent).values() for o in chapter]
    listed = [name for o in found for _, name in o.questions]
    pages = (BOOK / "chapters").glob("*.md")
    assert sorted(listed) == sorted(name for page in pages for name in questions(page))
    assert len(set(listed)) == len(listed), "a browser keeps answers by the names of questions"
    assert sorted(name for o in found for _, name, _ in o.exercises) == sorted(identifiers())
