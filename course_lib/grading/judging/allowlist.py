"""Whether a notebook uses everyday names only, and which of its statements lead elsewhere.

An answer to an exercise that forbids something is graded where that is gone for good
(:func:`course_lib.grading.judging.judge.judge_notebook`), and those points count. What every name
is in a vocabulary of, and what names nothing that is forbidden, may be spared that look: in the
student's own process, too, the forbidden is refused, and code that walks up the stack or reaches
for the interpreter's inner workings to undo it needs names that no honest answer needs. A name that
is missing here costs time, never points.

The look leaves out what is *odd*: statements with names that lead to inner workings, to other
programs or to packages that are not the course's. What earns as much without them is believed. For
the rest a person is asked.

What is read is what IPython runs: a cell after its transformations.
"""

import ast
import builtins
import collections
import importlib.util
import itertools
import math
import os
import random
import re
import sys
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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

import course_lib
from course_lib.checks.forbidden import FORBIDDEN
from course_lib.checks.import_stubs import absent
from course_lib.grading.judging import as_run

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
_WIDE_MODULES = _MODULES | _WORDS["harmless_modules"]
_SETTABLE = _WORDS["settable"]
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# Methods that give an object of one's own an attribute of a name that is handed over.
_KEEPING = ("register_buffer", "register_parameter", "add_module")
# Put in place of what Python and imports give, before what is looked at: no way leads around them.
_GUARD = """
def _guarded(words, own, inner, allowed, texts):
    import builtins, functools, inspect, sys
    reach, change, kind, test, load = getattr, setattr, type, isinstance, builtins.__import__
    wraps, signature, listed, Module = functools.wraps, inspect.signature, dir, kind(sys)
    refused = AttributeError("not known while an answer is looked at")
    def fetch(thing, name, *default):
        if kind(name) is not str or not (name in words or name in own): raise refused
        return reach(thing, name, *default)
    def put(thing, name, value):
        known = name in inner or name in words and name not in own or name[:2] == "__"
        if kind(name) is not str or known or test(thing, (kind, Module)): raise refused
        own.add(name), change(thing, name, value)
    class Asking(kind):
        def __call__(self, x): return fetch(0, 0) if issubclass(kind(x), kind) else kind(x)
        def __instancecheck__(self, thing): return test(thing, kind)
    def wrapped(old):
        known = (kind(abs), kind(fetch))
        return lambda new: wraps(old)(new) if test(old, known) and test(new, known) else fetch(0, 0)
    @functools.cache
    def part(module):
        class Part(Module):
            def __getattr__(self, name):
                value = reach(module, name, None)
                if name == "__all__": return [n for n in value or listed(module) if n in words]
                inside, library = test(value, Module), module.__name__[:11] == "course_lib."
                known = name in words or name == "__version__" or library and not inside
                if value is None or not known: raise refused
                if value is signature: return lambda function: signature(function)
                return wrapped if value is wraps else part(value) if inside else value
        return Part(module.__name__)
    def bring(name, *rest):
        if name not in texts: return part(load(name, *rest))
        if name not in sys.modules:
            names = vars(sys.modules.setdefault(name, Module(name)))
            names["__builtins__"] = given
            exec(texts[name], names)
        return sys.modules[name]
    given = dict((n, v) for n, v in vars(builtins).items() if n in allowed)
    given.update(getattr=fetch, setattr=put, type=Asking("type", (), dict()), __import__=bring)
    sys.path[:] = filter(None, sys.path)
    return given
__builtins__ = _guarded({words!r}, {own!r}, {inner!r}, {allowed!r}, {texts!r})
del _guarded
"""


def uses_known_names(
    own: Sequence[str], given: Sequence[str] = (), kinds: Sequence[str] = ()
) -> bool:
    """Whether code can't do more than compute, nor by what is forbidden: nothing is run.

    A student wrote ``own``; names of ``given``, which was handed out, may be used.

    Example:
        >>> uses_known_names(["import torch", "def answer(q): return torch.softmax(q, -1)"])
        True
        >>> uses_known_names(["import sys", "def answer(q): return sys._getframe()"])
        False
        >>> uses_known_names(["x = torch.ones(3).unfold(0, 2, 1)"], kinds=["patches"])
        False
    """
    banned = [FORBIDDEN[kind] for kind in kinds]
    forbidden = {w for b in banned for w in f"{b.names} {b.allied}".split()}
    try:
        trees = [as_run.tree(source) for source in own]
        bound = {*_bound(trees), *_names(tuple(given))}
    except as_run.UNREADABLE:
        return False
    return not any(
        as_run.by_word(source) or any(True for _ in _odd(tree, bound)) or forbidden & _reached(tree)
        for source, tree in zip(own, trees, strict=True)
    )


class Reading:
    """Reads what of a notebook no plain computation needs; nothing is run.

    Example:
        >>> reading = Reading(["import torch", "x = y = 1"])
        >>> reading.unusual_names("x = torch.fft.rfft(torch.ones(4))")
        []
        >>> reading.unusual_names("x = torch.ops.aten.tanh_backward(x, y)")
        ['tanh_backward', 'aten', 'ops']
        >>> reading.unusual_names("!ls")
        ['a command']
    """

    def __init__(
        self,
        own: Sequence[str],
        given: Sequence[str] = (),
        modules: Mapping[str, str] | None = None,
    ) -> None:
        self.modules = dict(modules or {})
        written = [(match, source) for source in own if (match := as_run.WRITES.match(source))]
        texts = {match[1]: source[match.end() :] for match, source in written}
        texts |= {name.removesuffix(".py"): text for name, text in self.modules.items()}
        self.own = (*own, *texts.values())
        self.bound = _names(self.own) | _names(tuple(given))
        fields = _fields(self.own) | _names(tuple(texts.values()))
        self.fields = frozenset(n for n in fields if n[:2] != "__") - _inner_words()
        # What is there already is what an import finds first.
        self.texts = {n: text for n, text in texts.items() if not importlib.util.find_spec(n)}
        self.texts |= {name: self._module(text)[0] for name, text in self.texts.items()}

    def unusual_names(self, part: str) -> list[str]:
        """The names in a statement that lead elsewhere; one of :func:`.as_run.statements`."""
        if written := as_run.WRITES.match(part):
            return self._module(part[written.end() :])[1]
        try:
            tree = as_run.tree(part)
        except as_run.UNREADABLE:
            return ["what is no Python"]
        if any(isinstance(n, ast.Name) and n.id == "get_ipython" for n in ast.walk(tree)):
            return ["a command"]
        if re.search(r"#\s*type:(?!\s*ignore)", part):
            # TorchScript evaluates it.
            return ["a type comment"]
        names = _odd(tree, self.bound, self.fields, self.texts)
        return list(dict.fromkeys(names))

    def _module(self, text: str) -> tuple[str, list[str]]:
        """A module's text without what is odd, and what that is."""
        parts = {part: self.unusual_names(part) for part in as_run.statements(text)}
        plain = "\n".join(part for part, names in parts.items() if not names)
        return plain, [name for names in parts.values() for name in names]

    def plain_modules(self) -> dict[str, str]:
        """The modules beside the notebook, without what is odd."""
        return {name: self._module(text)[0] for name, text in self.modules.items()}

    def guard(self) -> str:
        """What has to run before the statements: it guards what they reach as they reach it."""
        allowed = {*_HARMLESS_BUILTINS, "display", "__build_class__", "__name__"}
        words, own, inner = set(plain_words()), {*self.fields, *_SETTABLE}, set(_inner_words())
        return _GUARD.format(words=words, own=own, inner=inner, allowed=allowed, texts=self.texts)


def _reached(tree: ast.AST) -> set[str]:
    """Names of what others define: attributes, and what is imported."""
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return names.union(alias.name for node in imports for alias in node.names)


@cache
def _names(sources: tuple[str, ...]) -> frozenset[str]:
    # The same for all of a class.
    return frozenset(_bound(_parts(sources)))


def _parts(sources: Iterable[str]) -> Iterator[ast.AST]:
    for part in (part for source in sources for part in as_run.statements(source)):
        try:
            yield as_run.tree(part)
        except as_run.UNREADABLE:
            continue


@cache
def plain_words() -> frozenset[str]:
    """Everything public of tensors, functions, layers and Python's own types that computes."""
    owners = (str, list, dict, set, tuple, float, int, complex, bytes, math, random.Random,
              itertools, collections, torch.Tensor, torch.nn, torch.nn.Module, torch.optim,
              torch.nn.functional, torch.nn.init, torch.linalg, torch.special, torch.fft,
              torch._C._VariableFunctions)  # fmt: skip
    words = {
        name for o in owners for name in dir(o)
        if not isinstance(getattr(o, name, None), ModuleType)
    }  # fmt: skip
    words.update(torch.functional.__all__)
    words.update(name for name, value in vars(torch).items() if isinstance(value, torch.dtype))
    public = {name for name in words - _HATCHES if not name.startswith("_")}
    return frozenset({*VOCABULARY, *_HARMLESS, *public})


@cache
def _inner_words() -> frozenset[str]:
    """Names that lead to inner workings, and stay so when a class of one's own uses them, too."""
    owners = (sys, os, torch, torch._C, torch.nn, torch.utils, torch.autograd, builtins, CodeType,
              FunctionType, GeneratorType, CoroutineType, FrameType, TracebackType)  # fmt: skip
    return frozenset(name for owner in owners for name in vars(owner)) - plain_words()


@cache
def _fields(own: tuple[str, ...]) -> frozenset[str]:
    """Attributes that a notebook gives its own classes and objects."""
    names: set[str] = set()
    for tree in _parts(own):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                names.update(_bound(node.body))
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.attr)
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _KEEPING:
                first = node.args[0] if node.args else None
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    names.add(first.value)
    return frozenset(names)


@cache
def _offered(module: str) -> frozenset[str]:
    """The names that a module of the library has for answers: what it defines itself."""
    _, _, rest = module.partition(".")
    if rest in ("checks", "figures"):
        return frozenset({"check", "figure"})
    path = Path(course_lib.__file__).parent.joinpath(*rest.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not (rest == "plots" or rest.split(".")[0] == "data") or not path.is_file():
        return frozenset()
    names: set[str] = set()
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.ImportFrom) and not str(node.module).startswith("course_lib"):
            continue
        if not isinstance(node, ast.Import):
            names.update(_bound([node]))
    return frozenset(name for name in names if not name.startswith("_"))


def _of_library(node: ast.ImportFrom) -> Iterator[str]:
    """What an import takes from the course's library that is not meant for answers."""
    module = str(node.module)
    for name in (alias.name for alias in node.names):
        inside = f"{module}.{name}" if module == "course_lib" else module
        # Stand-ins, of which any use raises; the grader's own part is really there.
        stands_in = absent(inside) and not inside.startswith("course_lib.grading")
        offered = module == "course_lib" and name in ("data", "plots", "figures")
        if not (stands_in or offered or name in _offered(module)):
            yield name


def binds(part: str) -> frozenset[str]:
    """The names that a statement defines."""
    return _names((part,))


def _bound(trees: Iterable[ast.AST]) -> Iterator[str]:
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
            elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
                yield node.name
            elif isinstance(node, ast.MatchMapping) and node.rest:
                yield node.rest
            elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                yield from _starred(node) & plain_words()


def _starred(node: ast.ImportFrom) -> set[str]:
    """What an import of all names brings, of the modules where that leads nowhere."""
    if node.module is None or node.module not in _WORDS["starred"]:
        return set()
    module = importlib.import_module(node.module)
    return set(getattr(module, "__all__", [n for n in dir(module) if not n.startswith("_")]))


def _odd(
    tree: ast.AST,
    bound: Collection[str],
    fields: frozenset[str] | None = None,
    beside: Collection[str] = (),
) -> Iterator[str]:
    """Names outside the vocabulary, or, where own fields are given, outside all that computes."""
    wide = fields is not None
    plain = plain_words() if wide else VOCABULARY
    words = plain | (fields or frozenset())
    methods = _METHODS | _SPECIAL if wide else _METHODS
    allowed = _HARMLESS_BUILTINS if wide else _BUILTINS
    modules = _WIDE_MODULES.union(beside) if wide else _MODULES
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            store = not isinstance(node.ctx, ast.Load) and node.attr not in _SETTABLE
            own = isinstance(node.value, ast.Name) and node.value.id == "self"
            # A new name changes nothing of what others call.
            changes = store and not own and (not wide or node.attr in plain_words())
            if changes or not (node.attr in words or node.attr in methods):
                yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id in vars(builtins):
                if node.id not in allowed:
                    yield node.id
            elif node.id not in ("display", "__name__") and (
                node.id not in bound or node.id == "get_ipython" or node.id[:2] == "__"
            ):
                yield node.id
        elif isinstance(node, (ast.Name, *_DEFINITIONS)):
            name = node.id if isinstance(node, ast.Name) else node.name
            if name.startswith("__") and name not in methods:
                yield name
        elif isinstance(node, ast.Import):
            for name in (alias.name for alias in node.names):
                if name not in modules and not (name.startswith("course_lib.") and _offered(name)):
                    yield name
        elif isinstance(node, ast.ImportFrom):
            module = "." if node.level else str(node.module)
            if module.partition(".")[0] == "course_lib":
                yield from _of_library(node)
            elif module not in modules:
                yield module
            elif module not in beside:
                names = [alias.name for alias in node.names]
                star = wide and names == ["*"] and _starred(node)
                yield from (n for n in names if not (n in plain or star))
        elif isinstance(node, ast.MatchClass):
            # A pattern reads attributes whose names stand nowhere else, or not even there.
            yield from (name for name in node.kwd_attrs if name not in words)
            if wide and node.patterns and ast.unparse(node.cls) not in vars(builtins):
                yield "a pattern by place"
