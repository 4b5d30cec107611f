"""Definitions of the library that a function reaches.

A record should say which code made it, and a page which code it shows. Whole modules tell too
much: a package's ``__init__`` names everything in it, and a module holds claims beside training.
So what is followed are names: from a function to the definitions that it mentions, through
imports and re-exports to where they are written. Comments, docstrings and annotations don't count.
"""

import ast
import copy
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from grader.base.course import HERE, course

ROOT = course().root
"""The folder that holds the course."""

FOLDERS = course().folders
"""Where the modules of the library lie, those of the grader, and the tests that measure both."""

Symbol = tuple[str, str]
"""Module and name; the name is ``"*"`` for all that a module defines."""


@dataclass
class _Module:
    name: str
    # The top-level statements that bind a name; of imports, where the name comes from.
    defined: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imported: dict[str, Symbol] = field(default_factory=dict)
    # Of definitions that were asked for: their code, and what they mention.
    uses: dict[tuple[str, bool], tuple[str, set[Symbol]]] = field(default_factory=dict)


def reached(
    start: Iterable[Symbol], root: Path = ROOT, closed: Collection[Symbol] = ()
) -> dict[Symbol, str]:
    """Follow names from where they are used to where they are defined.

    Of each definition there is its code, without comments and docstrings. ``start``: modules and
    names in them, ``"*"`` for all of a module. Decorators of the first definitions are left out:
    they register and do not run; ``closed``: definitions that are reached and not followed any
    further.

    Example:
        >>> reached([("grader.base.errors", "no_such_name")])
        Traceback (most recent call last):
        ...
        ValueError: grader.base.errors has no no_such_name
        >>> ("grader.base.files", "part_of") in reached([("grader.base.files", "write_whole")])
        True
    """
    begin: list[Symbol] = []
    for symbol in start:
        if (place := follow(symbol, root)) is None:
            raise ValueError(f"{symbol[0]} has no {symbol[1]}")
        begin.append(place)
    found: dict[Symbol, str] = {}
    waiting = list(begin)
    while waiting:
        symbol = waiting.pop()
        if symbol in found:
            continue
        found[symbol], mentioned = _uses(symbol, root, bare=symbol in begin)
        if symbol not in closed:
            followed = (follow(m, root) for m in mentioned)
            waiting += [s for s in followed if s is not None]
    return found


def _uses(symbol: Symbol, root: Path, *, bare: bool) -> tuple[str, set[Symbol]]:
    module = _load(symbol[0], root)
    assert module is not None
    if (symbol[1], bare) not in module.uses:
        names = module.defined if symbol[1] == "*" else (symbol[1],)
        nodes = [node for name in names for node in module.defined[name]]
        mentioned = {m for node in nodes for m in _mentioned(node, module, root, bare=bare)}
        text = "\n".join(_plain(node, bare=bare) for node in nodes)
        module.uses[symbol[1], bare] = text, mentioned
    return module.uses[symbol[1], bare]


def statements(symbol: Symbol, root: Path = ROOT) -> list[ast.stmt]:
    """The statements that define a name, as :func:`follow` has found it; none for ``"*"``."""
    module = _load(symbol[0], root)
    return module.defined.get(symbol[1], []) if module else []


def mentioned(node: ast.stmt, module: str, root: Path = ROOT) -> set[Symbol]:
    """The definitions of the library that a statement of a module uses."""
    of = _load(module, root)
    assert of is not None
    found = (follow(symbol, root) for symbol in _mentioned(node, of, root, bare=False))
    return {symbol for symbol in found if symbol is not None}


def follow(symbol: Symbol, root: Path = ROOT) -> Symbol | None:
    """From a name to where it is defined; nothing if that is not in the library."""
    name, attribute = symbol
    seen = set()
    while (name, attribute) not in seen:
        seen.add((name, attribute))
        module = _load(name, root)
        if module is None:
            return None
        if attribute == "*" or attribute in module.defined:
            return name, attribute
        if attribute in module.imported:
            name, attribute = module.imported[attribute]
        elif _load(f"{name}.{attribute}", root) is not None:
            name, attribute = f"{name}.{attribute}", "*"
        else:
            return None
    return None


def located(module: str, root: Path = ROOT) -> Path | None:
    """The file of a module or package of the library or its tests; nothing if it is none.

    Example:
        >>> located("grader.base.reach").name, located("grader.base").name, located("torch")
        ('reach.py', '__init__.py', None)
    """
    top, *rest = module.split(".")
    # The grader may be installed apart from the course.
    base = HERE if top == "grader" and root == ROOT else root
    place = base.joinpath(FOLDERS.get(top, ""), *rest)
    tried = (place / "__init__.py", place.with_suffix(".py"))
    return next((path for path in tried if path.is_file()), None) if top in FOLDERS else None


def _load(name: str, root: Path) -> _Module | None:
    path = located(name, root)
    return _read(name, path, path.stat().st_mtime_ns) if path else None


@cache
def _read(name: str, path: Path, changed: int) -> _Module:
    module = _Module(name)
    tree = ast.parse(path.read_bytes())
    drop_docstrings(tree)
    # The variable of a comprehension is no name of the module.
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.comprehension)]
    inner = {id(node) for loop in loops for node in ast.walk(loop.target)}
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            module.defined.setdefault(statement.name, []).append(statement)
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Import | ast.ImportFrom):
                module.imported |= dict(_imports(node, name, path.stem == "__init__"))
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                if id(node) not in inner:
                    module.defined.setdefault(node.id, []).append(statement)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                module.defined.setdefault(node.name, []).append(statement)
    return module


def _imports(
    node: ast.Import | ast.ImportFrom, name: str, package: bool
) -> Iterator[tuple[str, Symbol]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield (
                alias.asname or alias.name.split(".")[0],
                (alias.name if alias.asname else alias.name.split(".")[0], "*"),
            )
        return
    above = name.split(".")[: len(name.split(".")) - node.level + package] if node.level else []
    base = ".".join([*above, *([node.module] if node.module else [])])
    for alias in node.names:
        yield alias.asname or alias.name, (base, alias.name)


def _mentioned(node: ast.AST, module: _Module, root: Path, *, bare: bool) -> Iterator[Symbol]:
    own: dict[str, Symbol] = {}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Import | ast.ImportFrom):
            own |= dict(_imports(inner, module.name, package=False))
            yield from own.values() if isinstance(inner, ast.ImportFrom) else ()
    todo: list[ast.AST] = [node]
    while todo:
        inner = todo.pop()
        dotted = _dotted(inner)
        if dotted:
            yield from _targets(dotted, module, own, root)
            continue
        for name, value in ast.iter_fields(inner):
            if name in ("annotation", "returns"):
                continue
            if name == "decorator_list" and bare and inner is node:
                continue
            parts = value if isinstance(value, list) else [value]
            todo += [part for part in parts if isinstance(part, ast.AST)]


def _dotted(node: ast.AST) -> list[str]:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [*reversed([*parts, node.id])] if isinstance(node, ast.Name) else []


def _targets(
    parts: list[str], module: _Module, own: dict[str, Symbol], root: Path
) -> Iterator[Symbol]:
    head, *rest = parts
    if head in own or head in module.imported:
        base, name = own.get(head) or module.imported[head]
        if rest and name == "*":
            # ``import course_lib.masks`` and then ``course_lib.masks.causal_mask``.
            yield from ((".".join([base, *rest[:i]]), rest[i]) for i in range(len(rest)))
        elif rest and _load(f"{base}.{name}", root) is not None:
            # ``from course_lib.experiments import provenance`` and then ``provenance.Clock``.
            yield (f"{base}.{name}", rest[0])
        else:
            yield (base, name)
    elif head in module.defined:
        yield (module.name, head)


def drop_docstrings(tree: ast.Module) -> None:
    """Take the docstrings of a module, its classes and its functions out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body[:1] = [] if node.body[1:] else [ast.Pass()]


@cache
def _plain(node: ast.stmt, *, bare: bool) -> str:
    """Its code without comments and layout; ``bare`` leaves decorators out, too."""
    if bare and isinstance(node, ast.FunctionDef | ast.ClassDef):
        node = copy.copy(node)
        node.decorator_list = []
    # Not the tree itself, which is written otherwise by every version of Python.
    return ast.unparse(node)
