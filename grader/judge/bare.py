"""Grading an answer where what its exercise forbids has been gone since before its first line.

No text of a student is read for it: whatever an answer is called or how it is put together, the
forbidden is not there, and what it earns without counts. A person is asked by what *ran*.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from grader.checks.answer_proxy import AnswerLost, Failure
from grader.checks.exercise import Exercise
from grader.checks.forbidden import FORBIDDEN, refuses, shortcuts
from grader.checks.grading import grade
from grader.checks.operator_recorder import unusual
from grader.checks.recognition import recognise
from grader.checks.report import Report
from grader.intake import parsing
from grader.judge.causes import Raised, raised, root
from grader.judge.session import Session

# Form of a note that asks for a person, and the number of operators that it tells.
PLEASE = "please read the answer"
MOST_NAMES = 8


@dataclass
class Bare:
    """A session that lacks some kinds, and the cells that were run in it."""

    session: Session
    ran: list[str] = field(default_factory=list)
    failed: list[Raised] = field(default_factory=list)


@dataclass
class Grader:
    """Grades the answers of a notebook; ``start`` begins a session that lacks some kinds."""

    start: Callable[[Sequence[str]], Session]
    seed: str
    notes: list[str]
    bare: dict[tuple[str, ...], Bare] = field(default_factory=dict)

    def report(self, exercise: Exercise, session: Session) -> Report:
        """Result of the answer; the process of one that raises AnswerLost is another then."""
        if not exercise.forbidden:
            return self._graded(exercise, session)
        bare = self._beside(exercise.forbidden, session.prefix)
        report: Report | None = None
        ran: list[str] = []
        try:
            before = bare.worker.proxy().seen()
            report = self._graded(exercise, bare)
            # What has run more often now, or, in a process that lies, less.
            ran = [name for name, _ in before.items() ^ bare.worker.proxy().seen().items()]
        except AnswerLost:
            if bare.left > 0:
                raise
        if report is None or (not report.full and report.transcript):
            # The exception may be that a name is missing; what was refused says it better.
            usual = self._graded(exercise, session)
            if report is None:
                self._ask(
                    f"There was no time left to grade {exercise.id} where what it may not use"
                    f" cannot be reached: {usual.score:g} points stand"
                )
                return usual
            if report.score < usual.score:
                failed = self.bare[exercise.forbidden].failed
                causes = (root(name, failed) for name in report.undefined())
                cause = next(filter(None, causes), None)
                there = f" There, {cause.sentence}" if cause else ""
                report.cause += there
                self.notes.append(
                    f"Without what it may not use, the answer of {exercise.id} earns"
                    f" {report.score:g} instead of {usual.score:g}; that counts.{there}"
                )
            else:
                report = usual
        # Of what any exercise forbids it is settled where it may be used.
        others = [name for name in ran if not refuses(tuple(FORBIDDEN), name)]
        odd = sorted({*unusual(others), *shortcuts(exercise.forbidden, ran)})
        if report.score and odd:
            self._ask(
                f"The answer of {exercise.id} earns {report.score:g} points with what right"
                f" answers do without: {', '.join(f'`{name:.60}`' for name in odd[:MOST_NAMES])}"
            )
        return report

    def _graded(self, exercise: Exercise, session: Session) -> Report:
        try:
            report = grade(exercise, session.worker.proxy(), self.seed, reveal=False)
        except AnswerLost as lost:
            session.replay(lost)
            raise
        if not report.full:
            report.mistakes = recognise(exercise, report, self.seed)
        # Its return value has been compared and could fill the memory; what it raised is told.
        report.transcript = [entry for entry in report.transcript if isinstance(entry, Failure)]
        return report

    def _beside(self, kinds: tuple[str, ...], cells: Sequence[str]) -> Session:
        bare = self.bare.get(kinds)
        if bare is not None and bare.ran != cells[: len(bare.ran)]:
            # A cell has turned out to be fatal since.
            bare.session.end()
            bare = None
        if bare is None:
            bare = self.bare[kinds] = Bare(self.start(kinds))
        for source in cells[len(bare.ran) :]:
            if error := raised(source, bare.session.run(source)[0]):
                bare.failed.append(error)
            bare.ran.append(source)
        return bare.session

    def _ask(self, why: str) -> None:
        self.notes.append(f"{parsing.plain(why, 250)}; {PLEASE}.")

    @property
    def killed(self) -> bool:
        """Tell whether a worker was ended from outside."""
        return any(bare.session.killed for bare in self.bare.values())

    def end(self) -> None:
        """End the sessions."""
        for bare in self.bare.values():
            bare.session.end()
        self.bare.clear()
