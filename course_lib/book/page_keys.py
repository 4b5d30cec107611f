"""Keys of pages: everything that the outputs of a page's cells depend on besides the cells.

So that a changed exercise runs the pages that show it, and a changed grader none.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from course_lib.packed import contents
from grader.base.files import digest, placed
from grader.base.reach import FOLDERS, Symbol, drop_docstrings, located, reached

# Names in a page that import something: `check("masks.causal_mask")`.
_NAMED = ("bank", "figures", "experiments")
_DYNAMIC = re.compile(r"\bimport_module\b|\b__import__\b")
_FENCE = re.compile(r"^([ \t]*)(`{3,})\{code-cell\}[^\n]*\n(.*?)^\1\2[ \t]*$", re.M | re.S)
_OPTIONS = re.compile(r"\A---\n.*?^---\n", re.M | re.S)


def page_keys(root: Path) -> dict[str, str]:
    """A key for every page with code.

    It changes with the modules of the library that the page's code reaches (their comments,
    docstrings and layout aside), with data files beside these, and with the records that it names,
    packed or not. Returns hexadecimal digests by the page's path below ``root``.
    """
    keys = {}
    held = cache(contents)
    for page in sorted((root / "book").rglob("*.md")):
        if cells := [match[2] for match in _FENCE.findall(page.read_text(encoding="utf-8"))]:
            texts: dict[Path, bytes] = {}
            for path in sorted(files(cells, root), key=lambda path: path.suffix != ".zip"):
                texts |= held(path) if path.suffix == ".zip" else {path: plain(path)}
            key = digest(placed(sorted(texts), root), texts.__getitem__)
            keys[page.relative_to(root).as_posix()] = key
    return keys


def files(cells: Iterable[str], root: Path) -> set[Path]:
    """The files that the code of a page can see: modules, data beside them, records."""
    nodes = [node for cell in cells for node in ast.walk(_parsed(cell))]
    said = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    places = {text.replace("-", "_").replace(".", "/") for text in said if len(text) < 100}
    library = root / "course_lib"
    by_name = {
        library / f
        for folder in _NAMED
        for p in places
        for f in (f"{folder}/{p}.py", f"{folder}/{p}_answers.py")
    }
    start = [*_imported(nodes), *((_module(p, root), "*") for p in by_name if p.is_file())]
    modules: set[Path] = set()
    words = set(said)
    while start:
        symbols = reached([s for s in start if located(s[0], root)], root)
        start = []
        for (module, _), text in symbols.items():
            path = located(module, root)
            assert path is not None
            if (
                path not in modules
                and _DYNAMIC.search(text)
                and path.parent != root / "grader" / "checks"
            ):
                beside = path.parent.glob("*.py") if path.parent.name not in _NAMED else ()
                start += [(_module(p, root), "*") for p in beside if p not in modules]
            modules.add(path)
            # Not the registry, which names every experiment.
            if path.parent.name != "experiments" or path.stem != "__init__":
                words.update(re.findall(r"'([\w-]+)'", text))
    data = {
        path
        for folder in {path.parent for path in modules}
        for path in folder.iterdir()
        if path.suffix not in (".py", ".pyc", "") and path.is_file()
    }
    return modules | _own(data, modules, by_name) | _records(words, root)


def plain(path: Path) -> bytes:
    """A file's content; of a module its syntax tree, without docstrings unless they are shown."""
    content = path.read_bytes()
    return _tree(content) if path.suffix == ".py" and "bank" not in path.parts else content


@cache
def _tree(source: bytes) -> bytes:
    tree = ast.parse(source)
    drop_docstrings(tree)
    return ast.dump(tree).encode()


def _parsed(cell: str) -> ast.Module:
    lines = _OPTIONS.sub("", cell).splitlines()
    code = [line for line in lines if not re.match(r"\s*[%!]|:[\w-]+:", line)]
    try:
        return ast.parse("\n".join(code))
    except SyntaxError:  # what runs the page says so, and where
        return ast.Module([], [])


def _imported(nodes: Iterable[ast.AST]) -> Iterator[Symbol]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, "*") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


def _module(path: Path, root: Path) -> str:
    folder, *rest = path.relative_to(root).with_suffix("").parts
    package = next(name for name, place in FOLDERS.items() if place == folder)
    return ".".join([package, *rest]).removesuffix(".__init__")


def _own(data: set[Path], modules: set[Path], by_name: set[Path]) -> set[Path]:
    """Data files, but for scripts of other figures and what is called like another module."""
    scripts = {path for path in data if path.parent.name == "figures" and path.suffix == ".js"}
    named = {path.stem for path in by_name} | {"common"}
    others = {p for p in data if (own := p.with_suffix(".py")).exists() and own not in modules}
    return data - scripts - others | {path for path in scripts if path.stem in named}


def _records(words: set[str], root: Path) -> set[Path]:
    results = root / "book" / "results"
    if not results.is_dir() or not any("results" in word for word in words):
        return set()
    places = [*results.iterdir()]  # of each experiment an archive, a folder, or both
    named = [place for place in places if place.stem in words] or places
    return {path for place in named for path in (place, *place.rglob("*")) if path.is_file()}
