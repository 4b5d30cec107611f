"""Another course goes the whole way, without torch: release, check, grade, analyse."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from grader.checks.samples import Samples

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
NEEDY = "def inner_join(left, right):\n    import torch\n\n    return []\n"
# Imports all of the grader; prints what samples without torch are, and what they refuse.
WHOLE = """\
import importlib
import json
import pkgutil

import grader
from grader.checks.samples import Samples

for module in pkgutil.walk_packages(grader.__path__, "grader."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
samples = Samples(2**63 + 5)
print(json.dumps([samples.integer(low, high) for low, high in RANGES]))
samples.randn(3)
"""
RANGES = [(0, 1), (-5, 90), (7, 7), (0, 2**31), (1, 6)] * 9
# Read by Python as it starts: torch is neither to be imported nor known to be installed.
REFUSING = """\
import importlib.metadata
import sys


class Without:
    @staticmethod
    def find_spec(name, *_):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("refused", name="torch")


def distribution(name, known=importlib.metadata.distribution):
    return known("there-is-none" if name == "torch" else name)


sys.meta_path.insert(0, Without)
importlib.metadata.distribution = distribution
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The course as it would be installed, in a folder of its own."""
    place = tmp_path_factory.mktemp("tiny") / "course"
    shutil.copytree(SOURCE, place, ignore=shutil.ignore_patterns("__pycache__"))
    metadata = place / "tiny_course-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-course\nVersion: 1\n")
    return place


@pytest.fixture(scope="module", params=["refused", pytest.param("new", marks=pytest.mark.slow)])
def python(request, tmp_path_factory):
    """A Python without torch and where it finds modules: this one, or with the grader alone."""
    folder = tmp_path_factory.mktemp("python")
    if request.param == "refused":
        (folder / "sitecustomize.py").write_text(REFUSING)
        return sys.executable, os.pathsep.join([str(folder), str(ROOT)])
    shutil.copytree(ROOT / "grader", folder / "source" / "grader")
    for name in ("pyproject.toml", "README.md"):
        shutil.move(folder / "source" / "grader" / name, folder / "source")
    known = ["-c", ROOT / "constraints.txt"]
    for step in (
        [sys.executable, "-m", "venv", folder / "new"],
        [folder / "new/bin/pip", "install", "--quiet", *known, folder / "source"],
    ):
        subprocess.run(step, check=True)
    return folder / "new/bin/python", ""


@pytest.fixture(scope="module")
def run(place, python):
    """Run Python in the course's folder."""
    executable, path = python
    environment = {**os.environ, "COURSE_TOML": str(place / "course.toml"), "PYTHONPATH": path}

    def run(*arguments):
        return subprocess.run(
            [executable, *map(str, arguments)],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            timeout=900,
        )

    return run


@pytest.fixture(scope="module")
def command(run):
    """Run a command of the grader in the course's folder."""
    return lambda *arguments: run("-m", "grader.cli", *arguments)


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
    answers = {"ada": RIGHT, "ben": FIRST, "cleo": TAKEN, "dan": NEEDY}
    for student, answer in answers.items():
        hand_in(released, tmp_path / "submitted" / student / NAME, answer)
    done = command("grade", NAME, "--course", tmp_path, "--jobs", "1", "--json")
    if "user namespaces" in done.stderr:
        pytest.skip("no walls on this machine")
    assert done.returncode == 0, done.stderr
    pages = {s: (tmp_path / f"feedback/{s}/{NAME}/{NAME}.html").read_text() for s in answers}
    assert "Can a row of the left table have more than one partner?" in pages["ben"]
    assert "tiny.queries is not there while your work is graded" in pages["cleo"]
    assert "No module named" in pages["dan"]
    done = command("analyse", NAME, "--course", tmp_path, "--dry-run", "--json")
    facts = json.loads(done.stdout)
    assert [row["mistake"] for row in facts["mistakes"]] == ["first partner"]
    shares = {row["requirement"]: round(row["share"], 2) for row in facts["requirements"]}
    assert shares == {"pairs": 0.5, "several": 0.25, "alone": 0.5, "order": 0.25}


def test_integers_are_the_same_with_torch_and_tensors_are_refused(run):
    done = run("-c", WHOLE.replace("RANGES", repr(RANGES)))
    samples = Samples(2**63 + 5)
    assert json.loads(done.stdout) == [samples.integer(low, high) for low, high in RANGES]
    last = done.stderr.splitlines()[-1]
    assert last.endswith("torch.randn is needed: pip install 'course-grader[torch]'"), done.stderr
