"""Records of answers that students don't get but a check needs.

Of the bank they get what is asked; :mod:`grader.checks.recorded` reads the rest. To measure it
takes minutes; it is kept, and measured again where what it depends on has changed.
"""

import contextlib
import functools
import hashlib
import importlib
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.base.files import write_whole
from grader.base.reach import Symbol, reached
from grader.base.tensors import torch
from grader.checks.exercise import ANSWERS, BANK, Exercise, find
from grader.checks.exercise import identifiers as every
from grader.checks.grading import grade_source
from grader.checks.recognition import composed
from grader.checks.recorded import SEEDS, SLICES, SUFFIX, Records, Unrecorded, returned_sketch
from grader.student.library_apart import answers

# Answers without work: none earns a point.
_STUBS = {
    "not written": "raise NotImplementedError",
    "first argument": "return {args[0]}",
    "zeros": "return {torch.zeros_like(next(filter(torch.is_tensor, args), torch.tensor(0.0)))}",
}


def files(
    library: Path,
    identifiers: Sequence[str],
    kept: Path,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, bytes]:
    """The bank's files for some exercises, by their path: what is asked, and records."""
    bank = BANK.partition(".")[2].replace(".", "/")
    topics = sorted({identifier.partition(".")[0] for identifier in identifiers})
    modules = {name: f"{bank}/{name.replace('.', '/')}" for name in identifiers}
    common = [path.relative_to(library).as_posix() for path in (library / bank).glob("*.py")]
    common += [f"{bank}/{topic}/__init__.py" for topic in topics]
    names = [*common, *(f"{module}.py" for module in modules.values())]
    found = {name: (library / name).read_bytes() for name in names}
    # Of all exercises, so that what is kept is of use for other assignments as well.
    emptied = answers(every())
    stand_ins = {name: _stood_in(find(name), emptied) for name in identifiers}
    for identifier, content in recorded_once(stand_ins, kept, say).items():
        found[f"{modules[identifier]}{SUFFIX}"] = content
    return found


def _stood_in(exercise: Exercise, emptied: Collection[Symbol]) -> list[str]:
    module = vars(importlib.import_module(f"{BANK}.{exercise.id}"))
    there = sorted(
        name
        for name, value in module.items()
        if inspect.isfunction(value) and (value.__module__, value.__name__) in emptied
    )
    return [exercise.reference.__name__, *there]


def recorded_once(
    stand_ins: Mapping[str, Sequence[str]],
    kept: Path,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, bytes]:
    """Records of exercises; kept ones have a digest of all that they depend on in their name."""
    same = reached([(__name__, "record")])
    found = {}
    for identifier, names in stand_ins.items():
        module = f"{BANK}.{identifier}"
        own = reached([(module, "*"), (module + ANSWERS, "*")], closed=same)
        texts = [(m.name, m.says, m.hint) for m in find(identifier).mistakes]
        version = torch.__version__ if torch else None
        facts = [version, SEEDS, names, texts, sorted(own.items()), sorted(same.items())]
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
    exercise, records = find(identifier), Records()
    records.named = [(mistake.name, mistake.says, mistake.hint) for mistake in exercise.mistakes]
    with _listening(exercise, names[1:], records):
        for seed in SEEDS:
            # Right and wrong answers alike: some properties ask the reference for what comes
            # after an answer's own values.
            for source in (*stubs(exercise).values(), *(a.source for a in exercise.alternatives)):
                grade_source(exercise, source, seed)
            known = {mistake.name: mistake.source for mistake in exercise.mistakes}
            for name, source in {**known, **composed(exercise)}.items():
                outcomes = zip(*grade_source(exercise, source, seed).outcomes(), strict=True)
                records.mistakes[seed, name] = [
                    (passed, returned_sketch(returned).rounded()) for passed, returned in outcomes
                ]
    return records


@contextlib.contextmanager
def _listening(exercise: Exercise, names: Sequence[str], records: Records) -> Iterator[None]:
    """Keep what the reference, and more functions of its module, return to its properties."""
    module, inside = vars(importlib.import_module(f"{BANK}.{exercise.id}")), False

    def listening(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        signature = inspect.signature(function)
        records.parameters[name] = [(p.name, int(p.kind)) for p in signature.parameters.values()]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            outer, inside = not inside, True
            try:
                value = function(*args, **kwargs)
            finally:
                inside = not outer
            # An item without arguments is the answer itself, such as an input that breaks.
            if outer and (args or kwargs):
                records.keep(name, args, kwargs, value)
            return value

        return call

    def slices(*args: Any) -> Any:
        # Whatever the answer, those of a seed are the same, and they take long.
        with contextlib.suppress(Unrecorded):
            return records.value(SLICES, args, {})
        exercise.reference, recorder = reference, exercise.reference
        value = type(exercise).slices(exercise, *args)
        exercise.reference = recorder
        records.keep(SLICES, args, {}, value)
        return value

    reference, own = exercise.reference, {name: module[name] for name in names}
    exercise.reference = listening(reference)
    vars(exercise)[SLICES] = slices
    module.update({name: listening(function) for name, function in own.items()})
    try:
        yield
    finally:
        module.update(own)
        exercise.reference = reference
        del vars(exercise)[SLICES]


def stubs(exercise: Exercise) -> dict[str, str]:
    """Sources of answers without work, by what they do."""
    sources = {}
    for what, line in _STUBS.items():
        # What is in braces stands there for each value that is to be returned.
        before, brace, rest = line.partition("{")
        values = ", ".join([rest.rstrip("}")] * max(1, len(exercise.returns))) if brace else ""
        sources[what] = f"def {exercise.function}(*args, **kwargs):\n    {before}{values}\n"
    return sources
