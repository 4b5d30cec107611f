"""nbgrader goes on from a course that was graded here: feedback, release, Formgrader."""

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

from course_tests.grader.submitted import hand_in
from grader import authoring, sample
from grader.classroom import Classroom
from grader.judge.channel import Limits

NAME = "03_attention"
BIN = Path(sys.executable).parent
ENV = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
WANTED = ("ada-full", "dan-mistaken", "gus-crash")


@pytest.fixture(scope="module")
def course(tmp_path_factory, root, lasting, blank_gradebook):
    """Three students of the sample, two as the exchange collects them, and an empty file."""
    course = tmp_path_factory.mktemp("course")
    sample.make(course, authoring.named(root, NAME), lambda s: s in WANTED)
    shutil.copy(blank_gradebook, course)
    shutil.copy(root / "nbgrader_config.py", course)
    for student in WANTED[:2]:
        folder = course / "submitted" / student / NAME
        (folder / "timestamp.txt").write_text("2026-03-01 12:00:00.000000 UTC")
        (folder / "submission_secret.txt").write_text(f"secret of {student}")
    hand_in(course, "a-empty", "")
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
