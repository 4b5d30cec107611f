"""What an earlier version of the course has written is read, and judged as it was.

``written_before`` holds what commit 464c852 wrote: a hand-in, its verdict, the gradebook and the
seed, and the record of an experiment.
"""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from course_lib.cli import main
from course_lib.experiments import load_record
from course_tests.grader.submitted import hand_in
from grader.classroom import Classroom
from grader.judge.channel import Limits
from grader.judge.results import read_verdict
from grader.records import gradebook
from grader.records.course_folder import SEEDS

BEFORE = Path(__file__).with_name("written_before")
NAME, STUDENT = "00_start", "dan-mistaken"


def scores(course):
    with gradebook.open_gradebook(course) as book:
        handed_in = book.find_submission(NAME, STUDENT)
        return {grade.name: grade.auto_score for grade in handed_in.notebooks[0].grades}


def test_a_class_goes_on_where_it_was_graded_before(tmp_path, root, lasting):
    files = {
        "hand_in.json": f"submitted/{STUDENT}/{NAME}/{NAME}.ipynb",
        "verdict.json": f"autograded/{STUDENT}/{NAME}/verdict.json",
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
    room = Classroom(tmp_path, root, NAME, Limits(cell=30, call=10))
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
