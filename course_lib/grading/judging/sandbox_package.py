"""The sandbox package: what a student's cells may see of ``course_lib`` while they are graded.

It is a generated package of the same name with data helpers and plots, an inert ``check`` and
``figure``, and what the worker itself needs. References, checks and solutions are not in it;
importing them says so.
"""

import ast
import hashlib
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import course_lib
from course_lib.files import part_of

SHARED = (
    "data errors.py checks/import_stubs.py checks/protocol.py checks/fixtures.py "
    "checks/forbidden.py checks/answer_host.py checks/probe.py checks/shell.py "
    "checks/operator_recorder.py grading/judging/sandbox.py grading/judging/worker.py "
    "grading/judging/forkserver_process.py"
).split()

INERT = {
    "__init__.py": '''"""The part of the course library that is there while an answer is graded."""

import sys

from course_lib.checks.import_stubs import AbsentModule, Finder, absent

# After all others: of this library nothing more is to be found.
sys.meta_path.append(Finder(lambda name: name.startswith("course_lib.")))


def __getattr__(name):
    if name.startswith("__") or not absent(f"course_lib.{name}"):
        raise AttributeError(name)
    return AbsentModule(f"course_lib.{name}")
''',
    "checks/__init__.py": '''"""While an answer is graded, the grader does the checking."""


def check(identifier, names=None):
    """Do nothing: graded cells are judged outside this process."""
    return 0.0
''',
    "figures/__init__.py": '''"""Interactive figures draw nothing while an answer is graded."""


def figure(name, **settings):
    """Do nothing: nobody is there to move it, and it is computed by the library."""
    return None
''',
    "plots.py": '''"""While an answer is graded, pictures draw nothing."""

import numpy

CONSTANTS


class Picture:
    """Takes whatever is done to a picture or its axes, and shows a word in its place."""

    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, *args, **kwargs):
        return self

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key):
        return self

    def __iter__(self):
        return iter(())

    def __repr__(self):
        return "[a picture: not drawn while an answer is graded]"


def canvas(rows=1, columns=1, **size):
    """A picture and an array of axes, as the real one returns."""
    axes = numpy.empty((rows, columns), dtype=object)
    for place in numpy.ndindex(rows, columns):
        axes[place] = Picture()
    return Picture(), axes


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    return Picture()
''',
    "grading/__init__.py": '"""The worker of the grader."""\n',
    "grading/judging/__init__.py": '"""The worker of the grader."""\n',
}


def build(into: Path) -> Path:
    """Write the package under ``into`` unless the same one is there; the folder to import from.

    The folder's name holds a hash of what is in it, so two graders may share ``into``.
    """
    library = Path(course_lib.__file__).parent
    files: dict[str, bytes] = {name: text.encode() for name, text in INERT.items()}
    constants = _constants(library / "plots.py").encode()
    files["plots.py"] = files["plots.py"].replace(b"CONSTANTS", constants)
    files |= parts(library, SHARED)
    files["passwd"] = b"student:x:1000:1000::/scratch/home:/bin/sh\n"
    digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:16]
    into = into.resolve()
    folder = into / f"kit-{digest}"
    if not folder.exists():
        with part_of(folder) as fresh:
            lay_out({f"course_lib/{name}": content for name, content in files.items()}, fresh)
            try:
                fresh.rename(folder)
            except OSError:
                # Another grader was faster: the hash says that it is the same.
                if not folder.is_dir():
                    raise
    return folder


def parts(library: Path, entries: Iterable[str]) -> dict[str, bytes]:
    """The files of modules and folders of the library, by their path in it."""
    files = {}
    for entry in entries:
        path = library / entry
        paths = [path] if path.is_file() else sorted(path.rglob("*"))
        for file in paths:
            if file.is_file() and "__pycache__" not in file.parts:
                files[file.relative_to(library).as_posix()] = file.read_bytes()
    return files


def lay_out(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files into a folder that is new: what was there under its name is gone."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    # Readers may be other users than the writer.
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def _constants(module: Path) -> str:
    """The module's public constants as source, read without importing it and what it imports."""
    lines = []
    for node in ast.parse(module.read_bytes()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name.isupper() and not name.startswith("_"):
                lines.append(ast.unparse(node))
    return "\n".join(lines)
