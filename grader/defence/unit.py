"""Subject of oral questions: the functions of one answer, as they were written, by line.

Nothing here runs a student's code: it is read, changed and printed as a syntax tree.
"""

import ast
import builtins
import re
import symtable
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from grader.authoring import BEGIN, END
from grader.checks.mutants import changed, plain

# More cannot be looked through in five minutes, and is not printed.
MOST_LINES, MOST_CHARACTERS = 80, 6000
# Statements that run as one piece: a question may name their line.
_SIMPLE = "Assign AugAssign AnnAssign Return Raise Delete Assert Expr Break Continue"
SIMPLE = tuple(getattr(ast, name) for name in _SIMPLE.split())
_SIGNS = re.compile(r"[\w.]+|[()\[\],]|[^\w\s()\[\],]+")
KEPT = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Change:
    """One line of an answer replaced: the lines that it takes, what it says then, all of it."""

    first: int
    last: int
    now: str
    source: str
    swaps: bool


@dataclass(frozen=True)
class Unit:
    """The definitions of the cell in which an answer stands, without docstrings."""

    text: str  # questions count its lines from 1

    @cached_property
    def tree(self) -> ast.Module:
        """The text as a syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def lines(self) -> dict[int, ast.stmt]:
        """Simple statements inside of functions, by their line, where no other one shares it."""
        nodes = [node for body in _bodies(self.tree) for node in body]
        return {
            node.lineno: node
            for node in nodes
            if isinstance(node, SIMPLE) and not _silent(node) and self.alone(node)
        }

    @cached_property
    def _taken(self) -> Counter[int]:
        return Counter(line for node in _statements(self.tree) for line in self.own(node))

    def alone(self, node: ast.stmt) -> bool:
        """Tell whether no other statement is on the lines of this one."""
        return all(self._taken[line] == 1 for line in self.own(node))

    @cached_property
    def conditional(self) -> set[int]:
        """Lines inside of a branch, a loop or a function of its own, which may not run."""
        functions = {id(body) for body in _bodies(self.tree, deep=False)}
        return {
            node.lineno
            for body in _bodies(self.tree)
            if id(body) not in functions
            for node in body
            if node.lineno in self.lines
        }

    def changes(self) -> list[Change]:
        """The answers that differ from this one in one place on one line, each once."""
        was = plain(self.text).splitlines()
        here, there = (_statements(t) for t in (_bare(self.text), ast.parse("\n".join(was))))
        if [type(n) for n in here] != [type(n) for n in there]:
            return []
        places = {other.lineno - 1: node for node, other in zip(here, there, strict=True)}
        edits = []
        with warnings.catch_warnings():
            # The student is asked whether `1[0]` is what was meant.
            warnings.simplefilter("ignore")
            others = changed("\n".join(was))
        for source in others:
            now = source.splitlines()
            if len(now) != len(was):
                continue
            other = [n for n, line in enumerate(now) if line != was[n]]
            if len(other) == 1 and (node := places.get(other[0])) and self.alone(node):
                span, line = self.own(node), now[other[0]].strip()
                swaps = _one_sign(was[other[0]].strip(), line)
                edits.append(Change(span[0], span[-1], line, self._alone(source), swaps))
        return edits

    def _alone(self, source: str) -> str:
        """A changed answer in which a name that it no longer gives a value has none.

        Elsewhere in the notebook it may have one, which nobody sees on paper.
        """
        lost = _globals(source) - _globals(self.text) - {*dir(builtins)}
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in lost:
                node.id = f"{node.id}_has_no_value"
        return ast.unparse(tree) if lost else source

    def own(self, node: ast.stmt) -> range:
        """The lines of a statement; of a compound one those of its head."""
        last = node.end_lineno or node.lineno
        body = getattr(node, "body", None) or getattr(node, "cases", None)
        if isinstance(body, list):
            start = body[0].lineno if isinstance(body[0], ast.stmt) else body[0].pattern.lineno
            text = self.text.splitlines()
            last = max(node.lineno, start - 1)
            while last > node.lineno and text[last - 1].strip()[:1] in ("", "#"):
                last -= 1
        return range(node.lineno, last + 1)


def _globals(source: str) -> set[str]:
    tables, names = [symtable.symtable(source, "<answer>", "exec")], set()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        if table.get_type() != "module":
            names |= {s.get_name() for s in table.get_symbols() if s.is_global()}
    return names


def find(sources: Iterable[str], function: str) -> Unit | None:
    """The answer in the last of these cells that defines a function; None if none can be read."""
    for source in reversed([*sources]):
        try:
            nodes = ast.parse(source).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if not any(isinstance(n, KEPT[:2]) and n.name == function for n in nodes):
            continue
        text = "\n\n".join(_verbatim(source, n) for n in nodes if isinstance(n, KEPT) or _data(n))
        if text.count("\n") >= MOST_LINES or len(text) > MOST_CHARACTERS:
            return None
        return Unit(text)
    return None


def _data(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.value, (ast.Constant, ast.UnaryOp))


def _verbatim(source: str, node: ast.stmt) -> str:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    left_out: set[int] = set()
    for inner in ast.walk(node):
        if isinstance(inner, KEPT[:2]) and ast.get_docstring(inner) and len(inner.body) > 1:
            doc = inner.body[0]
            # On one line with others it stays.
            if doc.lineno > inner.lineno and inner.body[1].lineno > (doc.end_lineno or 0):
                left_out |= {*range(doc.lineno, (doc.end_lineno or 0) + 1)}
    lines = source.splitlines()
    return "\n".join(
        lines[n - 1].rstrip()
        for n in range(first, (node.end_lineno or first) + 1)
        if n not in left_out and lines[n - 1].strip() not in (BEGIN, END)
    )


def instrumented(unit: Unit, mark: str) -> str:
    """The same answer, which also tells each line that runs and each value that a name gets.

    What it calls for that has ``mark`` in its name.
    """
    tree = ast.parse(unit.text)
    for body in [*_bodies(tree)]:
        body[:] = [new for node in body for new in _told(node, mark)]
    return ast.unparse(ast.fix_missing_locations(tree))


def _told(node: ast.stmt, mark: str) -> Iterator[ast.stmt]:
    at, saw = f"__at{mark}__", f"__saw{mark}__"
    if _silent(node) or isinstance(node, (ast.Global, ast.Nonlocal)):
        yield node
        return
    yield ast.Expr(_call(at, ast.Constant(node.lineno)))
    if isinstance(node, ast.Return) and node.value is not None:
        told = _call(saw, ast.Constant(node.lineno), ast.Constant("return"), node.value)
        yield ast.Return(told)
        return
    yield node
    for name in given_by(node):
        value = ast.Name(name, ast.Load())
        yield ast.Expr(_call(saw, ast.Constant(node.lineno), ast.Constant(name), value))


def given_by(node: ast.stmt) -> list[str]:
    """The names that a statement gives a value.

    Example:
        >>> given_by(ast.parse("a, x[0] = b = 1, 2").body[0])
        ['a', 'b']
    """
    if isinstance(node, ast.Assign):
        targets = [t for one in node.targets for t in getattr(one, "elts", [one])]
    elif isinstance(node, ast.AugAssign) or (isinstance(node, ast.AnnAssign) and node.value):
        targets = [node.target]
    else:
        targets = []
    return [t.id for t in targets if isinstance(t, ast.Name)]


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [*args], [])


def _bodies(tree: ast.AST, *, deep: bool = True) -> Iterator[list[ast.stmt]]:
    """The lists of statements inside of functions; not ``deep``: of outer functions themselves."""

    def inside(node: ast.AST, within: bool) -> Iterator[list[ast.stmt]]:
        for _, value in ast.iter_fields(node):
            parts = value if isinstance(value, list) else [value]
            if within and parts and isinstance(parts[0], ast.stmt):
                yield parts
            for part in parts:
                if isinstance(part, (ast.stmt, ast.ExceptHandler, ast.match_case)) and (
                    deep or not within
                ):
                    yield from inside(part, within or isinstance(part, ast.FunctionDef))

    return inside(tree, False)


def _statements(tree: ast.AST) -> list[ast.stmt]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def _bare(text: str) -> ast.Module:
    """As :func:`grader.checks.mutants.plain` has it, with the lines it had."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, KEPT[:2]) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.copy_location(ast.Pass(), node.body[0])]
    return tree


def _silent(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _one_sign(was: str, now: str) -> bool:
    """Tell whether one operator or one name stands for another, and all else is the same.

    Example:
        >>> _one_sign("a + b", "a - b"), _one_sign("a - b", "b - a"), _one_sign("f(a)", "a")
        (True, False, False)
    """
    parts = [_SIGNS.findall(text) for text in (was, now)]
    return len(parts[0]) == len(parts[1]) and sum(a != b for a, b in zip(*parts, strict=True)) == 1
