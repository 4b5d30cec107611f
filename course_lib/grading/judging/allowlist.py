"""Whether a notebook uses everyday names only.

What a student may not call is refused in the student's own process, and code that walks up the
stack, or reaches for the interpreter's inner workings, could undo that there. Such code needs names
that no honest answer to an exercise needs. So an answer whose every name is in a vocabulary is
believed, and any other is graded again where nothing can be undone
(:func:`course_lib.grading.judging.judge.judge_notebook`): a name that is missing here costs time,
never points.

That second look leaves out what is *odd*: statements with names that lead to inner workings, to
other programs or to packages that are not the course's. What earns as much without them is
believed, too. For the rest a person is asked.
"""

import ast
import builtins
import math
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import (
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    ModuleType,
    TracebackType,
)

import torch

# The words of each kind; what they are for stands beside them.
_WORDS = {
    kind: frozenset(words.split())
    for kind, words in tomllib.loads(Path(__file__).with_suffix(".toml").read_text()).items()
}
VOCABULARY = _WORDS["torch"] | _WORDS["other"]
_BUILTINS = _WORDS["builtins"] | {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}
_HARMLESS_BUILTINS = _BUILTINS | _WORDS["harmless_builtins"]
_METHODS, _SPECIAL = (
    frozenset(f"__{name}__" for name in _WORDS[kind]) for kind in ("methods", "harmless_methods")
)
_MODULES, _HARMLESS, _HATCHES = _WORDS["modules"], _WORDS["harmless"], _WORDS["hatches"]
_SETTABLE = _WORDS["settable"]
# What Python raises on a text that it cannot read.
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def ordinary(own: Sequence[str], given: Sequence[str] = ()) -> bool:
    """Whether code can't do more than compute: nothing is run.

    Args:
        own: The cells that a student wrote.
        given: The cells that were handed out, whose names may be used.

    Example:
        >>> ordinary(["import torch", "def answer(q): return torch.softmax(q, -1)"])
        True
        >>> ordinary(["def answer(q): return q.grad_fn"])  # needs no answer; is looked at again
        False
        >>> ordinary(["import sys", "def answer(q): return sys._getframe()"])
        False
        >>> ordinary(["def answer(q): return eval('q')"])
        False
    """
    try:
        trees = [ast.parse(_plain(source)) for source in own]
        bound = {*_bound(trees), *_names(tuple(given))}
    except _UNREADABLE:
        return False
    return not any(True for tree in trees for _ in _odd(tree, bound))


def odd(source: str, own: Sequence[str], given: Sequence[str]) -> list[str]:
    """The names in a statement that no plain computation needs: nothing is run.

    Args:
        source: The statement.
        own: All cells that the student wrote.
        given: The cells that were handed out.

    Example:
        >>> odd("x = torch.fft.rfft(torch.ones(4))", ["import torch"], [])
        []
        >>> odd("x = torch.ops.aten.tanh_backward(x, y)", ["import torch", "x = y = 1"], [])
        ['tanh_backward', 'aten', 'ops']
        >>> odd("!ls", [], [])
        ['a command']
    """
    try:
        tree = ast.parse(source)
    except _UNREADABLE:
        return ["a command" if source.lstrip()[:1] in "!%?" else "what is no Python"]
    bound = {*_names(tuple(own)), *_names(tuple(given))}
    return list(dict.fromkeys(_odd(tree, bound, _fields(tuple(own)))))


def statements(source: str) -> list[str]:
    """The statements of a cell, one by one; a line of IPython's own is one, too.

    Example:
        >>> statements("%%time\\n!pip list\\nimport math; x = 1\\n@f\\ndef g():\\n    return x")
        ['%%time', '!pip list', 'import math; x = 1', '@f\\ndef g():\\n    return x']
    """
    if re.match(r"%%(?!time\b|capture)", source.lstrip()):
        return [source]
    lines = source.splitlines()
    magic = re.compile(r"\s*([%!?]|[\w, ]+=\s*[%!]).*|.*\w\?+\s*")
    parts = [line for line in lines if magic.fullmatch(line)]
    try:
        body = ast.parse(source).body
        parts = []
    except _UNREADABLE:
        lines = ["" if magic.fullmatch(line) else line for line in lines]
        try:
            body = ast.parse("\n".join(lines)).body
        except _UNREADABLE:
            return [source]
    last = 0
    for node in body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        text = "\n".join(lines[max(first - 1, last) : node.end_lineno])
        last = node.end_lineno or last
        parts += [text] if text.strip() else []
    return parts


@cache
def _names(given: tuple[str, ...]) -> frozenset[str]:
    # The same for all of a class.
    parts = (statement for source in given for statement in statements(source))
    return frozenset(_bound(_parsed(statement) for statement in parts))


@cache
def _plain_words() -> frozenset[str]:
    """Everything public of tensors, functions, layers and Python's own types that computes."""
    owners = (str, list, dict, set, tuple, float, int, complex, bytes, math, torch.Tensor, torch.nn,
              torch.nn.functional, torch.nn.init, torch.linalg, torch.special, torch.fft,
              torch.optim, torch._C._VariableFunctions)  # fmt: skip
    found = {
        name for o in owners for name in dir(o)
        if not isinstance(getattr(o, name, None), ModuleType)
    }  # fmt: skip
    found.update(name for name, value in vars(torch).items() if isinstance(value, torch.dtype))
    public = {name for name in found - _HATCHES if not name.startswith("_")}
    return frozenset({*VOCABULARY, *_HARMLESS, *public})


@cache
def _inner_words() -> frozenset[str]:
    """Names that lead to inner workings, and stay so when a class of one's own uses them, too."""
    owners = (sys, os, torch, torch._C, torch.nn, torch.utils, torch.autograd, builtins, CodeType,
              FunctionType, GeneratorType, CoroutineType, FrameType, TracebackType)  # fmt: skip
    return frozenset(name for owner in owners for name in vars(owner)) - _plain_words()


@cache
def _fields(own: tuple[str, ...]) -> frozenset[str]:
    """Attributes that a notebook gives its own classes and objects."""
    found: set[str] = set()
    for statement in (statement for source in own for statement in statements(source)):
        for node in ast.walk(_parsed(statement)):
            if isinstance(node, ast.ClassDef):
                found.update(_bound(node.body))
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
    return frozenset(n for n in found if not n.startswith("__")) - _inner_words()


def _parsed(source: str) -> ast.AST:
    try:
        return ast.parse(source)
    except _UNREADABLE:
        return ast.Module([], [])


def _plain(source: str) -> str:
    # The one magic that notebooks begin with; any other is no Python and therefore not ordinary.
    return source.replace("%matplotlib inline", "")


def _bound(trees: Iterable[ast.AST]) -> Iterable[str]:
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                yield node.id
            elif isinstance(node, _DEFINITIONS):
                yield node.name
            elif isinstance(node, ast.arg):
                yield node.arg
            elif isinstance(node, ast.alias):
                yield (node.asname or node.name).partition(".")[0]
            elif isinstance(node, ast.ExceptHandler) and node.name:
                yield node.name


def _odd(tree: ast.AST, bound: set[str], fields: frozenset[str] | None = None) -> Iterator[str]:
    """Names outside the vocabulary, or, where own fields are given, outside all that computes."""
    wide = fields is not None
    words = _plain_words() | (fields or frozenset()) if wide else VOCABULARY
    methods = _METHODS | _SPECIAL if wide else _METHODS
    allowed = _HARMLESS_BUILTINS if wide else _BUILTINS
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            store = not isinstance(node.ctx, ast.Load) and node.attr not in _SETTABLE
            own = isinstance(node.value, ast.Name) and node.value.id == "self"
            # A new name changes nothing of what others call.
            changes = store and not own and (not wide or node.attr in _plain_words())
            if changes or not (node.attr in words or node.attr in methods):
                yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id in vars(builtins):
                if node.id not in allowed:
                    yield node.id
            elif not (node.id in bound or node.id in ("display", "__name__")):
                yield node.id
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name not in _MODULES)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or "."
            if not (module in _MODULES or module.startswith("course_lib.")):
                yield module
            elif not module.startswith("course_lib"):
                yield from (a.name for a in node.names if a.name not in words)
        elif isinstance(node, _DEFINITIONS):
            if node.name.startswith("__") and node.name not in methods:
                yield node.name
        elif isinstance(node, ast.Match):
            # A pattern reads attributes whose names stand nowhere else.
            yield "match"
