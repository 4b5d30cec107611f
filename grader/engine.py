"""A hash of what decides a grade: the code that marks and that exercises reach, and their texts.

What has changed elsewhere in the library marks nobody anew.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from grader import authoring
from grader.base.course import HERE, course
from grader.base.files import digest, placed
from grader.base.reach import ROOT, Symbol, located, reached
from grader.checks.exercise import ANSWERS, BANK

# Where marking begins: what the commands call, and what is started as programs of their own.
_MARKS = (
    "checks",
    "judge.marking",
    "judge.forkserver_process",
    "judge.sandbox_package",
    "judge.worker",
)
# Files read beside a module.
_TEXTS = {".toml", ".txt", ".html", ".css"}


def engine_hash(root: Path, name: str = "", *more: Path) -> str:
    """A hash of all that decides a grade of one assignment, or of any, and of more files."""
    files = decides(root, name) | placed(more, root)
    return digest(dict(sorted(files.items())))


def decides(root: Path, name: str = "") -> dict[str, Path]:
    """The files that decide a grade of one assignment of a checkout, or of any, by their places."""
    sources = [source for source in authoring.sources(root) if name in ("", source.stem)]
    start = [(f"grader.{module}", "*") for module in _MARKS]
    start += [symbol for source in sources for symbol in _used(authoring.code(source))]
    names = (module.split(".") for module, _ in reached(start))
    # The import of a package counts as well.
    modules = {".".join(parts[:n]) for parts in names for n in range(1, len(parts) + 1)}
    code = {path for module in modules if (path := located(module))}
    beside = {path for folder in {path.parent for path in code} for path in folder.iterdir()}
    texts = {path for path in beside if path.suffix in _TEXTS}
    own = {path for path in code | texts if HERE / "grader" in path.parents}
    return placed(own, HERE) | placed((code | texts) - own, ROOT) | placed(sources, root)


def _used(cells: list[str]) -> Iterator[Symbol]:
    for cell in cells:
        for name in authoring.CHECK.findall(cell):
            yield from ((f"{BANK}.{name}{part}", "*") for part in ("", ANSWERS))
        for given in authoring.GIVEN.findall(cell):
            module, _, function = given.rpartition(".")
            yield module, function
        for node in ast.walk(ast.parse(cell)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith(course().names):
                yield from ((str(node.module), alias.name) for alias in node.names)
