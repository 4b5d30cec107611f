"""One loaded assignment and one kit for all tests of the grader."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import nullcontext
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest

from course_lib.cli import main
from course_tests.grader.submitted import hand_in
from grader import authoring, sample
from grader.checks import seeds
from grader.classroom import Classroom
from grader.intake import parsing
from grader.judge import pool
from grader.judge.channel import Limits
from grader.judge.forkserver import ForkServer
from grader.judge.judge import judge_notebook
from grader.judge.pool import Pool
from grader.records import gradebook

ROOT = Path(__file__).resolve().parents[2]
# Its modules are run by the test beside it.
collect_ignore = ["tiny_course"]
SEED = "5eed"
NAME = "03_attention"
ESSAY = "01_essay"
ESSAY_SOURCE = """\

```{code-cell} ipython3
from grader.checks import check
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
def seed():
    return SEED


@pytest.fixture(scope="session")
def assignment():
    return authoring.load(ROOT / "solutions" / NAME / f"{NAME}.md", ROOT)


@pytest.fixture(scope="session")
def kits(tmp_path_factory):
    return tmp_path_factory.mktemp("kits")


@pytest.fixture(scope="session")
def forkserver(kits):
    with ForkServer(kits) as forkserver:
        yield forkserver


class Lasting:
    """A fork server that a class leaves running for the next one."""

    def __init__(self, forkserver):
        self.forkserver = forkserver

    def __getattr__(self, name):
        return getattr(self.forkserver, name)

    def end(self):
        pass


@pytest.fixture(scope="session")
def lasting(forkserver):
    """Judges for :meth:`Classroom.grade`: a test needs no fork server of its own."""
    forkserver.ready()
    return Pool(lambda: Lasting(forkserver))


@pytest.fixture(scope="session")
def blank_gradebook(tmp_path_factory):
    """An empty gradebook to copy: nbgrader takes seconds to make one."""
    course = tmp_path_factory.mktemp("blank")
    with gradebook.open_gradebook(course):
        pass
    return course / "gradebook.db"


@pytest.fixture
def judge(assignment, forkserver):
    def run(notebook, limits=None):
        content = notebook if isinstance(notebook, bytes) else nbformat.writes(notebook).encode()
        submission = parsing.parse(content)
        limits = limits or Limits(cell=20, call=10)
        return judge_notebook(submission, assignment.release, SEED, forkserver, limits)

    return run


@pytest.fixture
def solved(assignment):
    return nbformat.from_dict(assignment.solution)


def cell_of(notebook, grade_id):
    return next(
        c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    )


@pytest.fixture
def first(assignment):
    return assignment.exercises[0]


@pytest.fixture
def answer(solved, first):
    def put(source):
        cell_of(solved, f"{first.grade_id}-solution").source = source
        return solved

    return put


@pytest.fixture
def others(assignment, first):
    return assignment.automatic - first.points


@pytest.fixture(scope="session")
def checkout(tmp_path_factory, root):
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("pyproject.toml", "nbgrader_config.py"):
        (folder / name).write_text((root / name).read_text())
    source = folder / "solutions" / ESSAY / f"{ESSAY}.md"
    source.parent.mkdir(parents=True)
    source.write_text(ESSAY_SOURCE)
    return folder


@pytest.fixture
def essay(tmp_path, checkout, lasting, blank_gradebook):
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
            return room.grade(lasting)[0]

        def row(self, change=None):
            with gradebook.open_gradebook(tmp_path) as book:
                row = book.find_grade("essay-why", ESSAY, ESSAY, "ada")
                if change:
                    change(row)
                    book.db.commit()
                return row.auto_score, row.manual_score, row.needs_manual_grade

    return Desk()


class Run:
    def __init__(self, process, course):
        self.process, self.course = process, course

    def verdicts(self):
        return len(list(self.course.glob("autograded/*/*/verdict.json")))

    def reach(self, many):
        while self.verdicts() < many:
            assert self.process.poll() is None, self.process.stderr.read()
            time.sleep(0.02)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def finished(self, wanted=0):
        said, self.complaint = self.process.communicate(timeout=500)
        assert self.process.returncode == wanted, self.complaint
        return json.loads(said) if wanted == 0 else self.complaint


@pytest.fixture
def grading(root):
    running = []

    def start(course, *more, on=(), **environment):
        command = [*on, sys.executable, "-m", "course_lib.cli", "grade", NAME, "--json"]
        environment = {**os.environ, seeds.ENVIRONMENT: SEED, **environment}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen(
            [*command, "--course", str(course), *more], cwd=root, env=environment, **pipes
        )
        running.append(Run(process, course))
        return running[-1]

    yield start
    for run in running:
        run.kill()


@pytest.fixture
def grade_here(lasting, root, monkeypatch, capsys):
    """Grade as the command does, in this process and by judges that are there."""
    monkeypatch.chdir(root)
    monkeypatch.setenv(seeds.ENVIRONMENT, SEED)
    monkeypatch.setattr(pool, "of_course", lambda *_, **__: nullcontext(lasting))

    def grade(course, *more, wanted=0):
        code = main(["grade", NAME, "--json", "--course", str(course), *more])
        said = capsys.readouterr()
        assert code == wanted, said
        return said.err if wanted else json.loads(said.out)

    return grade


def canonical_dump(course, db=""):
    """All that grading a course comes to, as sorted JSON: two runs are equal when their dumps are.

    Holds every submission's scores, comments, extra credit and penalties, whoever gave them, and
    the hashes of all autograded notebooks and pages of feedback.
    """
    with gradebook.open_gradebook(course, db) as book:
        submissions = {
            f"{submission.student.id}/{assignment.name}/{notebook.name}": _row(notebook)
            for assignment in book.assignments
            for submission in assignment.submissions
            for notebook in submission.notebooks
        }
    patterns = ("autograded/*/*/*.ipynb", "feedback/*/*/*.html")
    files = {
        str(path.relative_to(course)): hashlib.sha256(path.read_bytes()).hexdigest()
        for pattern in patterns
        for path in course.glob(pattern)
    }
    return json.dumps({"submissions": submissions, "files": files}, indent=1, sort_keys=True)


def _row(notebook):
    grades = ("auto_score", "manual_score", "extra_credit", "needs_manual_grade")
    comments = ("auto_comment", "manual_comment")
    return {
        "submitted": str(notebook.assignment.timestamp),
        "late_submission_penalty": notebook.late_submission_penalty,
        "grades": {g.cell.name: {k: getattr(g, k) for k in grades} for g in notebook.grades},
        "comments": {c.cell.name: {k: getattr(c, k) for k in comments} for c in notebook.comments},
    }


@pytest.fixture(scope="session")
def dump():
    return canonical_dump


class Crowd(NamedTuple):
    course: Path
    names: list[str]

    def copied(self, folder):
        return Path(shutil.copytree(self.course, folder / "course"))


@pytest.fixture(scope="session")
def crowd(tmp_path_factory, assignment, blank_gradebook):
    """Ten submissions of several kinds."""
    course = tmp_path_factory.mktemp("crowd") / "course"
    kinds = [n for s, n in sample.submissions(assignment) if s not in ("gus-crash", "hal-cheat")]
    names = [f"s{number}" for number in range(10)]
    for student, notebook in zip(names, islice(cycle(kinds), len(names)), strict=True):
        hand_in(course, student, notebook)
    shutil.copy(blank_gradebook, course)
    return Crowd(course, names)


@pytest.fixture(scope="session")
def undisturbed(crowd, tmp_path_factory, root, lasting):
    """What one machine makes of the crowd."""
    alone = crowd.copied(tmp_path_factory.mktemp("alone"))
    Classroom(alone, root, NAME, seed=SEED).grade(lasting)
    return canonical_dump(alone)


class Machines:
    """A scheduler and workers, each a command of its own; `on` is what enters another host."""

    def __init__(self, folder):
        self.folder, self.workers, self.scheduler = folder, [], None
        # A worker that has not been heard of for so long is taken for gone.
        self.environment = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "8s"}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"

    def start(self, *, on=()):
        host, port = self.address.removeprefix("tcp://").split(":")
        self.scheduler = self._run(on, "scheduler", "--host", host, "--port", port)

    def hire(self, *, on=()):
        worker = self._run(
            on, "worker", self.address, "--nthreads", "1", "--no-nanny", "--memory-limit", "0"
        )
        self.workers.append(worker)
        return worker

    def _run(self, on, *command):
        dask = Path(sys.executable).with_name("dask")
        with (self.folder / f"{command[0]}.log").open("ab") as log:
            return subprocess.Popen(
                [*on, dask, *command, "--no-dashboard"],
                cwd=self.folder,
                env={**os.environ, **self.environment},
                stdout=log,
                stderr=log,
            )

    def end(self):
        for process in [*self.workers, self.scheduler]:
            if process:
                process.kill()
                process.wait()


@pytest.fixture
def machines(tmp_path):
    machines = Machines(tmp_path)
    yield machines
    machines.end()
