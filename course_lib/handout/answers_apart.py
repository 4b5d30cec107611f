"""The bank as students get it: what is asked, without any code that answers it.

Alternatives are left out, mistakes and references lose their bodies, functions of the library that
answer are not imported, and every helper goes that only these used. What a check needs of them is
measured here and written into records (:mod:`course_lib.checks.recorded`). That takes minutes; it
is kept, and measured again where what it depends on has changed.
"""

import ast
import contextlib
import copy
import functools
import hashlib
import importlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

import course_lib
from course_lib.checks.exercise import BANK, Exercise, find
from course_lib.checks.recorded import SEEDS, SUFFIX, Records, returned_sketch
from course_lib.checks.report import composed, grade_source
from course_lib.experiments.source import Symbol, follow, reached, statements
from course_lib.files import write_whole
from course_lib.handout.library_apart import answers

REFERENCE = "reference"
_DEFINITION = (ast.FunctionDef, ast.ClassDef)
_IMPORT = (ast.Import, ast.ImportFrom)
# Answers without work: none earns a point.
_STUBS = {
    "not written": "raise NotImplementedError",
    "first argument": "return {args[0]}",
    "zeros": "return {torch.zeros_like(next(filter(torch.is_tensor, args), torch.tensor(0.0)))}",
}


def without_answers(
    source: str, wanted: Sequence[str] = (), emptied: Collection[Symbol] = ()
) -> str:
    """The source of a bank's module without what answers its exercise.

    ``wanted`` are names in it that other modules import, ``emptied`` functions of the library that
    answer exercises.
    """
    tree = ast.parse(source)
    body = [one for node in tree.body for one in (*_stand_ins(node, emptied), _emptied(node))
            if one is not None]  # fmt: skip
    optional = {name: node for node in body for name in _gives(node)}
    used = [node for node in body if not _gives(node) or _asked(node)]
    used += [optional[name] for name in wanted if name in optional]
    ids = {id(node) for node in used}
    while used:
        for name in _names(used.pop()):
            if name in optional and id(optional[name]) not in ids:
                ids.add(id(optional[name]))
                used.append(optional[name])
    body = [node for node in body if id(node) in ids]
    head = 0 if ast.get_docstring(tree) is None else 1
    while head < len(body) and getattr(body[head], "module", "") == "__future__":
        head += 1
    body.insert(head, *ast.parse("from course_lib.checks.recorded import recorded, records").body)
    if any("exercise" in _gives(node) for node in body):
        body += ast.parse("exercise.records = records(__file__)").body
    return ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))


def _emptied(node: ast.stmt) -> ast.stmt | None:
    """A statement without an answer; None if it is nothing else."""
    if isinstance(node, ast.ImportFrom) and not node.names:
        return None
    if not isinstance(node, _DEFINITION):
        return node
    kinds = [ast.unparse(decorator).partition("(")[0] for decorator in node.decorator_list]
    if "exercise.alternative" in kinds:
        return None
    if "exercise.mistake" in kinds:
        node.body = node.body[:1]  # what it says
    elif node.name == REFERENCE and isinstance(node, ast.FunctionDef):
        return _stand_in(node)
    return node


def _stand_ins(node: ast.stmt, emptied: Collection[Symbol]) -> Iterator[ast.stmt]:
    """Functions without bodies in the place of those that answer; they are imported no more."""
    if isinstance(node, ast.ImportFrom):
        for alias in list(node.names):
            symbol = follow((node.module or "", alias.name))
            if symbol in emptied and symbol is not None:
                node.names.remove(alias)
                function = copy.deepcopy(statements(symbol)[-1])
                assert isinstance(function, ast.FunctionDef)
                function.name, function.returns = alias.asname or alias.name, None
                for argument in ast.walk(function.args):
                    if isinstance(argument, ast.arg):
                        argument.annotation = None
                # What they are said to be when nothing is given is another module's name at times.
                function.args.defaults = [ast.Constant(...) for _ in function.args.defaults]
                function.args.kw_defaults = [
                    d and ast.Constant(...) for d in function.args.kw_defaults
                ]
                yield _stand_in(function)


def _stand_in(function: ast.FunctionDef) -> ast.stmt:
    function.decorator_list = [ast.Name("recorded", ast.Load())]
    function.body = ast.parse("raise NotImplementedError").body
    return function


def _asked(node: ast.stmt) -> bool:
    """Whether a statement registers something, or stands for the reference."""
    decorators = map(ast.unparse, getattr(node, "decorator_list", ()))
    return getattr(node, "name", "") == REFERENCE or any(
        text.startswith("exercise.") for text in decorators
    )


def _gives(node: ast.stmt) -> list[str]:
    """The names that a statement defines and that go unless they are used."""
    if isinstance(node, _DEFINITION):
        return [node.name]
    if isinstance(node, _IMPORT) and getattr(node, "module", "") != "__future__":
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
    return []


def _names(node: ast.AST) -> set[str]:
    return {found.id for found in ast.walk(node) if isinstance(found, ast.Name)}


def files(
    library: Path,
    identifiers: Sequence[str],
    kept: Path,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, bytes]:
    """The bank's files, by their path in the library: modules without answers, and records.

    Only the topics of the exercises are there; what was measured lies in the folder ``kept``.
    """
    bank = library / "bank"
    topics = sorted({identifier.partition(".")[0] for identifier in identifiers})
    paths = [*bank.glob("*.py"), *(p for t in topics for p in (bank / t).glob("*.py"))]
    trees = {path: path.read_text(encoding="utf-8") for path in sorted(paths)}
    imports = [
        alias.name
        for text in trees.values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(BANK)
        for alias in node.names
    ]
    emptied = answers(identifiers)
    found: dict[str, bytes] = {}
    for path, text in trees.items():
        exercise = f"{path.parent.name}.{path.stem}" in identifiers
        if exercise or path.stem in ("__init__", "inputs"):
            plain = without_answers(text, imports, emptied) if exercise else text
            found[path.relative_to(library).as_posix()] = (plain + "\n" * exercise).encode()
    stand_ins = {
        identifier: _stood_in(found[f"bank/{identifier.replace('.', '/')}.py"])
        for identifier in identifiers
    }
    for identifier, content in recorded_once(stand_ins, kept, say).items():
        found[f"bank/{identifier.replace('.', '/')}{SUFFIX}"] = content
    return found


def _stood_in(source: bytes) -> list[str]:
    """The functions of a module of which only records are left."""
    decorated = {
        node.name: list(map(ast.unparse, node.decorator_list))
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    }
    return sorted(name for name, decorators in decorated.items() if "recorded" in decorators)


def recorded_once(
    stand_ins: Mapping[str, Sequence[str]],
    kept: Path,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, bytes]:
    """The records of exercises, measured unless they lie in the folder ``kept``.

    What is there has a digest of all that it depends on in its name.
    """
    checks = Path(course_lib.__file__).parent / "checks"
    engine = [(f"course_lib.checks.{path.stem}", "*") for path in sorted(checks.glob("[!_]*.py"))]
    same = reached([*engine, (__name__, "record")])
    found = {}
    for identifier, names in stand_ins.items():
        own = reached([(f"{BANK}.{identifier}", "*")], closed=same)
        facts = [torch.__version__, SEEDS, names, sorted(own.items()), sorted(same.items())]
        key = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
        path = kept / f"{identifier}-{key}{SUFFIX}"
        if not path.is_file():
            say(identifier)
            content = record(identifier, names).write()
            for older in kept.glob(f"{identifier}-*{SUFFIX}"):
                older.unlink()
            write_whole(path, content)
        found[identifier] = path.read_bytes()
    return found


def record(identifier: str, names: Sequence[str]) -> Records:
    """Grade all known mistakes and right answers under known seeds; keep calls of ``names``."""
    records = Records()
    with _listening(identifier, names, records):
        exercise = find(identifier)
        for seed in SEEDS:
            # Right and wrong answers alike: some properties ask the reference for what comes
            # after an answer's own values.
            for source in (*stubs(exercise).values(), *(a.source for a in exercise.alternatives)):
                grade_source(exercise, source, seed)
            known = {mistake.name: mistake.source for mistake in exercise.mistakes}
            for name, source in {**known, **composed(identifier)}.items():
                outcomes = zip(*grade_source(exercise, source, seed).outcomes(), strict=True)
                records.mistakes[seed, name] = [
                    (passed, returned_sketch(returned)) for passed, returned in outcomes
                ]
    return records


@contextlib.contextmanager
def _listening(identifier: str, names: Sequence[str], records: Records) -> Iterator[None]:
    """Keep what functions of an exercise's module return when its properties call them."""
    module: ModuleType = importlib.import_module(f"{BANK}.{identifier}")
    exercise: Exercise = module.exercise
    reference, inside = exercise.reference, False

    def listening(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            outer, inside = not inside, True
            try:
                value = function(*args, **kwargs)
            finally:
                inside = not outer
            # What nothing was given for is the answer itself, such as an input that breaks.
            if outer and (args or kwargs):
                records.keep(name, args, kwargs, value)
            return value

        return call

    own = {name: vars(module)[name] for name in names}
    heard = {name: listening(name, function) for name, function in own.items()}
    vars(module).update(heard)
    exercise.reference = next((heard[n] for n in names if own[n] is reference), reference)
    try:
        yield
    finally:
        vars(module).update(own)
        exercise.reference = reference


def reference_source(exercise: Exercise) -> str:
    """Source code that stands for the library's own implementation."""
    function = exercise.reference
    return f"from {function.__module__} import {function.__name__} as {exercise.function}\n"


def stubs(exercise: Exercise) -> dict[str, str]:
    """Sources of answers without work, by what they do."""
    return {what: _stub(exercise, line) for what, line in _STUBS.items()}


def _stub(exercise: Exercise, line: str) -> str:
    """Source of an answer that does as ``line`` says for each value that is to be returned."""
    before, brace, rest = line.partition("{")
    values = ", ".join([rest.rstrip("}")] * max(1, len(exercise.returns))) if brace else ""
    return f"def {exercise.function}(*args, **kwargs):\n    {before}{values}\n"
