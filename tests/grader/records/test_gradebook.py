"""What grading leaves in a gradebook, and in records that were written before."""

import json
import shutil
import sqlite3
from datetime import datetime
from pathlib import Path

import pytest

from course_lib.cli import main
from course_lib.experiments import load_record
from course_tests.grader.submitted import hand_in
from grader.base.errors import Refused
from grader.classroom import Classroom
from grader.judge.channel import Limits
from grader.judge.results import read_verdict
from grader.records import gradebook
from grader.records.course_folder import SEEDS

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
    with pytest.raises(ValueError, match="run the same command again"):
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


BEFORE = Path(__file__).with_name("written_before")
EARLIER, STUDENT = "00_start", "dan-mistaken"


def scores(course):
    with gradebook.open_gradebook(course) as book:
        handed_in = book.find_submission(EARLIER, STUDENT)
        return {grade.name: grade.auto_score for grade in handed_in.notebooks[0].grades}


def test_a_class_goes_on_where_it_was_graded_before(tmp_path, root, lasting):
    files = {
        "hand_in.json": f"submitted/{STUDENT}/{EARLIER}/{EARLIER}.ipynb",
        "verdict.json": f"autograded/{STUDENT}/{EARLIER}/verdict.json",
        "seeds.json": SEEDS,
    }
    for name, place in files.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(BEFORE / name, tmp_path / place)
    with sqlite3.connect(tmp_path / "gradebook.db") as database:
        database.executescript((BEFORE / "gradebook.sql").read_text(encoding="utf-8"))
    before = read_verdict(tmp_path / files["verdict.json"])
    assert before and before.score == 9.5
    assert scores(tmp_path) == before.exercises
    # The library has changed since, so everybody is graded again.
    room = Classroom(tmp_path, root, EARLIER, Limits(cell=30, call=10))
    (now,) = room.grade(lasting)
    assert now.fresh and now.reason == "" and now.notes == []
    # Leaving its arguments alone earns nothing any more where nothing else is right, and one slip
    # in a gradient costs less.
    points = before.exercises | {"start-pair_scores": 0.0, "start-loss_gradient": 0.5}
    assert (now.exercises, now.mistakes) == (points, before.mistakes)
    assert scores(tmp_path) == points


def test_a_record_is_read():
    path = BEFORE / "norm-depth/post-12-warm-cpu-3.json"
    record = load_record(path)
    told = json.loads(path.read_text(encoding="utf-8"))
    assert (record.experiment, record.schema) == (told["experiment"], told["schema"])
    assert record.results == told["results"]


@pytest.mark.parametrize(
    "file, content",
    [
        (SEEDS, "{"),
        (SEEDS, "[1]"),
        ("gradebook.db", "x" * 5000),
        ("gradebook.db", "SQLite format 3\0" + "\1" * 99),
    ],
)
def test_a_broken_file_of_the_course_ends_in_a_sentence(
    tmp_path, file, content, capsys, monkeypatch, root
):
    monkeypatch.chdir(root)
    hand_in(tmp_path, "ada", "{}")
    (tmp_path / file).write_text(content)
    asked = ["grade", "03_attention", "--course", str(tmp_path), "--dry-run"]
    if file != SEEDS:
        asked = ["rename", "ada", "ben", "--course", str(tmp_path)]
    assert main(asked) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "damaged" in said and "from a backup" in said


def test_a_folder_that_is_not_there_is_not_made(tmp_path, capsys, monkeypatch, root):
    monkeypatch.chdir(root)
    hand_in(tmp_path, "ada", "{}")
    for folder, code in ((tmp_path / "typo", 2), (tmp_path, 0)):
        assert main(["grade", "03_attention", "--course", str(folder), "--dry-run"]) == code
    assert "typo: no such folder" in capsys.readouterr().err
    assert not (tmp_path / "typo").exists() and not (tmp_path / SEEDS).exists()
