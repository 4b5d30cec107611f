"""The instructor's notes say of every assignment what its exercises say."""

import re
from html import unescape
from pathlib import Path

import pytest

from course_lib.book.teaching import minutes, misconceptions, tasks
from grader import rubrics
from grader.checks.exercise import find

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
