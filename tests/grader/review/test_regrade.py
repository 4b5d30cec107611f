"""Grading again: who would move, and nothing published before it is said."""

import json
import shutil

import pytest

from course_lib.cli import main
from course_tests.grader.submitted import hand_in
from grader import authoring, sample
from grader.checks import seeds
from grader.classroom import Classroom
from grader.judge.channel import Limits
from grader.records import gradebook
from grader.review.regrade import Regrade

NAME = "03_attention"
LIMITS = Limits(cell=30, call=10)


@pytest.fixture(scope="module")
def course(tmp_path_factory, root, lasting, blank_gradebook):
    course = tmp_path_factory.mktemp("course")
    sample.make(course, authoring.named(root, NAME), lambda s: s in ("ada-full", "ben-partial"))
    shutil.copy(blank_gradebook, course)
    Classroom(course, root, NAME, LIMITS).grade(lasting)
    return course


@pytest.fixture
def moved(course, assignment):
    """The same, with a score in the gradebook that grading again does not come to."""
    first = assignment.exercises[0]

    def put(score):
        with gradebook.open_gradebook(course) as book:
            grade = book.find_grade(first.grade_id, NAME, NAME, "ada-full")
            grade.auto_score = score
            book.db.commit()

    put(1.0)
    yield course
    put(first.points)


def test_without_a_change_nobody_moves(course, root, lasting, dump):
    before = dump(course)
    again = Regrade(course, root, NAME, LIMITS)
    verdicts = again.staged.grade(lasting)
    assert all(v.fresh for v in verdicts), "it grades again"
    assert again.moves(verdicts) == []
    assert dump(course) == before


def test_moves_are_shown_and_published_only_when_told(
    moved, root, assignment, capsys, monkeypatch, dump
):
    first = assignment.exercises[0]
    monkeypatch.chdir(root)
    before = dump(moved)
    command = ["regrade", NAME, "--course", str(moved), "--jobs", "1"]
    assert main(command) == 0
    said = capsys.readouterr().out
    row = next(line for line in said.splitlines() if line.startswith("ada-full"))
    assert row.split() == ["ada-full", first.grade_id, "1.00", "6.00", "+5.00"]
    assert "1 student moves: 1 up, 0 down" in said and "Nothing was published" in said
    assert dump(moved) == before
    assert main([*command, "--yes", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["published"] and [m["by"] for m in facts["moves"]] == [5.0]
    assert gradebook.scores(moved, NAME)["ada-full"][first.grade_id] == first.points
    assert not (moved / ".regrade" / NAME).exists()


def test_a_new_seed_is_kept_when_published_and_grading_agrees(course, root, monkeypatch, lasting):
    old = Classroom(course, root, NAME).seed
    again = Regrade(course, root, NAME, LIMITS, new_seed=True)
    assert again.staged.seed != old == Classroom(course, root, NAME).seed
    resumed = Regrade(course, root, NAME, LIMITS, new_seed=True)
    assert resumed.staged.seed == again.staged.seed, "a run that was broken off goes on"
    verdicts = resumed.staged.grade(lasting)
    assert resumed.moves(verdicts) == [] and resumed.publish(verdicts) == []
    assert Classroom(course, root, NAME).seed == again.staged.seed
    assert (course / ".grading-seeds.json").stat().st_mode & 0o077 == 0
    assert not any(v.fresh for v in Classroom(course, root, NAME, LIMITS).grade(lasting))
    monkeypatch.setenv(seeds.ENVIRONMENT, "ab")
    with pytest.raises(ValueError, match="unset it"):
        Regrade(course, root, NAME, new_seed=True)


def test_a_submission_that_came_meanwhile_is_left_alone(course, root, assignment, lasting, dump):
    again = Regrade(course, root, NAME, LIMITS)
    verdicts = again.staged.grade(lasting, ["ada-full"])
    hand_in(course, "ada-full", assignment.release)
    before = dump(course)
    assert again.publish(verdicts) == ["ada-full"]
    assert dump(course) == before


def test_another_version_of_the_course_changes_nothing_by_itself(course, root, lasting):
    room = Classroom(course, root, NAME, LIMITS)
    room.engine = "another"
    assert not any(v.fresh for v in room.grade(lasting, ["ben-partial"]))
    assert room.records.verdict("ben-partial").engine != "another"
