"""Syntax-tree mutants: small changes to a right answer that its properties should notice.

A mutant differs from the model answer in one place: another operator, comparison, axis, index,
constant or bound, a dropped statement, a swapped pair of arguments, and so on.
``course matrix --mutants`` finds out what they are worth.
"""

import ast
import contextlib
import copy
import difflib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any


def _others(table: str) -> dict[type[Any], tuple[type[Any], ...]]:
    """Kinds of nodes, each with those that may stand in its place."""
    rows = ([getattr(ast, name) for name in row.split()] for row in table.split(", "))
    return {kind: tuple(others) for kind, *others in rows}


OPERATORS = _others(
    "Add Sub, Sub Add, Mult Div, Div Mult, MatMult Mult, Pow Mult, FloorDiv Mult Mod, Mod "
    "FloorDiv, BitAnd BitOr, BitOr BitAnd, BitXor BitOr, LShift RShift, RShift LShift"
)
# The order of these factors and terms matters.
ORDERED = (ast.Sub, ast.Div, ast.MatMult, ast.Pow, ast.FloorDiv, ast.Mod)
COMPARISONS = _others(
    "Lt LtE GtE, LtE Lt Gt, Gt GtE LtE, GtE Gt Lt, Eq NotEq, NotEq Eq, Is IsNot, IsNot Is, In "
    "NotIn, NotIn In"
)
PAIRS = (
    "min max, amin amax, any all, sum mean, argmin argmax, tril triu, floor ceil, sin cos,"
    " exp log, cumsum cumprod, zeros ones, zeros_like ones_like, minimum maximum, std var,"
    " logical_and logical_or, bmm mul, break continue"
)
# Never the other way: more digits than wanted are no mistake.
COARSER = {"float64": "float32", "double": "float"}
NAMES = {a: b for pair in PAIRS.split(", ") for a, b in (pair.split(), pair.split()[::-1])}
# Two arguments whose order does not matter.
COMMUTE = {"transpose", "swapaxes", "equal", "gcd", "maximum", "minimum", "max", "min"}
# Before the dot is a module here, not a value that a method changes.
MODULES = {"torch", "math", "F", "nn", "np", "itertools", "functools"}
# Statements that do nothing while the answer runs.
SKIPPED = {"annotation", "returns", "decorator_list", "type_params"}


@dataclass(frozen=True)
class Mutant:
    """One changed answer: the lines that went, those that came, and the whole source."""

    was: str
    now: str
    source: str

    def __str__(self) -> str:
        """The change as a diff."""
        gone = [f"- {line.strip()}" for line in self.was.splitlines()]
        return "\n".join([*gone, *(f"+ {line.strip()}" for line in self.now.splitlines())])


def mutants(source: str) -> list[Mutant]:
    """Every valid answer that differs from ``source`` in one place, each once."""
    original = plain(source)
    changes, seen = [], Counter[tuple[str, str]]()
    for text in changed(original):
        was, now = _lines(original, text)
        seen[was, now] += 1
        # The same line may stand in two places.
        mark = f"  # place {seen[was, now]}" if seen[was, now] > 1 else ""
        changes.append(Mutant(was, now + mark, text))
    return changes


def changed(original: str) -> list[str]:
    """The sources of all mutants of what :func:`plain` returned, each once."""
    sources = dict.fromkeys(ast.unparse(ast.parse(text)) for text in _changed(ast.parse(original)))
    sources.pop(original, None)
    return list(sources)


@lru_cache(maxsize=64)
def plain(source: str) -> str:
    """Source code without comments, docstrings and anybody's way to set it."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _lines(before: str, after: str) -> tuple[str, str]:
    changes = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    return tuple(  # type: ignore[return-value]
        "\n".join(line[2:].strip() for line in changes if line.startswith(sign)) for sign in "-+"
    )


def _changed(tree: ast.Module) -> Iterator[str]:
    for parent, name, value in _places(tree):
        if isinstance(value, list):
            for i, item in enumerate(value):
                for new in _instead(item) if isinstance(item, ast.AST) else ():
                    value[i] = new
                    yield from _valid(tree)
                value[i] = item
        elif isinstance(value, ast.AST):
            for new in _instead(value):
                setattr(parent, name, new)
                yield from _valid(tree)
            setattr(parent, name, value)
        elif name in ("attr", "id") and value in NAMES | COARSER:
            setattr(parent, name, (NAMES | COARSER)[value])
            yield from _valid(tree)
            setattr(parent, name, value)


def _valid(tree: ast.Module) -> Iterator[str]:
    text = ast.unparse(ast.fix_missing_locations(tree))
    with contextlib.suppress(SyntaxError):
        compile(text, "<mutant>", "exec")
        yield text


def _places(node: ast.AST) -> Iterator[tuple[ast.AST, str, Any]]:
    if isinstance(node, (ast.Raise, ast.Import, ast.ImportFrom, ast.JoinedStr)):
        return
    if isinstance(node, ast.UnaryOp) and _whole(node) is not None:
        return
    for name, value in ast.iter_fields(node):
        if name in SKIPPED:
            continue
        yield node, name, value
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _places(child)


def _instead(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.stmt):
        return _statements(node)
    if isinstance(node, ast.expr):
        return [new for rule in RULES for new in rule(node)]
    return []


def _with(node: Any, **fields: Any) -> Any:
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _statements(node: ast.stmt) -> list[ast.AST]:
    if isinstance(node, (ast.Break, ast.Continue)):
        return [ast.Continue() if isinstance(node, ast.Break) else ast.Break(), ast.Pass()]
    if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass)):
        return []
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return []
    nodes: list[ast.AST] = [ast.Pass()]
    if isinstance(node, (ast.If, ast.While)):
        nodes.append(_with(node, test=ast.UnaryOp(ast.Not(), node.test)))
    if isinstance(node, ast.If):
        nodes.append(ast.If(ast.Constant(True), node.body, []))
    if isinstance(node, ast.AugAssign):
        nodes += [_with(node, op=op()) for op in OPERATORS.get(type(node.op), ())]
        nodes.append(ast.Assign([node.target], node.value, lineno=0))
    return nodes


def _binary(node: ast.expr) -> list[ast.AST]:
    if not isinstance(node, ast.BinOp):
        return []
    nodes = [_with(node, op=op()) for op in OPERATORS.get(type(node.op), ())]
    if isinstance(node.op, ORDERED):
        nodes.append(_with(node, left=node.right, right=node.left))
    return [*nodes, node.left, node.right]


def _logic(node: ast.expr) -> list[ast.AST]:
    if isinstance(node, ast.Compare):
        turned = [
            _with(node, ops=[*node.ops[:i], new(), *node.ops[i + 1 :]])
            for i, op in enumerate(node.ops)
            for new in COMPARISONS[type(op)]
        ]
        return turned + _truth(node)
    if isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return [_with(node, op=other), *node.values]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse, _with(node, body=node.orelse, orelse=node.body)]
    if isinstance(node, ast.UnaryOp) and _whole(node) is None:
        return [node.operand]
    return []


def _truth(node: ast.Compare) -> list[ast.AST]:
    """``if x`` for ``if x is not None``, which takes a 0 for nothing."""
    if ast.unparse(node.comparators[0]) != "None":
        return []
    return [ast.UnaryOp(ast.Not(), node.left) if isinstance(node.ops[0], ast.Is) else node.left]


def _hidden(node: ast.expr) -> list[ast.AST]:
    """A product with 0 for what hides: NaN and infinity stay."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return []
    name, *args = node.func.attr, *map(ast.unparse, node.args)
    if name == "masked_fill" and len(args) == 2 and args[1] in ("0", "0.0"):
        return [ast.BinOp(node.func.value, ast.Mult(), ast.UnaryOp(ast.Invert(), node.args[0]))]
    if name == "where" and len(args) == 3 and args[2] in ("0", "0.0"):
        return [ast.BinOp(node.args[1], ast.Mult(), node.args[0])]
    return []


def _whole(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _whole(node.operand)
        return None if inner is None or inner == 0 else -inner
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


def _constant(node: ast.expr) -> list[ast.AST]:
    if (number := _whole(node)) is not None:
        return [ast.Constant(number + 1), ast.Constant(number - 1)]
    if not isinstance(node, ast.Constant):
        return []
    if isinstance(node.value, bool):
        return [ast.Constant(not node.value)]
    if isinstance(node.value, float):
        return [ast.Constant(2 * node.value or 1.0)]
    if node.value in ("inf", "-inf"):
        return [ast.Constant({"inf": "-inf", "-inf": "inf"}[node.value])]
    return []


def _parts(node: ast.expr) -> list[ast.AST]:
    if isinstance(node, ast.Slice):
        return [_with(node, **{n: None}) for n in ("lower", "upper", "step") if getattr(node, n)]
    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and len(node.elts) == 2:
        return [_with(node, elts=node.elts[::-1])]
    return []


def _call(node: ast.expr) -> list[ast.AST]:
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "H", "mH"):
        return [node.value]
    if not isinstance(node, ast.Call):
        return []
    nodes: list[ast.AST] = []
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
    for i in range(0 if name in COMMUTE else len(node.args) - 1):
        swapped = [*node.args[:i], node.args[i + 1], node.args[i], *node.args[i + 2 :]]
        nodes.append(_with(node, args=swapped))
    nodes += [
        _with(node, keywords=[k for k in node.keywords if k is not gone]) for gone in node.keywords
    ]
    head = node.func.value if isinstance(node.func, ast.Attribute) else None
    if head is not None and not (isinstance(head, ast.Name) and head.id in MODULES):
        # `x.transpose(0, 1)` without the transposition, `x.cumsum(0)` without the sum.
        nodes.append(head)
    return nodes


RULES = (_binary, _logic, _constant, _parts, _call, _hidden)
