"""The grade matrix: what must be true of the exercises before anybody is graded by them."""

import contextlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pkgutil import resolve_name
from typing import Any

from course_tests.grader.checks.mutation_report import Survey, survey
from grader.authoring import Model
from grader.base.errors import Refused
from grader.checks.answer_proxy import AnswerProxy, Reply
from grader.checks.compare import alike, difference, misfit
from grader.checks.exercise import Exercise, find, given_source, identifiers, namespace
from grader.checks.grading import grade, grade_source, quiet
from grader.checks.naming import AND
from grader.checks.recognition import bank_reports, recognise
from grader.checks.report import Report
from grader.checks.seeds import sample_seed
from grader.checks.structure import copies
from grader.checks.trial import UNREAD, Trial
from grader.student.recording import stubs

Grader = Callable[[Exercise, str, str], Report]
# What a single slip leaves at least, where there are so many properties to pass.
THIRD, MANY = 1 / 3, 5


def reference_source(exercise: Exercise) -> str:
    """Source code that stands for the library's own implementation."""
    function = exercise.reference
    return f"from {function.__module__} import {function.__name__} as {exercise.function}\n"


def same(one: Report, other: Report) -> bool:
    """Tell whether verdicts and every value returned are the same in two reports."""
    verdicts = ([row.passed for row in report.rows] for report in (one, other))
    return next(verdicts) == next(verdicts) and alike(one.transcript, other.transcript)


@dataclass
class Tally:
    """Counts over exercises, seeds and banks; ``faults`` says what is wrong with each miss."""

    exercises: int = 0
    seeds: int = 0
    mistakes: int = 0
    rejected: int = 0
    named: int = 0
    alternatives: int = 0
    full_marks: int = 0
    stubs: int = 0
    zero: int = 0
    misnamed: int = 0
    faults: list[str] = field(default_factory=list)
    mutants: Survey | None = None

    def line(self) -> str:
        """The summary: a line on mutants where they were tried, and one on the banks."""
        about_mutants = f"{self.mutants.line()}\n" if self.mutants else ""
        return about_mutants + (
            f"exercises {self.exercises}, mistakes {self.rejected}/{self.mistakes} rejected,"
            f" {self.named}/{self.mistakes} named,"
            f" alternatives {self.full_marks}/{self.alternatives} full marks,"
            f" stubs {self.zero}/{self.stubs} zero, misnamed {self.misnamed}, seeds {self.seeds}"
        )

    def data(self) -> dict[str, Any]:
        return asdict(self)


def matrix(
    seeds: int = 20,
    only: Iterable[str] | None = None,
    grader: Grader | None = None,
    progress: Callable[[str], None] = lambda text: None,
    models: Mapping[str, Model] | None = None,
) -> Tally:
    """Grade stub, reference, mistakes and alternatives of every exercise under every seed.

    A mistake counts as rejected, or named, when it is under all seeds; an alternative as full and a
    stub as zero likewise. The reference must have full marks too. Misnamed is whatever gets the
    name of a mistake that it is not: an alternative, another mistake, and, where there are
    ``models`` (model answers by exercise), a mutant or a pair of mistakes.
    """
    tally = Tally(seeds=seeds, mutants=None if models is None else Survey())
    for identifier in only or identifiers():
        progress(identifier)
        exercise = find(identifier)
        tally.exercises += 1
        try:
            exercise.validate()
            _well_formed(exercise)
        except ValueError as error:
            tally.faults.append(str(error))
        _row(exercise, [f"{n:032x}" for n in range(seeds)], grader, tally)
        if tally.mutants is not None and models is not None:
            _mutants(exercise, models, tally, tally.mutants)
    return tally


def _mutants(exercise: Exercise, models: Mapping[str, Model], tally: Tally, found: Survey) -> None:
    if exercise.id not in models:
        tally.faults.append(f"{exercise.id}: no assignment has a model answer")
        return
    before, misnamed = len(found.faults), found.misnamed
    try:
        survey(exercise, models[exercise.id], found)
    except ValueError as error:
        tally.faults.append(str(error))
    tally.faults += found.faults[before:]
    tally.misnamed += found.misnamed - misnamed


def _row(exercise: Exercise, seeds: list[str], grader: Grader | None, tally: Tally) -> None:
    @cache
    def graded(source: str, seed: str) -> Report:
        # A mistake is asked two questions: whether it is rejected, and whether it is named. In this
        # process the first seed shows that grading it again gives the same; after that its report
        # is the one that the bank compares with.
        banked = () if grader or seed == seeds[0] else bank_reports(exercise, seed)
        same = next((report for mistake, report in banked if mistake.source == source), None)
        return same or (grader or grade_source)(exercise, source, seed)

    def over_seeds(what: str, source: str, wanted: Callable[[Report, str], str | None]) -> bool:
        for seed in seeds:
            report = graded(source, seed)
            broken = (f"{r.name} breaks off" for r in report.rows if r.why.startswith(UNREAD))
            if fault := wanted(report, seed) or next(broken, None):
                tally.faults.append(f"{exercise.id}, {what}, seed {int(seed, 16)}: {fault}")
                return False
        return True

    def full(report: Report, seed: str) -> str | None:
        if names := recognise(exercise, report, seed):
            tally.misnamed += 1
            return f"called {AND.join(mistake.name for mistake in names)}"
        failed = [f"{r.name} ({r.why})" for r in report.rows if not r.passed]
        return f"fails {'; '.join(failed)}" if failed else None

    def nothing(report: Report, seed: str) -> str | None:
        passed = [r.name for r in report.rows if r.passed]
        return f"passes {', '.join(passed)}" if passed else None

    over_seeds("reference", reference_source(exercise), full)
    tally.stubs += 1
    idle = [over_seeds(f"stub {w}", source, nothing) for w, source in stubs(exercise).items()]
    tally.zero += all(idle)
    for answer in exercise.alternatives:
        tally.alternatives += 1
        tally.full_marks += over_seeds(f"alternative {answer.name}", answer.source, full)
    for answer in exercise.mistakes:
        tally.mistakes += 1
        what = f"mistake {answer.name}"
        tally.rejected += over_seeds(
            what, answer.source, lambda r, _: "full marks" if r.score >= r.max_points else None
        )

        def name(report: Report, seed: str, wanted: str = answer.name) -> str | None:
            first = next(r for m, r in bank_reports(exercise) if m.name == wanted)
            pairs = zip(report.rows, first.rows, strict=False)
            judged = [(row, before) for row, before in pairs if not (row.open or before.open)]
            turned = [row.name for row, before in judged if row.passed != before.passed]
            if turned:
                return f"the verdict on {', '.join(turned)} depends on the seed"
            if found := [mistake.name for mistake in recognise(exercise, report, seed)]:
                tally.misnamed += found != [wanted]
                return None if found == [wanted] else f"named {AND.join(found)}"
            twins = [m.name for m, r in bank_reports(exercise, seed) if same(r, report)]
            return f"not named, fingerprint of {twins}"

        tally.named += over_seeds(what, answer.source, name)


@dataclass(frozen=True)
class Kept:
    """The share of an exercise's points that a wrong answer keeps, and what is wrong with that."""

    answer: str
    share: float
    announced: float  # by the dearest requirement that it fails
    taken: float
    fails: tuple[str, ...]
    fault: str = ""

    def line(self) -> str:
        fails = f"fails {', '.join(self.fails)}" if self.fails else "fails nothing"
        told = f"  <- {self.fault}" if self.fault else ""
        price = f"announced {self.announced:g}, taken {self.taken:g}"
        return f"  {self.share:4.0%}  {self.answer}: {price}; {fails}{told}"


class _Counting(AnswerProxy):
    """Counts how many calls come back right."""

    right = 0
    exercise: Exercise

    def call(self, name: str, *args: Any, **kwargs: Any) -> Reply:
        reply = super().call(name, *args, **kwargs)
        with contextlib.suppress(Exception):
            want = self.exercise.reference(*copies(args), **copies(kwargs))
            both = [v if isinstance(v, (list, tuple)) else [v] for v in (reply.value, want)]
            self.right += any(difference(g, w) is None for g, w in zip(*both, strict=True))
        return reply


def kept(exercise: Exercise, given: Iterable[str] = ()) -> list[Kept]:
    """What the mistakes of an exercise keep of its points, and what its given functions earn.

    A slip leaves a third of the points at least where there are five properties or more, unless the
    exercise's ``severe`` says why not. A given function handed in as it came earns nothing.
    """
    handed = {name.rpartition(".")[2]: resolve_name(name) for name in given}
    arity = len(inspect.signature(exercise.reference).parameters)
    sources = {m.name: m.source for m in exercise.mistakes}
    for name, function in handed.items():
        if name not in sources and len(inspect.signature(function).parameters) == arity:
            sources[name] = f"{given_source(function)}\n\n{exercise.function} = {name}\n"
    found = []
    for name, source in sources.items():
        with quiet():
            proxy = _Counting.local(namespace(exercise, source))
            proxy.exercise = exercise
            report = grade(exercise, proxy, "0", examples=False)
        share = report.score / report.max_points
        fault = ""
        if name in handed:
            fault = "given, and earns points unchanged" if share else ""
        elif share < THIRD and len(exercise.properties) >= MANY and name not in exercise.severe:
            fault = "less than a third for one slip"
        elif share > 1 / 2 and not proxy.right and not exercise.any_size:
            fault = "more than a half without a right value"
        failed = [row for row in report.rows if not row.passed]
        announced = max((row.points for row in failed), default=0)
        taken = report.max_points - report.score
        fails = tuple(row.name for row in failed)
        found.append(Kept(name, share, announced, taken, fails, fault))
    return found


def _well_formed(exercise: Exercise) -> None:
    """A mistake must look right at first sight: same shapes and dtypes on the visible example."""
    trial = Trial(exercise, AnswerProxy.local({}), sample_seed("0", exercise.id, "example"))
    args = exercise.example(trial)
    want = trial.want(*args)
    for answer in exercise.mistakes:
        reply = AnswerProxy.local(namespace(exercise, answer.source)).call(exercise.function, *args)
        blank = "" if exercise.any_size else misfit(reply.value, want, exact=True)
        if reply.error is not None or blank:
            raise Refused(
                f"{exercise.id}: mistake {answer.name} gives itself away on the visible example:"
                f" {reply.error or blank}"
            )
