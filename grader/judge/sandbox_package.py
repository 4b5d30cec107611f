"""The sandbox package: what a student's cells may see of the library while they are graded.

It is a generated package of the same name with the modules that ``course.toml`` names for answers,
an inert ``check``, and what the worker itself needs. References, checks and solutions are not in
it; importing them says so.
"""

import ast
import hashlib
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from grader.base.course import FILE, HERE, course
from grader.base.files import part_of

SHARED = (
    "__init__.py base/__init__.py base/errors.py base/course.py base/tensors.py "
    "checks/import_stubs.py checks/protocol.py checks/forbidden.py "
    "checks/answer_host.py checks/probe.py checks/shell.py checks/operator_recorder.py "
    "checks/operator_list.txt judge/sandbox.py judge/worker.py judge/forkserver_process.py"
).split()

LIBRARY = '''"""The part of the course library that is there while an answer is graded."""

import sys

from grader.checks.import_stubs import AbsentModule, Finder, absent

# After all others: of this library nothing more is to be found.
sys.meta_path.append(Finder(lambda name: name.startswith(("LIBRARY.", "grader."))))


def __getattr__(name):
    if name.startswith("__") or not absent(f"LIBRARY.{name}"):
        raise AttributeError(name)
    return AbsentModule(f"LIBRARY.{name}")
'''

INERT = {
    "checks/__init__.py": '''"""While an answer is graded, the grader does the checking."""


def check(identifier, names=None):
    """Do nothing: graded cells are judged outside this process."""
    return 0.0
''',
    "judge/__init__.py": '"""The worker of the grader."""\n',
}
# Where a stand-in takes the public constants of the module whose place it has.
_CONSTANTS = "# CONSTANTS"


def build(into: Path) -> Path:
    """Write the package under ``into`` unless the same one is there; the folder to import from.

    The folder's name holds a hash of what is in it, so two graders may share ``into``.
    """
    of = course()
    content: dict[str, bytes] = {f"grader/{name}": text.encode() for name, text in INERT.items()}
    content |= {f"grader/{name}": text for name, text in parts(HERE / "grader", SHARED).items()}
    library = {"__init__.py": LIBRARY.replace("LIBRARY", of.package).encode()}
    if of.check:
        library |= parts(of.library, [f"{of.check}.py"])
    for name, place in of.answers.items():
        module = name if (of.library / name).is_dir() else f"{name}.py"
        if name == place:
            library |= parts(of.library, [module])
        else:
            target = module if module.endswith(".py") else f"{module}/__init__.py"
            library[target] = _stand_in(of.library / place, of.library / target).encode()
    content |= {f"{of.package}/{name}": text for name, text in library.items()}
    content["passwd"] = b"student:x:1000:1000::/scratch/home:/bin/sh\n"
    content[FILE] = of.file.read_bytes()
    digest = hashlib.sha256(repr(sorted(content.items())).encode()).hexdigest()[:16]
    into = into.resolve()
    folder = into / f"kit-{digest}"
    if not folder.exists():
        with part_of(folder) as fresh:
            lay_out(content, fresh)
            try:
                fresh.rename(folder)
            except OSError:
                # Another grader was faster: the hash says that it is the same.
                if not folder.is_dir():
                    raise
    return folder


def parts(library: Path, entries: Iterable[str]) -> dict[str, bytes]:
    """The files of modules and folders of a package, by their path in it."""
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


def _stand_in(place: Path, module: Path) -> str:
    """The source of a stand-in, with the constants of its module where it wants them."""
    lines = place.read_text(encoding="utf-8").splitlines()
    marks = [number for number, line in enumerate(lines) if line.startswith(_CONSTANTS)]
    for number in marks:
        lines[number] = _constants(module)
    return "\n".join(lines) + "\n"


def _constants(module: Path) -> str:
    lines = []
    for node in ast.parse(module.read_bytes()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name.isupper() and not name.startswith("_"):
                lines.append(ast.unparse(node))
    return "\n".join(lines)
