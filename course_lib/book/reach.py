"""Which modules of the library the pages of the book can see.

A change to the grader should not run every chapter again. So the outputs of the pages are kept as
long as the modules stay as they are that some page imports, directly or through others.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["reachable"]

_IMPORT = re.compile(
    r"^\s*(?:from\s+(course_lib[\w.]*)\s+import\s+(\([^)]*\)|[^\n]*)|import\s+([^\n]*))", re.M
)
_DYNAMIC = re.compile(r"\bimport_module\b|\b__import__\b|\bspec_from_file_location\b")


def reachable(root: Path) -> list[Path]:
    """Follow the imports of all pages through the library.

    What cannot be followed is taken whole: the folder of a module that imports by name at run time.

    Args:
        root: The checkout, with ``book/`` and ``course_lib/``.

    Returns:
        The files in the order of their names: modules, and data files beside them.
    """
    found: set[Path] = set()
    waiting = [
        name
        for page in sorted((root / "book").rglob("*.md"))
        for name in _named(page.read_text(encoding="utf-8"))
    ]
    while waiting:
        for path in set(_files(root, waiting.pop())) - found:
            found.add(path)
            source = path.read_text(encoding="utf-8")
            waiting += _imports(source, path.relative_to(root))
            if _DYNAMIC.search(source):
                beside = path.parent.rglob("*.py")
                waiting += [_module(module.relative_to(root)) for module in beside]
    folders = {path.parent for path in found}
    data = {
        path
        for folder in folders
        for path in folder.iterdir()
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    return sorted(found | data)


def _named(page: str) -> Iterator[str]:
    """The modules that the code of a page imports; also what may only be a name in one."""
    for package, names, plain in _IMPORT.findall(page):
        if package:
            yield package
            yield from (f"{package}.{name}" for name in re.findall(r"\w+", names))
        yield from re.findall(r"course_lib[\w.]*", plain)


def _imports(source: str, path: Path) -> Iterator[str]:
    package = path.parent.parts
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _files(root: Path, name: str) -> Iterable[Path]:
    """The files that importing a name runs: its packages' beginnings and itself."""
    parts = name.split(".")
    if parts[0] != "course_lib":
        return
    for end in range(1, len(parts) + 1):
        folder = root.joinpath(*parts[:end])
        for path in (folder / "__init__.py", folder.with_suffix(".py")):
            if path.is_file():
                yield path


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")
