"""One hand-in at work in the sandbox: its cells run, and its answers can be tried and changed."""

import contextlib
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from importlib.resources import files
from typing import Any

from grader.authoring import CHECK, Assignment
from grader.cells import id_of
from grader.checks.answer_proxy import AnswerLost, AnswerProxy, Failure
from grader.checks.exercise import Exercise, find
from grader.checks.grading import grade
from grader.checks.report import Report
from grader.defence import unit
from grader.defence.inputs import Call, inputs, outcome
from grader.intake.matching import align
from grader.intake.parsing import Submission
from grader.judge.channel import Limits, Worker
from grader.judge.forkserver import COSTLY, ForkServer
from grader.judge.session import Session

# Of one hand-in; a call that takes longer is no question.
LIMITS = Limits(cell=60, call=5, whole=180)
# Requests of the checks of one exercise: where there are more, a model is trained.
MOST_REQUESTS = 400


class Undecided(Exception):
    """A run came to no end, to none that counts, or not twice to the same."""


class Bench:
    """An answer in a worker in which all that stands above its check has run.

    Its methods raise :class:`Undecided` where a run ends its process or decides nothing.
    """

    def __init__(self, exercise: Exercise, own: unit.Unit, session: Session) -> None:
        self.exercise, self.unit, self.session = exercise, own, session
        self.reports: dict[tuple[str, str], Report] = {}

    def define(self, text: str) -> None:
        """Put other definitions in the place of the answer."""
        outputs = self._safely(lambda worker: worker.run(text))
        if any(o.get("output_type") == "error" for o in outputs):
            raise Undecided("the definitions alone fail")

    def report(self, text: str, seed: str) -> Report:
        """Grade an answer; one that leaves a verdict open is undecided."""
        if (text, seed) in self.reports:
            return self.reports[text, seed]
        self.define(text)

        def checked(worker: Worker) -> Report:
            proxy, requests = worker.proxy(), MOST_REQUESTS

            def counted(frame: bytes) -> bytes:
                nonlocal requests
                requests -= 1
                if requests < 0:
                    # A property takes all errors but this one for the answer's.
                    why = "its checks take too long for a sheet"
                    raise AnswerLost(why) from Undecided(why)
                return proxy.exchange(frame)

            return grade(self.exercise, AnswerProxy(counted), seed, examples=False)

        report = self._safely(checked)
        if any(row.open for row in report.rows):
            raise Undecided("a verdict is left open")
        self.reports[text, seed] = report
        return report

    @cached_property
    def traces(self) -> "list[list[Trace]]":
        """Bench for all draws of each input of its exercise."""
        # Drawn: an answer that looks for what watches it would run in another way than on paper.
        mark = secrets.token_hex(8)
        self.define(_recorder(mark) + unit.instrumented(self.unit, mark))

        def called(worker: Worker) -> list[list[Trace]]:
            trace = partial(Trace.of, f"__traced{mark}__", worker.proxy(), self.exercise.function)
            return [[trace(call) for call in one.draws] for one in inputs(self.exercise.id)]

        return self._safely(called)

    def _safely(self, use: Callable[[Worker], Any]) -> Any:
        try:
            return use(self.session.worker)
        except AnswerLost as lost:
            if isinstance(lost.__cause__, Undecided):
                raise lost.__cause__ from None
            self.session.replay(lost)
            raise Undecided(str(lost)) from None


class Trace:
    """Trace of one call: the line of each statement, what lines gave names, what was raised."""

    def __init__(self, events: list[Any], raised: str) -> None:
        self.lines = [line for line, name, _ in events if not name]
        self.values: dict[tuple[int, str], Any] = {}
        for line, name, value in events:
            if name:
                self.values.setdefault((line, name), value)
        self.raised = raised

    @classmethod
    def of(cls, tracer: str, proxy: AnswerProxy, function: str, call: Call) -> "Trace":
        """Trace one call of an answer that :func:`.unit.instrumented` has prepared."""
        result = outcome(proxy, tracer, ((function, *call[0]), call[1]))
        if isinstance(result, Failure) or not isinstance(result, dict) or not result.get("whole"):
            raise Undecided("it runs too long to be followed on paper")
        try:
            events = [(int(a), str(b), c) for a, b, c in result["events"]]
            if all(_sound(form) for _, name, form in events if name):
                return cls(events, str(result["raised"]))
        except (KeyError, TypeError, ValueError):
            pass
        raise Undecided("what came back is no trace")


def _sound(form: Any) -> bool:
    """Tell whether the recorder could have said this of a value: the answer's process may lie."""
    match form:
        case ["tensor", str(), [*shape]]:
            return all(type(size) is int for size in shape)
        case ["several", str(), [*parts]]:
            return all(map(_sound, parts))
        case ["plain" | "other", str()]:
            return True
    return False


def _recorder(mark: str) -> str:
    text = (files("grader.defence") / "recorder.py").read_text(encoding="utf-8")
    return re.sub(r"(?<![.`])__(\w+?)__", rf"__\g<1>{mark}__", text)


def benches(
    submission: Submission,
    assignment: Assignment,
    wanted: Iterable[str],
    forkserver: ForkServer,
    judge: int = 0,
) -> Iterator[tuple[Bench | None, str]]:
    """Run a hand-in down to each wanted exercise's check.

    Yields an answer that can be asked about, or None, and why it cannot.
    """
    waiting = set(wanted)
    cells = align(submission, assignment.release)
    written = "\n".join(c.source for c, _ in cells if c.cell_type == "code")
    needs = [name for name in COSTLY if name in written]
    session = Session(
        lambda: Worker(forkserver, LIMITS, judge, needs, beside=submission.modules), LIMITS.whole
    )
    released = {id_of(c): c.source.strip() for c in assignment.release.cells if id_of(c)}
    above: list[str] = []
    try:
        for cell, own in cells:
            if cell.cell_type != "code":
                continue
            match = CHECK.search(cell.source)
            if not (own and match and cell.metadata.nbgrader.get("grade")):
                if not (own and released.get(id_of(cell)) == cell.source.strip()):
                    above.append(cell.source)
                session.run(cell.source)
            elif match[1] in waiting:
                waiting.discard(match[1])
                exercise = find(match[1])
                definitions = unit.find(above, exercise.function)
                if definitions is None:
                    yield None, f"{exercise.id}: not written, or too long for one page"
                    continue
                bench = Bench(exercise, definitions, session)
                yield bench, ""
                with contextlib.suppress(Undecided):
                    bench.define(definitions.text)  # itself again, for the cells below
            if not waiting:
                return
    finally:
        session.end()
