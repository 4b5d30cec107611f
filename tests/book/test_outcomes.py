"""Outcomes that are assessed, and the page for instructors."""

import re
from html import unescape
from pathlib import Path

import pytest

from course_lib.book.outcomes import assessed as asked_for
from course_lib.book.outcomes import load_outcomes, questions
from course_lib.book.teaching import minutes, misconceptions, tasks
from grader import rubrics
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


ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in ROOT.glob("solutions/[0-9][0-9]_*/[0-9][0-9]_*.md"))
PAGE = (ROOT / "book" / "teaching.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^## (\d\d) · .+?\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def test_rows_come_in_the_order_of_the_notebook_with_their_own_points():
    asked = tasks("04_heads", ROOT)
    assert [task.title[:3] for task in asked] == [f"4.{n}" for n in range(1, 8)]
    assert asked[0].exercise is find("heads.split_heads")
    assert (asked[-1].kind, asked[-1].points) == ("in writing", 2.0)
    assert minutes(asked) == sum(t.exercise.minutes for t in asked if t.exercise) > 0


@pytest.mark.parametrize(
    ("name", "number", "kind"),
    [
        ("01_seq2seq", 4, "repair what is given"),
        ("01_seq2seq", 6, "write"),
        ("07_sinusoids", 6, "repair what is given"),
        ("03_attention", 1, "without the library's call"),
    ],
)
def test_a_kind_is_what_the_exercise_shows(name, number, kind):
    assert tasks(name, ROOT)[number - 1].kind == kind


def test_all_banked_mistakes_are_listed_with_their_sentence():
    asked = tasks("03_attention", ROOT)
    bank = misconceptions(asked)
    wanted = [m for task in asked if task.exercise for m in task.exercise.mistakes]
    assert [pair for pairs in bank.values() for pair in pairs] == [(m.name, m.says) for m in wanted]


def test_an_unknown_assignment_is_an_error():
    with pytest.raises(ValueError, match="there is no assignment '99_nothing'"):
        tasks("99_nothing", ROOT)


def test_sections_stand_in_order_and_print_their_own_assignment():
    sections = SECTION.findall(PAGE)
    assert [number for number, _ in sections] == sorted({number for number, _ in sections})
    for number, text in sections:
        named = re.findall(r"^```\{teaching\} (\S+)$", text, re.MULTILINE)
        assert [name[:2] for name in named] == [number]
        assert set(named) <= set(NAMES)


def test_the_directive_prints_table_and_list(tmp_path):
    pytest.importorskip("sphinx")
    from sphinx.testing.util import SphinxTestApp

    for folder in ("book", "solutions"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / "index.md").write_text("# Notes\n\n```{teaching} 04_heads\n```\n")
    (tmp_path / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'book' / '_ext')!r})\n"
        "extensions = ['myst_parser', 'course_teaching']\nexclude_patterns = ['*/*']\n"
    )
    app = SphinxTestApp(srcdir=tmp_path, builddir=tmp_path / "out")
    app.build()
    html = unescape((tmp_path / "out" / "html" / "index.html").read_text()).replace("’", "'")
    app.cleanup()
    assert "Warning" not in app.warning.getvalue()
    task = tasks("04_heads", ROOT)[0]
    assert task.title in html
    for mistake in task.exercise.mistakes:
        assert mistake.name in html
    (rubric,) = rubrics.load(ROOT, "04_heads").values()
    assert all(f"<p>0.5: {criterion.says}</p>" in html for criterion in rubric.criteria)
    assert rubric.note in html
    assert f"<p>{sum(t.points for t in tasks('04_heads', ROOT)):g}</p>" in html
