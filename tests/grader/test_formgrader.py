"""nbgrader's own Autograde, with this course's judge in the place of a kernel."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from course_tests.grader.submitted import hand_in
from grader import authoring, sample
from grader.judge import judge_process
from grader.records import gradebook
from grader.review import analysis

NAME = "03_attention"
BIN = Path(sys.executable).parent
WANTED = ("ada-full", "dan-mistaken", "gus-crash")


@pytest.fixture(scope="module")
def graded(tmp_path_factory, root, assignment, blank_gradebook):
    course = tmp_path_factory.mktemp("course")
    sample.make(course, authoring.named(root, NAME), lambda s: s in WANTED)
    hand_in(course, "a-empty", "")
    shutil.copy(blank_gradebook, course)
    with gradebook.prepared(course, NAME, assignment.release):
        pass
    config = (root / "nbgrader_config.py").read_text()
    use = "\nfrom grader import formgrader\nformgrader.use(c)\n"
    (course / "nbgrader_config.py").write_text(config + use)
    # As an account that grades would have it: nothing of this may reach students' code.
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "JUPYTERHUB_API_TOKEN": "a-token"}
    done = subprocess.run(
        [BIN / "nbgrader", "autograde", NAME, "--create"],
        cwd=course, env=env, capture_output=True, text=True,
    )  # fmt: skip
    return course, done.stderr


def test_scores_are_the_judges(graded):
    course, said = graded
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        scores = {s.student.id: s.score for s in book.assignment_submissions(NAME)}
    full = scores.pop("ada-full")
    assert 0 < scores["gus-crash"] < full and 0 < scores["dan-mistaken"] < full, said


def test_a_broken_file_costs_its_own_student_only(graded):
    course, said = graded
    assert "a-empty" in said
    written = sorted(p.parent.parent.name for p in course.glob(f"autograded/*/{NAME}/*.ipynb"))
    assert written == sorted(WANTED)


def test_the_mistake_is_named_in_the_judged_notebook(graded):
    course, _ = graded
    notebook = course / "autograded" / "dan-mistaken" / NAME / f"{NAME}.ipynb"
    assert "looks like a known mistake: unscaled." in notebook.read_text()


def test_what_the_class_has_understood_is_read_from_its_notebooks(graded, root, assignment):
    course, _ = graded
    class_ = analysis.read(course, NAME, {})
    assert sorted(class_) == sorted(WANTED)
    first = assignment.exercises[0]
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        for submission in book.assignment_submissions(NAME):
            if submission.student.id in WANTED:
                answers = class_[submission.student.id]
                assert [*answers] == [e.id for e in assignment.exercises]
                assert sum(a.score for a in answers.values()) == submission.score
    # Of an answer that ended its process nothing holds.
    assert {*class_["gus-crash"][first.id].held.items()} == {
        (p.name, False) for p in first.properties
    }
    (row,) = [m for m in analysis.analyse(course, root)["mistakes"] if m["exercise"] == first.id]
    assert (row["mistake"], row["students"], row["again"]) == ("unscaled", 1, 0)


def test_who_judges_has_no_token_of_a_hub(monkeypatch):
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "a-token")
    monkeypatch.setenv("COURSE_KEPT", "kept")
    counter = judge_process.JudgeProcess()
    counter._start()
    try:
        # Empty for the moment in which the program takes the place of the one that started it.
        seen = Path(f"/proc/{counter._process.pid}/environ")
        while not (environment := seen.read_bytes()) and counter._process.poll() is None:
            time.sleep(0.01)
    finally:
        counter.end()
    assert b"COURSE_KEPT=kept" in environment and b"JUPYTERHUB" not in environment
