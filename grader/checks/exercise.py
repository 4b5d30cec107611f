"""Graded exercises: a signature, its properties, and the banks of answers it is held to.

An exercise lives in a module ``<topic>/<name>.py`` of the course's bank as the global ``exercise``,
with its properties; its answers lie beside it in ``<name>_answers.py``, or in the place of that
records of them. It is found by its id ``"<topic>.<name>"``. Everything registers itself by
decorators; ``CONTRIBUTING.md`` shows an exercise from start to end.
"""

import ast
import difflib
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from grader.base.course import course
from grader.base.errors import Refused
from grader.checks.forbidden import FORBIDDEN
from grader.checks.probe import part
from grader.checks.protocol import built
from grader.checks.recorded import SLICES, SUFFIX, Records
from grader.checks.trial import Trial

# Where the exercises are. They import this module, so it knows them by name only.
BANK = course().bank
# Ending of the name of a module with answers.
ANSWERS = "_answers"
# Imports of the first cell of every assignment; answers of the banks may rely on them too.
PRELUDE = course().prelude


@dataclass(frozen=True)
class Property:
    """One public requirement: what it says, its share of the points, what to do when it fails."""

    name: str
    says: str
    points: float
    hint: str
    run: Callable[[Trial], None]


@dataclass(frozen=True)
class Answer:
    """A banked answer as source code that defines the exercise's function.

    For a mistake ``says`` is the misconception and ``hint`` what the student is told; for an
    alternative ``says`` is what is different about it.
    """

    name: str
    source: str
    says: str
    hint: str = ""


def _unanswered(*args: Any, **kwargs: Any) -> Any:
    raise LookupError("an exercise is found with its answers by `find`")


@dataclass(eq=False)
class Exercise:
    """A graded exercise."""

    id: str  # ``"<topic>.<name>"``, stable once released
    points: float  # those of the properties add up to it
    minutes: int  # how long a good student needs
    difficulty: int  # from 1 (a line) to 5 (an afternoon's puzzle)
    chapter: str  # where the idea is explained, such as ``"03_attention.html#scale"``
    example: Callable[[Trial], tuple[Any, ...]]  # arguments of the visible example
    function: str = ""  # the name that the student defines, unless it is the id's
    outcomes: tuple[str, ...] = ()  # ids of ``book/outcomes.yml``
    # functions handed to the student above this exercise
    given: tuple[Callable[..., Any], ...] = ()
    returns: tuple[str, ...] = ()  # names of the values of a returned tuple
    forbidden: tuple[str, ...] = ()  # keys of :data:`grader.checks.forbidden.FORBIDDEN`
    # why a mistake, by its name, may cost nearly all points; see ``course matrix --points``
    severe: Mapping[str, str] = field(default_factory=dict)
    any_size: bool = False  # whether answers may differ in size, as inputs that are asked for do
    reference: Callable[..., Any] = _unanswered  # the implementation that answers are compared with
    records: Records | None = None  # where reference and mistakes have no code
    properties: list[Property] = field(default_factory=list)
    mistakes: list[Answer] = field(default_factory=list)
    alternatives: list[Answer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.function = self.function or self.id.rpartition(".")[2]

    @property
    def grade_id(self) -> str:
        """The id of the graded cell: nbgrader allows no dot in it."""
        return self.id.replace(".", "-")

    def prop(
        self, points: float, hint: str, says: str = ""
    ) -> Callable[[Callable[[Trial], None]], Callable[[Trial], None]]:
        """Register a property: its name is the function's, and the docstring what it ``says``."""

        def register(run: Callable[[Trial], None]) -> Callable[[Trial], None]:
            name = run.__name__.replace("_", " ")
            self.properties.append(Property(name, says or _said(run), points, hint, run))
            return run

        return register

    def slices(self, keep: Sequence[tuple[slice, ...]], *args: Any) -> list[Any]:
        """Slices of what the reference returns; large arguments are fixtures.

        What is returned and given may be too large for records, which hold these slices.
        """
        if self.records is not None:
            value: list[Any] = self.records.value(SLICES, (keep, *args), {})
            return value
        value = self.reference(*built(args))
        return [part(value, [(axis.start, axis.stop) for axis in place]) for place in keep]

    def answer(self, reference: Callable[..., Any]) -> Callable[..., Any]:
        """Register the reference."""
        self.reference = reference
        return reference

    def mistake(self, hint: str) -> Callable[[Any], Any]:
        """Register a wrong answer; its docstring states the misconception in one sentence."""

        def register(answer: Any) -> Any:
            self.mistakes.append(self._bank(answer, hint))
            return answer

        return register

    def alternative(self, answer: Any) -> Any:
        """Register a right answer that is not the reference; its docstring says what differs."""
        self.alternatives.append(self._bank(answer, ""))
        return answer

    def _bank(self, answer: Any, hint: str) -> Answer:
        return Answer(answer.__name__, source_as(answer, self.function), _said(answer), hint)

    def validate(self) -> None:
        """Raise ValueError with all that is wrong with the definition itself."""
        wrong = []
        total = sum(p.points for p in self.properties)
        if abs(total - self.points) > 1e-9:
            wrong.append(f"properties are worth {total:g} points, the exercise {self.points:g}")
        names = [p.name for p in self.properties]
        names += [a.name for a in [*self.mistakes, *self.alternatives]]
        wrong += [f"two entries are called {n!r}" for n in {n for n in names if names.count(n) > 1}]
        if not 3 <= len(self.mistakes) <= 12:
            wrong.append(f"{len(self.mistakes)} mistakes, expected 3 to 12")
        if not self.alternatives:
            wrong.append("no alternative")
        if unknown := sorted(set(self.forbidden) - set(FORBIDDEN)):
            wrong.append(f"forbidden names unknown kinds: {', '.join(unknown)}")
        if unknown := sorted(set(self.severe) - {m.name for m in self.mistakes}):
            wrong.append(f"severe names what is no mistake: {', '.join(unknown)}")
        if not 1 <= self.difficulty <= 5 or self.minutes <= 0:
            wrong.append("difficulty must be 1 to 5, and minutes positive")
        wrong += [f"mistake {m.name!r} has no hint" for m in self.mistakes if not m.hint]
        if wrong:
            raise ValueError(f"exercise {self.id}: " + "; ".join(wrong))


def _said(function: Any) -> str:
    if not function.__doc__:
        raise ValueError(f"{function.__qualname__} needs a docstring of one sentence")
    return " ".join(inspect.cleandoc(function.__doc__).split("\n\n")[0].split())


def _written(answer: Any) -> str:
    """The source of an answer, or what :func:`changed` has given it."""
    return getattr(answer, "source", "") or textwrap.dedent(inspect.getsource(answer))


def changed(right: Any, *places: tuple[str, str]) -> Callable[[Any], Any]:
    """Make a mistake of another answer: in its source, the first of each pair becomes the second.

    The function below the decorator has a name and a docstring alone.
    """
    source = _written(right)
    for was, now in places:
        if (times := source.count(was)) != 1:
            raise ValueError(f"{right.__name__} has {was!r} {times} times, expected once")
        source = source.replace(was, now)

    def register(mistake: Any) -> Any:
        mistake.source = source
        return mistake

    return register


def source_as(answer: Any, name: str) -> str:
    """The source of a function or class, undecorated, without docstring and renamed to ``name``."""
    tree = ast.parse(_written(answer))
    node = tree.body[0]
    assert isinstance(node, (ast.FunctionDef, ast.ClassDef))
    node.decorator_list = []
    node.name = name
    if ast.get_docstring(node) is not None:
        node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(ast.fix_missing_locations(tree))


def namespace(exercise: Exercise, source: str) -> dict[str, Any]:
    """The global names after running the prelude, the given functions and ``source``."""
    names: dict[str, Any] = {"__name__": "__answer__"}
    exec(_compiled(PRELUDE), names)
    for function in exercise.given:
        exec(_compiled(given_source(function)), names)
    exec(_compiled(source), names)
    return names


@cache
def _compiled(source: str) -> Any:
    return compile(source, "<answer>", "exec")


@cache
def given_source(function: Callable[..., Any]) -> str:
    """The source of a library function as it is handed to the student."""
    return textwrap.dedent(inspect.getsource(function))


@cache
def topics() -> tuple[str, ...]:
    """The packages of the bank, each with the exercises of one assignment."""
    package = importlib.import_module(BANK)
    return tuple(m.name for m in pkgutil.iter_modules(package.__path__) if m.ispkg)


@cache
def identifiers() -> tuple[str, ...]:
    """The ids of all exercises, by topic and then in the order of their module names."""
    ids = []
    for topic in topics():
        package = importlib.import_module(f"{BANK}.{topic}")
        names = [module.name for module in pkgutil.iter_modules(package.__path__)]
        ids += [f"{topic}.{name}" for name in names if not name.endswith(ANSWERS)]
    return tuple(ids)


def find(identifier: str) -> Exercise:
    """The exercise with this id; a refusal names the nearest ids."""
    if identifier not in identifiers():
        near = difflib.get_close_matches(str(identifier), identifiers())
        meant = f"did you mean {', '.join(near)}?" if near else f"topics are {', '.join(topics())}"
        raise Refused(f"no exercise {identifier!r}; {meant}")
    return _answered(identifier)


@cache
def _answered(identifier: str) -> Exercise:
    module = importlib.import_module(f"{BANK}.{identifier}")
    exercise, path = module.exercise, Path(str(module.__file__))
    assert isinstance(exercise, Exercise)
    if path.with_stem(path.stem + ANSWERS).exists():
        importlib.import_module(f"{BANK}.{identifier}{ANSWERS}")
        return exercise
    exercise.records = records = Records.read(path.with_suffix(SUFFIX).read_bytes())
    exercise.mistakes += [Answer(name, "", says, hint) for name, says, hint in records.named]
    exercise.reference, *others = records.functions()
    vars(module).update({function.__name__: function for function in others})
    return exercise
