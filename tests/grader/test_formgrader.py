"""nbgrader beside this judge: its Autograde with the judge in it, then feedback and Formgrader."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from course_tests.grader.submitted import hand_in
from grader import authoring, sample
from grader.classroom import Classroom
from grader.judge import judge_process
from grader.judge.channel import Limits
from grader.records import gradebook
from grader.review import analysis

NAME = "03_attention"
BIN = Path(sys.executable).parent
ENV = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
WANTED = ("ada-full", "dan-mistaken", "gus-crash")


def class_of_three(course, root, blank_gradebook):
    """Three students of the sample, and an empty file."""
    sample.make(course, authoring.named(root, NAME), lambda s: s in WANTED)
    hand_in(course, "a-empty", "")
    shutil.copy(blank_gradebook, course)
    shutil.copy(root / "nbgrader_config.py", course)
    return course


@pytest.fixture(scope="module")
def graded(tmp_path_factory, root, assignment, blank_gradebook):
    course = class_of_three(tmp_path_factory.mktemp("course"), root, blank_gradebook)
    with gradebook.prepared(course, NAME, assignment.release):
        pass
    config = (root / "nbgrader_config.py").read_text()
    use = "\nfrom grader import formgrader\nformgrader.use(c)\n"
    (course / "nbgrader_config.py").write_text(config + use)
    # As an account that grades would have it: nothing of this may reach students' code.
    env = {**ENV, "JUPYTERHUB_API_TOKEN": "a-token"}
    done = subprocess.run(
        [BIN / "nbgrader", "autograde", NAME, "--create"],
        cwd=course,
        env=env,
        capture_output=True,
        text=True,
    )
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


@pytest.fixture(scope="module")
def course(tmp_path_factory, root, lasting, blank_gradebook):
    """Two of them as the exchange collects them."""
    course = class_of_three(tmp_path_factory.mktemp("course"), root, blank_gradebook)
    for student in WANTED[:2]:
        folder = course / "submitted" / student / NAME
        (folder / "timestamp.txt").write_text("2026-03-01 12:00:00.000000 UTC")
        (folder / "submission_secret.txt").write_text(f"secret of {student}")
    return course, Classroom(course, root, NAME, Limits(cell=30, call=10)).grade(lasting)


def nbgrader(course, *arguments):
    done = subprocess.run(
        [BIN / "nbgrader", *arguments], cwd=course, env=ENV, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.slow
def test_feedback_and_its_release(course, tmp_path):
    folder, _ = course
    ours = {p: p.read_bytes() for p in folder.glob("feedback/*/*/*.html")}
    assert len(ours) == 4
    nbgrader(folder, "generate_feedback", NAME)
    assert ours == {p: p.read_bytes() for p in folder.glob("feedback/*/*/*.html")}
    nbgrader(folder, "release_feedback", NAME, f"--Exchange.root={tmp_path}")
    released = {p.read_bytes() for p in tmp_path.glob("attention/feedback/*.html")}
    assert released == set(ours.values())


SILENT = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@pytest.mark.slow
def test_formgrader_opens_every_submission(course):
    folder, _ = course
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    extension = "{'nbgrader.server_extensions.formgrader': True}"
    command = [sys.executable, "-m", "jupyter", "server", "--allow-root", "--no-browser"]
    command += [f"--port={port}", "--ServerApp.token=test"]
    server = subprocess.Popen(
        [*command, f"--ServerApp.jpserver_extensions={extension}"], cwd=folder, env=ENV, **SILENT
    )

    def get(path):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}?token=test") as answer:
            return answer.read().decode()

    try:
        for _ in range(300):
            try:
                get("/api/status")
                break
            except OSError:
                time.sleep(0.2)
        listed = json.loads(get(f"/formgrader/api/submitted_notebooks/{NAME}/{NAME}"))
        assert {entry["student"] for entry in listed} == set(WANTED)
        for entry in listed:
            page = get(f"/formgrader/submissions/{entry['id']}/")
            assert "attention-scaled_dot_product" in page
    finally:
        server.terminate()
        server.wait()
