"""What people wrote stays; what grading writes is written whole, and any number of times."""

import sqlite3
from datetime import datetime

import pytest

from course_lib.cli import main
from grader.base.errors import Refused
from grader.records import gradebook

NAME = "01_essay"


def score_by_hand(row):
    row.manual_score, row.needs_manual_grade = 2.5, False


def test_an_answer_scored_by_hand_is_flagged_again_when_it_changes(essay):
    essay.hand_in("Because.")
    assert essay.grade().exercises == {"essay-why": None}
    assert essay.row() == (None, None, True)
    assert essay.row(score_by_hand) == (None, 2.5, False)
    essay.grade(follow=True)
    essay.hand_in("Because.", timestamp=b"2026-03-01 12:00:00 UTC")
    assert essay.grade().fresh
    assert essay.row() == (None, 2.5, False), "the same answer needs no second look"
    essay.hand_in("Because of the variance.")
    essay.grade()
    assert essay.row() == (None, 2.5, True), "another answer does, and the old score is kept"
    essay.hand_in("Because of the variance.", timestamp=b"2026-03-02 12:00:00 UTC")
    essay.grade()
    assert essay.row() == (None, 2.5, True), "until a person has looked"


def test_an_unreadable_submission_in_between_changes_nothing_of_that(essay):
    essay.hand_in("Because.")
    essay.grade()
    essay.row(score_by_hand)
    path = essay.course / "submitted" / "ada" / NAME / f"{NAME}.ipynb"
    path.write_text("not a notebook")
    assert essay.grade().reason
    assert essay.row() == (None, 2.5, False)
    essay.hand_in("Because.")
    essay.grade()
    assert essay.row() == (None, 2.5, False)


def test_where_it_is_not_known_what_was_scored_a_person_looks(essay):
    essay.hand_in("Because.")
    essay.grade()
    essay.row(score_by_hand)
    (essay.course / "autograded" / "ada" / NAME / "verdict.json").unlink()
    essay.grade()
    assert essay.row() == (None, 2.5, True)


def test_nothing_written_is_nothing_to_read(essay):
    essay.hand_in("")
    assert essay.grade().score == 0
    assert essay.row() == (0.0, None, False)
    with gradebook.open_gradebook(essay.course) as book:
        comment = book.find_comment("essay-why", NAME, NAME, "ada")
        assert comment.auto_comment == "No response."


def test_the_time_of_submission_is_written_and_lateness_follows(essay):
    essay.hand_in("Because.", timestamp=b"2026-03-01 12:00:00.5 +0200", submission_secret=b"s")
    essay.grade()
    with gradebook.open_gradebook(essay.course) as book:
        book.update_or_create_assignment(NAME, duedate="2026-03-01 09:00:00")
        submission = book.find_submission(NAME, "ada")
        assert submission.timestamp == datetime(2026, 3, 1, 10, 0, 0, 500000)
        assert submission.total_seconds_late == 3600.5
    for folder in ("autograded", "feedback"):
        there = essay.course / folder / "ada" / NAME
        assert (there / "timestamp.txt").exists() and (there / "submission_secret.txt").exists()
    essay.hand_in("Because!", timestamp=b"soon")
    verdict = essay.grade()
    assert "`timestamp.txt` cannot be read" in verdict.look and verdict.score is not None
    with gradebook.open_gradebook(essay.course) as book:
        assert book.find_assignment(NAME).duedate == datetime(2026, 3, 1, 9)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"9" * 500, b"12:00 12:00 12:00 x", b"0"])
def test_no_bad_timestamp_stops_anything(essay, content):
    essay.hand_in("Because.", timestamp=content)
    assert essay.grade().score is not None


def test_writing_twice_is_writing_once_and_a_failure_writes_nothing(essay, dump):
    essay.hand_in("Because.")
    essay.grade()
    essay.row(score_by_hand)
    before = dump(essay.course)
    with gradebook.open_gradebook(essay.course) as book:
        gradebook.write(book, NAME, "ada", {"essay-why": None}, changed=[])
    assert dump(essay.course) == before
    with gradebook.open_gradebook(essay.course) as book, pytest.raises(KeyError):
        gradebook.write(book, NAME, "ben", {"essay-why": 1.0, "nothing": 1.0}, changed=[])
    assert dump(essay.course) == before, "not even the student"


def test_another_database_by_its_address(essay, tmp_path):
    address = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    essay.hand_in("Because.")
    essay.grade(db=address)
    assert gradebook.scores(tmp_path, NAME, address) == {"ada": {"essay-why": None}}
    assert gradebook.scores(tmp_path, NAME) == {}
    with pytest.raises(ValueError, match="no database address"):
        essay.grade(db="elsewhere.db")


def test_a_database_that_is_held_is_said_to_be(essay, monkeypatch):
    essay.hand_in("Because.")
    essay.grade()
    monkeypatch.setattr(gradebook, "PATIENCE", 0.1)
    holder = sqlite3.connect(essay.course / "gradebook.db")
    holder.execute("BEGIN EXCLUSIVE")
    essay.hand_in("Because of that.")
    with pytest.raises(ValueError, match="the same command goes on"):
        essay.grade()
    holder.close()
    assert essay.grade().fresh


def test_what_a_database_says_is_said_however_nbgrader_wraps_it(essay, capfd):
    essay.hand_in("Because.")
    essay.grade()
    address = f"sqlite:///file:{essay.course / 'gradebook.db'}?mode=ro&uri=true"
    with pytest.raises(Refused, match="readonly database. Make it and its folder writable"):
        gradebook.set_due(essay.course, {NAME: datetime(2026, 10, 18)}, address)
    assert "Traceback" not in capfd.readouterr().err


def test_a_gradebook_moves_where_no_environment_is_activated(tmp_path, monkeypatch, essay, capsys):
    """nbgrader asks `alembic` in the PATH how a new gradebook is marked; here nothing is asked."""
    essay.hand_in("Because.")
    essay.grade()
    monkeypatch.setenv("PATH", "")
    source, target = str(essay.course / "gradebook.db"), tmp_path / "new.db"
    # A run that was ended before has made the tables, and not said of which version.
    with sqlite3.connect(source) as old, sqlite3.connect(target) as new:
        for (made,) in old.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"):
            if "alembic" not in made:
                new.execute(made)
    for address in (f"sqlite:///{target}", f"sqlite:///{tmp_path / 'other.db'}"):
        assert main(["migrate", source, address]) == 0
        assert "rows copied to" in capsys.readouterr().out
    broken = tmp_path / "broken.db"
    broken.write_text("no gradebook")
    assert main(["migrate", str(broken), str(tmp_path / "third.db")]) == 2
    said = capsys.readouterr().err
    assert "broken.db: file is not a database" in said and "third.db" not in said
