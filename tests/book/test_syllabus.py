"""A term's plan: whole chapters in order, even weeks, dates that can be handed to nbgrader."""

import json
import re
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from course_lib.book import syllabus
from course_lib.cli import main
from course_lib.drawings import start

ROOT = Path(__file__).resolve().parents[2]
START = date(2026, 10, 12)


@pytest.fixture(scope="module")
def book():
    return syllabus.chapters(ROOT)


def numbers(weeks):
    return [[c.number for c in week.chapters] for week in weeks]


def test_every_chapter_says_what_a_plan_needs(book):
    assert [c.number for c in book] == [f"{n:02}" for n in range(20)]
    assert all(30 <= c.reading <= 250 and c.work > 0 and c.title and c.goal for c in book)
    assert all(c.points > 0 for c in book[1:]) and book[0].points == 0
    for chapter in book:
        assert all(needed < chapter.number for needed in chapter.needs), chapter.name


def test_the_core_set_has_all_that_it_needs_and_no_more(book):
    core = syllabus.core(book)
    names = {c.number for c in core}
    assert {"09", "12"} <= names < {c.number for c in book}
    assert all(set(c.needs) <= names for c in core)
    for chapter in core:
        needed = {n for c in core if c is not chapter for n in c.needs}
        assert chapter.number in needed | {"09", "12"}, "nobody needs it"


def test_the_drawn_way_is_that_of_the_book(book):
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    toc = [part for part in toc[1:] if "/chapters/" in part["chapters"][0]["file"]]
    drawn = [(part.title, list(part.chapters)) for part in start.PARTS]
    numbered = [
        (
            part["caption"],
            sorted({int(page["file"].rpartition("/")[2][:2]) for page in part["chapters"]}),
        )
        for part in toc
    ]
    assert drawn == numbered
    core = syllabus.core(book)
    assert [int(c.number) for c in core] == list(start.CORE)
    told = [(start.CORE_HOURS, core)]
    told += [(part.hours, [book[n] for n in part.chapters]) for part in start.PARTS]
    for hours, some in told:
        assert abs(60 * hours - sum(c.total for c in some)) <= 60 + 2 * len(some), (hours, some)
    share = sum(c.reading for c in book) / sum(c.total for c in book)
    assert 0.28 < share < 0.39, "a third of the hours is for reading"


def test_fifteen_weeks_hold_all_chapters_in_order(book):
    weeks = syllabus.plan(book, 15, START)
    assert [number for week in numbers(weeks) for number in week] == [c.number for c in book]
    assert [w.number for w in weeks] == list(range(1, 16)) and all(w.chapters for w in weeks)
    assert weeks[2].starts == START + timedelta(weeks=2)
    assert weeks[2].due.replace(tzinfo=None) == datetime(2026, 11, 1, 23, 59)


def test_the_hour_is_meant_where_the_course_is(book):
    summer, winter = (syllabus.plan(book, 15, START, zone="Europe/Berlin")[i].due for i in (0, 9))
    assert (summer.utcoffset(), winter.utcoffset()) == (timedelta(hours=2), timedelta(hours=1))


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"weeks": 0}, "at least 1"),
        ({"weeks": 15, "zone": "Mars/Olympus"}, "no time zone 'Mars/Olympus'"),
        ({"weeks": 15, "zone": "../../etc/passwd"}, "no time zone"),
        ({"weeks": 20, "start": date(9999, 12, 30)}, "lead out of the calendar"),
        ({"weeks": 10**12}, "lead out of the calendar"),
        ({"weeks": 1, "start": date.min}, "lead out of the calendar"),
    ],
)
def test_what_cannot_be_planned_is_said(book, asked, says):
    with pytest.raises(ValueError, match=says):
        syllabus.plan(book, **{"start": START, **asked})


def test_a_chapter_without_its_head_is_named(tmp_path):
    page = tmp_path / "book/chapters/01_new.md"
    page.parent.mkdir(parents=True)
    page.write_text("# 1 · New\n\n**Goal.** To be.\\\n**Needs.** Nothing.\\\n")
    with pytest.raises(ValueError, match="01_new.md: no line with its minutes"):
        syllabus.chapters(tmp_path)


def test_a_second_page_adds_its_minutes_to_its_chapter(book):
    pages = (ROOT / "book" / "chapters").glob("08_*.md")
    minutes = [int(syllabus.MINUTES.search(page.read_text())[1]) for page in pages]
    assert len(minutes) == 3
    assert [c.reading for c in book if c.number == "08"] == [sum(minutes)]


@pytest.mark.parametrize("place", range(1, 20))
def test_a_page_counts_the_answers_in_writing_too(book, place):
    name = book[place].name
    page = (ROOT / f"book/chapters/{name}.md").read_text()
    solution = (ROOT / f"solutions/{name}/{name}.md").read_text()
    written = re.findall(r"by a person · about (\d+|an hour)", solution)
    total = book[place].work + sum(60 if w == "an hour" else int(w) for w in written)
    (said,) = re.findall(r"(\d+) for the assignment", page)
    assert abs(int(said) - total) <= 5


def test_the_command_prints_a_table_and_speaks_json(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(["syllabus", "--start", "2026-10-12"]) == 0
    said = capsys.readouterr().out
    assert "| 2 | 2026-10-19 | 02 Attention as lookup" in said
    assert said.splitlines()[-1].startswith("20 chapters, 15 deadlines, ")
    assert main(["syllabus", "--start", "2026-10-12", "--core", "--weeks", "12", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["chapters"] == 12 and len(facts["weeks"]) == 12
    goals = [chapter["goal"] for week in facts["weeks"] for chapter in week["chapters"]]
    assert not any("](" in goal for goal in goals), "a link leads nowhere outside the book"
    assert main(["syllabus", "--start", "2026-10-12", "--weeks", "0"]) == 2
    assert "at least 1" in capsys.readouterr().err
    for bad in ("12.10.2026", "2026-02-30", ""):
        with pytest.raises(SystemExit):
            main(["syllabus", "--start", bad])
        assert "is not a day" in capsys.readouterr().err


def test_due_dates_reach_the_gradebook_and_extensions_stay(tmp_path, capsys, monkeypatch):
    from grader.records.gradebook import open_gradebook

    monkeypatch.chdir(ROOT)
    asked = ["syllabus", "--start", "2026-10-12", "--zone", "Europe/Berlin", "--set-due"]
    assert main([*asked, "--course", str(tmp_path)]) == 0
    with open_gradebook(tmp_path) as book:
        assert len(book.assignments) == 19, "the rehearsal has no due date"
        assert book.find_assignment("06_block").duedate == datetime(2026, 11, 15, 22, 59)
        book.add_student("ada")
        book.add_submission("06_block", "ada")
        book.grant_extension("06_block", "ada", days=2)
    assert main([*asked, "--course", str(tmp_path), "--weeks", "20"]) == 0
    with open_gradebook(tmp_path) as book:
        submission = book.find_submission("06_block", "ada")
        assert submission.duedate == datetime(2026, 11, 24, 22, 59)


def test_the_instructors_page_shows_one():
    page = (ROOT / "book" / "instructors_term.md").read_text(encoding="utf-8")
    assert "```{syllabus} 2026-10-12 15\n" in page
    weeks = syllabus.plan(syllabus.chapters(ROOT), 15, START)
    assert all(len(row) == len(syllabus.HEADINGS) for row in syllabus.rows(weeks))
    core = {12: "twelve"}[len(syllabus.core(syllabus.chapters(ROOT)))]
    assert f"{core} chapters remain" in page
