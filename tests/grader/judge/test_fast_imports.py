"""Less is imported, and it is the same."""

import os
import subprocess
import sys
from pathlib import Path

from nbgrader.api import get_alembic_version

from grader.judge import fast_imports

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
