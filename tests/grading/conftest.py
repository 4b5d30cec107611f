"""One loaded assignment and one kit for all tests of the grader."""

import shutil
from pathlib import Path

import nbformat
import pytest

from course_lib.grading import authoring, gradebook, intake, kit
from course_lib.grading.channel import Limits
from course_lib.grading.classroom import Classroom
from course_lib.grading.judge import judge_notebook
from course_lib.grading.nursery import Nursery

ROOT = Path(__file__).resolve().parents[2]
SEED = "5eed"
ESSAY = "01_essay"
ESSAY_SOURCE = """\
# An essay

```{code-cell} ipython3
from course_lib.checks import check
```

+++ {"nbgrader": {"grade_id": "essay-why", "grade": true, "solution": true, "locked": false, \
"points": 3, "schema_version": 3, "task": false}}

Why?

+++

Thank you.
"""


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def assignment():
    return authoring.load(ROOT / "solutions/03_attention/03_attention.md", ROOT)


@pytest.fixture(scope="session")
def kit_folder(tmp_path_factory):
    return kit.build(tmp_path_factory.mktemp("kits"))


@pytest.fixture(scope="session")
def nursery(kit_folder):
    with Nursery(kit_folder) as nursery:
        yield nursery


class Lasting:
    """A nursery that a class leaves running for the next one."""

    def __init__(self, nursery):
        self.nursery = nursery

    def __getattr__(self, name):
        return getattr(self.nursery, name)

    def end(self):
        pass


@pytest.fixture(scope="session")
def lasting(nursery):
    """What :meth:`Classroom.grade` takes as ``warming``, so that a test needs no own nursery."""
    nursery.ready()
    return Lasting(nursery)


@pytest.fixture(scope="session")
def blank_gradebook(tmp_path_factory):
    """An empty gradebook to copy: nbgrader takes seconds to make one."""
    course = tmp_path_factory.mktemp("blank")
    with gradebook.open_gradebook(course):
        pass
    return course / "gradebook.db"


@pytest.fixture
def judge(assignment, nursery):
    """Judge a notebook given as an object or as bytes."""

    def run(notebook, limits=None):
        content = notebook if isinstance(notebook, bytes) else nbformat.writes(notebook).encode()
        submission = intake.parse(content)
        limits = limits or Limits(cell=20, call=10)
        return judge_notebook(submission, assignment.release, SEED, nursery, limits)

    return run


@pytest.fixture
def solved(assignment):
    """A fresh copy of the solution notebook."""
    return nbformat.from_dict(assignment.solution)


def cell_of(notebook, grade_id):
    return next(
        c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    )


@pytest.fixture
def first(assignment):
    """The first exercise of the assignment."""
    return assignment.exercises[0]


@pytest.fixture
def answer(solved, first):
    """Replace the first answer of the solution notebook."""

    def put(source):
        cell_of(solved, f"{first.grade_id}-solution").source = source
        return solved

    return put


@pytest.fixture
def others(assignment, first):
    """Points of all exercises but the first."""
    return assignment.automatic - first.points


@pytest.fixture(scope="session")
def checkout(tmp_path_factory, root):
    """A checkout whose one assignment is an essay, graded by hand."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("pyproject.toml", "nbgrader_config.py"):
        (folder / name).write_text((root / name).read_text())
    source = folder / "solutions" / ESSAY / f"{ESSAY}.md"
    source.parent.mkdir(parents=True)
    source.write_text(ESSAY_SOURCE)
    return folder


@pytest.fixture
def essay(tmp_path, checkout, lasting, blank_gradebook):
    """Hand in an essay, grade it, and read its row."""
    release = authoring.load(checkout / "solutions" / ESSAY / f"{ESSAY}.md", checkout).release
    folder = tmp_path / "submitted" / "ada" / ESSAY
    folder.mkdir(parents=True)
    shutil.copy(blank_gradebook, tmp_path)

    class Desk:
        course = tmp_path

        def hand_in(self, text, **files):
            notebook = nbformat.from_dict(release)
            for cell in notebook.cells:
                if cell.metadata.get("nbgrader", {}).get("grade_id") == "essay-why":
                    cell.source = text or cell.source
            (folder / f"{ESSAY}.ipynb").write_text(nbformat.writes(notebook))
            for name, content in files.items():
                (folder / f"{name}.txt").write_bytes(content)

        def grade(self, **options):
            room = Classroom(tmp_path, checkout, ESSAY, Limits(cell=20), **options)
            return room.grade(warming=lasting)[0]

        def row(self, change=None):
            with gradebook.open_gradebook(tmp_path) as book:
                row = book.find_grade("essay-why", ESSAY, ESSAY, "ada")
                if change:
                    change(row)
                    book.db.commit()
                return row.auto_score, row.manual_score, row.needs_manual_grade

    return Desk()
