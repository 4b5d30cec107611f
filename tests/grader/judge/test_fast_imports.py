"""Less is imported, and it is the same."""

import os
import resource
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import get_alembic_version

from grader.judge import fast_imports, marking, packages, sandbox
from grader.judge.marking import Marker
from grader.judge.results import Task

CODE = """
import sys
from grader.judge import fast_imports
fast_imports.load("grader.classroom")
heavy = ("rfc3987_syntax", "jupyter_server", "nbgrader.apps")
assert not [name for name in heavy if name in sys.modules]
import nbformat, nbgrader, jupytext
from nbgrader.server_extensions.formgrader import handlers
from jupytext.sync_contentsmanager import TextFileContentsManager
from nbgrader.apps import NbGraderAPI
nbformat.validate(nbformat.v4.new_notebook())
print(handlers.__name__)
"""


def test_what_is_left_out_comes_whole_to_who_asks_for_it():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "nbgrader.server_extensions.formgrader.handlers\n"


def test_another_version_of_nbgrader_keeps_its_own_functions():
    code = (
        "from grader.judge import fast_imports; fast_imports.NBGRADER = '0'\n"
        "fast_imports.load('grader.classroom')\n"
        "import sys, nbgrader.api; assert 'nbgrader.server_extensions.formgrader' in sys.modules\n"
        "assert nbgrader.api.get_alembic_version is not fast_imports.newest_schema"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_new_gradebook_is_marked_as_nbgrader_marks_it(monkeypatch):
    # nbgrader calls a program that sits beside this interpreter.
    here = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{here}{os.pathsep}{os.environ['PATH']}")
    assert fast_imports.newest_schema() == get_alembic_version()


def test_what_the_course_requires_is_there_and_the_rest_is_not():
    found, there = packages.others(), {d.name for d in packages.required()}
    assert {"torch", "numpy", "ipykernel", "sympy", "pip"} <= there
    assert {"nbgrader", "pytest", "sphinx"} <= found
    # A package may keep copies of others, which are there with it.
    spec = find_spec("setuptools")
    assert spec and spec.origin
    inside = {p.parent.name for p in Path(spec.origin).parent.glob("_vendor/*/__init__.py")}
    assert inside and not inside & found
    assert not found & {"torch", "numpy", "PIL", "yaml", "sympy", "course_lib", "test"}


def test_a_cap_holds_and_is_gone_afterwards():
    before = resource.getrlimit(resource.RLIMIT_AS)
    with sandbox.capped(2**26):
        assert len(bytearray(2**24)) == 2**24
        with pytest.raises(MemoryError):
            bytearray(2**32)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert len(bytearray(2**28)) == 2**28


def test_a_hand_in_that_takes_too_much_to_judge_is_told_so(root, forkserver, monkeypatch):
    marker = Marker(root, "03_attention", "5eed")
    large = marker.assignment.solution.copy()
    large["cells"] = [nbformat.v4.new_markdown_cell("picture")]
    # In one piece, and larger than what this process may have freed and still holds mapped.
    content = nbformat.writes(large).encode().replace(b"picture", b"x" * 2**28)
    task = Task("ada", content, "", "key")
    monkeypatch.setattr(marking, "MOST_MEMORY", 2**25)
    verdict, files = marker.judge(task, forkserver, 0)
    assert verdict.score is None and verdict.key == "key"
    assert "takes more than 32 MiB of memory" in verdict.reason and "Clear" in files["feedback"]
