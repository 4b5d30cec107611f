"""Another course goes the whole way with the grader: release, check, grade, analyse."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

HERE = Path(__file__).parent
SOURCE = HERE / "tiny_course"
ROOT = HERE.parents[1]
NAME = "01_queries"
RIGHT = """\
def inner_join(left, right):
    index = {}
    for key, b in right:
        index.setdefault(key, []).append(b)
    return [(key, a, b) for key, a in left for b in index.get(key, ())]
"""
FIRST = "def inner_join(left, right):\n    other = dict(reversed(right))\n" + (
    "    return [(key, a, other[key]) for key, a in left if key in other]\n"
)
TAKEN = "from tiny.queries import inner_join\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The course as it would be installed, in a folder of its own."""
    place = tmp_path_factory.mktemp("tiny") / "course"
    shutil.copytree(SOURCE, place, ignore=shutil.ignore_patterns("__pycache__"))
    metadata = place / "tiny_course-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-course\nVersion: 1\n")
    return place


@pytest.fixture(scope="module")
def command(place):
    """Run a command of the grader in the course's folder."""
    environment = {**os.environ, "COURSE_TOML": str(place / "course.toml"), "PYTHONPATH": str(ROOT)}

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "grader.cli", *map(str, arguments)],
            cwd=place, env=environment, capture_output=True, text=True, timeout=900,
        )  # fmt: skip

    return run


@pytest.fixture(scope="module")
def released(place, command):
    made = command("exercises")
    assert made.returncode == 0, made.stderr
    return nbformat.read(place / "exercises" / NAME / f"{NAME}.ipynb", as_version=4)


def hand_in(released, folder, answer):
    """A notebook with an answer in it."""
    notebook = nbformat.from_dict(released)
    (cell,) = (c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("solution"))
    cell.source = answer
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / f"{NAME}.ipynb")
    return folder / f"{NAME}.ipynb"


def test_a_release_says_what_is_asked_and_holds_no_answer(released):
    text = "\n".join(cell.source for cell in released.cells)
    assert "a row without a partner is left out (1)" in text and "raise NotImplementedError" in text
    assert "for key, a in left" not in text and "course_lib" not in text


def test_a_student_is_told_at_home_what_the_grader_says(released, command, tmp_path):
    done = command("check", hand_in(released, tmp_path / "ada", RIGHT), "--json")
    assert json.loads(done.stdout)["points"] == 4, done.stdout + done.stderr


def test_a_class_is_graded_behind_walls_and_analysed(released, command, tmp_path):
    answers = {"ada": RIGHT, "ben": FIRST, "cleo": TAKEN}
    for student, answer in answers.items():
        hand_in(released, tmp_path / "submitted" / student / NAME, answer)
    done = command("grade", NAME, "--course", tmp_path, "--jobs", "1", "--json")
    if "user namespaces" in done.stderr:
        pytest.skip("no walls on this machine")
    assert done.returncode == 0, done.stderr
    pages = {s: (tmp_path / f"feedback/{s}/{NAME}/{NAME}.html").read_text() for s in answers}
    assert "Can a row of the left table have more than one partner?" in pages["ben"]
    assert "tiny.queries is not there while your work is graded" in pages["cleo"]
    done = command("analyse", NAME, "--course", tmp_path, "--dry-run", "--json")
    facts = json.loads(done.stdout)
    assert [row["mistake"] for row in facts["mistakes"]] == ["first partner"]
    shares = {row["requirement"]: round(row["share"], 2) for row in facts["requirements"]}
    assert shares == {"pairs": 0.67, "several": 0.33, "alone": 0.67, "order": 0.33}
