"""The taught library as students get it: what their notebooks import, without what answers these.

What an exercise asks for is often a function of the library, or a line or two around one. Such
functions keep their names, so that what mentions them can be imported, and lose their bodies;
whatever nobody needs is left out.
"""

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from grader.base.course import course
from grader.base.reach import Symbol, follow, located, mentioned, reached, statements
from grader.checks.exercise import BANK, find

# An answer that only calls a function of the library has no more statements than these.
FEW = 2
# It knows no exercise and no mechanism, and is handed out whole.
ENGINE = ("grader", f"{course().package}.{course().check or 'checks'}", BANK)


def answers(identifiers: Iterable[str]) -> set[Symbol]:
    """The functions of the library that exercises ask for, or that do nearly all of an answer.

    What a notebook hands out itself is none.

    Example:
        >>> sorted(answers(["masks.masked_softmax"]))
        [('course_lib.masks.softmax', 'masked_softmax')]
    """
    symbols: set[Symbol] = set()
    given: set[Symbol] = set()
    for exercise in map(find, identifiers):
        given |= {(f.__module__, f.__name__) for f in exercise.given}
        waiting = [(exercise.reference.__module__, exercise.reference.__name__)]
        while waiting:
            symbol = waiting.pop()
            if symbol not in symbols:
                symbols.add(symbol)
                waiting += _behind(symbol)
    return {symbol for symbol in symbols - given if not symbol[0].startswith(ENGINE)}


def _behind(symbol: Symbol) -> Iterator[Symbol]:
    """The library's functions that a function of few statements calls for its value."""
    for node in statements(symbol):
        if not isinstance(node, ast.FunctionDef):
            continue
        # Neither a docstring nor calls that only refuse.
        idle = (ast.Expr, ast.Pass)
        working = [n for n in node.body if not isinstance(n, idle) and not _refuses(n)]
        if len(working) <= FEW:
            for statement in working:
                called = mentioned(statement, symbol[0])
                yield from (
                    s
                    for s in called
                    if not s[0].startswith(ENGINE)
                    and any(isinstance(definition, ast.FunctionDef) for definition in statements(s))
                )


def _refuses(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and all(isinstance(n, ast.Raise) for n in node.body)


def imported(source: str) -> set[Symbol]:
    """Imports of the library in a text of Python, wherever in it."""
    symbols = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(course().package):
            symbols |= {(str(node.module), alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            symbols |= {(a.name, "*") for a in node.names if a.name.startswith(course().package)}
    return {symbol for symbol in symbols if not f"{symbol[0]}.".startswith(ENGINE)}


def files(start: Collection[Symbol], emptied: Collection[Symbol]) -> dict[str, bytes]:
    """The modules that these names need, by path in the library; ``emptied`` lose their bodies."""
    # The import is what a GPU needs, too, and computes on a CPU by the plainer one.
    symbols = set(reached(start, closed=emptied))
    content: dict[str, bytes] = {}
    for module in sorted({module for module, _ in symbols if not module.startswith(ENGINE)}):
        parts = module.split(".")
        for depth in range(2, len(parts) + 1):
            name = ".".join(parts[:depth])
            path = located(name)
            assert path is not None
            place = path.relative_to(course().library).as_posix()
            if place not in content:
                content[place] = _part(name, path, symbols, emptied).encode()
    return content


def _part(module: str, path: Path, kept: Collection[Symbol], emptied: Collection[Symbol]) -> str:
    source = path.read_text(encoding="utf-8")
    if (module, "*") in kept:
        return source
    lines = source.split("\n")
    tree = ast.parse(source)
    head = ast.get_docstring(tree, clean=False)
    # Types that only annotations name may be left out.
    texts = [f'"""{head}"""\n' if head else "", "from __future__ import annotations\n"]
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            texts.append(_import(node, kept))
        elif (names := _binds(node)) and any((module, name) in kept for name in names):
            whole = not any((module, name) in emptied for name in names)
            texts.append(_text(node, lines) if whole else _emptied(node))
    return "\n".join(text for text in texts if text).rstrip() + "\n"


def _binds(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return [n.id for n in names if isinstance(n.ctx, ast.Store)]


def _import(node: ast.Import | ast.ImportFrom, kept: Collection[Symbol]) -> str:
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return ""
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(course().package):
        there = [(a, follow((str(node.module), a.name))) for a in node.names]
        whole = {module for module, _ in kept}
        node.names = [a for a, s in there if s in kept or (s and s[1] == "*" and s[0] in whole)]
        if not node.names:
            return ""
    return ast.unparse(node)


def _text(node: ast.stmt, lines: Sequence[str]) -> str:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))]) - 1
    while first and lines[first - 1].startswith("#"):
        first -= 1
    return "\n".join(["", *lines[first : node.end_lineno]])


def _emptied(node: ast.stmt) -> str:
    assert isinstance(node, ast.FunctionDef)
    node.body = ast.parse('raise NotImplementedError("an exercise asks for it")').body
    return "\n" + ast.unparse(node)
