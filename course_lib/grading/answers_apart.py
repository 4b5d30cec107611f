"""The bank as students get it: what is asked, without any code that answers it.

Alternatives are left out, mistakes and references lose their bodies, and so does every helper that
only these used. What a check needs of them is measured here and written into records
(:mod:`course_lib.checks.recorded`).
"""

import ast
import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from course_lib.checks.exercise import BANK, Exercise, find
from course_lib.checks.matrix import stubs
from course_lib.checks.recorded import SEEDS, SUFFIX, Records, returned_sketch
from course_lib.checks.report import grade_source

REFERENCE = "reference"
_DEFINITION = (ast.FunctionDef, ast.ClassDef)
_IMPORT = (ast.Import, ast.ImportFrom)


def without_answers(source: str, wanted: Sequence[str] = ()) -> str:
    """The source of a bank's module without what answers its exercise.

    Args:
        source: The module's.
        wanted: Names in it that other modules of the bank import.

    Example:
        >>> print(without_answers('''
        ... import math
        ... def reference(x: float) -> float:
        ...     return _root(x)
        ... def _root(x): return math.sqrt(x)
        ... exercise = Exercise(reference=reference)
        ... @exercise.mistake("Is that a root?")
        ... def half(x):
        ...     "A root is half."
        ...     return x / 2
        ... '''))
        from course_lib.checks.recorded import recorded, records
        <BLANKLINE>
        @recorded
        def reference(x: float) -> float:
            raise NotImplementedError
        exercise = Exercise(reference=reference)
        <BLANKLINE>
        @exercise.mistake('Is that a root?')
        def half(x):
            \"""A root is half.\"""
        exercise.records = records(__file__)
    """
    tree = ast.parse(source)
    body = [emptied for node in tree.body if (emptied := _emptied(node)) is not None]
    optional = {name: node for node in body for name in _gives(node)}
    used = [node for node in body if not _gives(node) or _asked(node)]
    used += [optional[name] for name in wanted if name in optional]
    kept = {id(node) for node in used}
    while used:
        for name in _names(used.pop()):
            if name in optional and id(optional[name]) not in kept:
                kept.add(id(optional[name]))
                used.append(optional[name])
    body = [node for node in body if id(node) in kept]
    head = 0 if ast.get_docstring(tree) is None else 1
    while head < len(body) and getattr(body[head], "module", "") == "__future__":
        head += 1
    body.insert(head, *ast.parse("from course_lib.checks.recorded import recorded, records").body)
    if any("exercise" in _gives(node) for node in body):
        body += ast.parse("exercise.records = records(__file__)").body
    return ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))


def _emptied(node: ast.stmt) -> ast.stmt | None:
    """A statement without an answer; None if it is nothing else."""
    if not isinstance(node, _DEFINITION):
        return node
    kinds = [ast.unparse(decorator).partition("(")[0] for decorator in node.decorator_list]
    if "exercise.alternative" in kinds:
        return None
    if "exercise.mistake" in kinds:
        node.body = node.body[:1]  # what it says
    elif node.name == REFERENCE:
        node.decorator_list = [ast.Name("recorded", ast.Load())]
        node.body = ast.parse("raise NotImplementedError").body
    return node


def _asked(node: ast.stmt) -> bool:
    """Whether a statement registers something, or stands for the reference."""
    decorators = map(ast.unparse, getattr(node, "decorator_list", ()))
    return any(text.startswith("exercise.") or text == "recorded" for text in decorators)


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
    library: Path, identifiers: Sequence[str], say: Callable[[str], None] = lambda text: None
) -> dict[str, bytes]:
    """The bank's files, by their path in the library: modules without answers, and records.

    Args:
        library: The folder of ``course_lib``.
        identifiers: The exercises; only their topics are there.
        say: Called with each exercise as it is recorded.
    """
    bank = library / "bank"
    topics = sorted({identifier.partition(".")[0] for identifier in identifiers})
    paths = [*bank.glob("*.py"), *(p for t in topics for p in (bank / t).glob("*.py"))]
    trees = {path: path.read_text(encoding="utf-8") for path in sorted(paths)}
    wanted = [
        alias.name
        for text in trees.values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(BANK)
        for alias in node.names
    ]
    found: dict[str, bytes] = {}
    for path, text in trees.items():
        exercise = f"{path.parent.name}.{path.stem}" in identifiers
        if exercise or path.stem in ("__init__", "inputs"):
            plain = without_answers(text, wanted) if exercise else text
            found[path.relative_to(library).as_posix()] = (plain + "\n" * exercise).encode()
    for identifier, known in record(identifiers, say).items():
        found[f"bank/{identifier.replace('.', '/')}{SUFFIX}"] = known.write()
    return found


def record(
    identifiers: Sequence[str], say: Callable[[str], None] = lambda text: None
) -> dict[str, Records]:
    """Grade all known mistakes and right answers under the known seeds, and keep what is asked.

    Returns:
        For each exercise the calls of its reference, and its mistakes.
    """
    found = {identifier: Records() for identifier in identifiers}
    with contextlib.ExitStack() as stack:
        for identifier in identifiers:
            stack.enter_context(_listening(identifier, found[identifier]))
        for identifier in identifiers:
            say(identifier)
            exercise = find(identifier)
            for seed in SEEDS:
                # Right and wrong answers alike: some properties ask the reference for what comes
                # after an answer's own values.
                for source in (
                    *stubs(exercise).values(),
                    *(a.source for a in exercise.alternatives),
                ):
                    grade_source(exercise, source, seed)
                for mistake in exercise.mistakes:
                    report = grade_source(exercise, mistake.source, seed)
                    outcomes = zip(*report.outcomes(), strict=True)
                    found[identifier].mistakes[seed, mistake.name] = [
                        (passed, returned_sketch(returned)) for passed, returned in outcomes
                    ]
    return found


@contextlib.contextmanager
def _listening(identifier: str, records: Records) -> Iterator[None]:
    """Keep what an exercise's own reference returns, whoever calls it; the library's is public."""
    module: ModuleType = importlib.import_module(f"{BANK}.{identifier}")
    exercise: Exercise = module.exercise
    reference = exercise.reference
    if vars(module).get(REFERENCE) is not reference:
        yield
        return

    @functools.wraps(reference)
    def listening(*args: Any, **kwargs: Any) -> Any:
        value = reference(*args, **kwargs)
        records.keep(args, kwargs, value)
        return value

    module.reference = exercise.reference = listening  # type: ignore[attr-defined]
    try:
        yield
    finally:
        module.reference = exercise.reference = reference  # type: ignore[attr-defined]
