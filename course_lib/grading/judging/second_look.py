"""Grading an answer where what its exercise forbids has been gone since before its first line."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from course_lib.checks.answer_proxy import AnswerLost, AnswerProxy, Failure
from course_lib.checks.exercise import Exercise
from course_lib.checks.forbidden import FORBIDDEN, refuses
from course_lib.checks.grading import grade
from course_lib.checks.operator_recorder import unusual
from course_lib.checks.recognition import recognise
from course_lib.checks.report import Report
from course_lib.grading.intake import parsing
from course_lib.grading.judging.allowlist import VOCABULARY, Reading, binds, uses_known_names
from course_lib.grading.judging.as_run import statements
from course_lib.grading.judging.causes import Raised, raised
from course_lib.grading.judging.channel import Worker
from course_lib.grading.judging.session import Session

# How a note asks for a person, and of how many names it tells.
PLEASE = "please read the answer"
MOST_NAMES = 8
# What an error says that comes of what has been taken away.
_GONE = re.compile(r"may not be used here|len\(\) takes|has no len\(\)|Operation not permitted")


def _report(exercise: Exercise, proxy: AnswerProxy, seed: str) -> Report:
    report = grade(exercise, proxy, seed, reveal=False)
    if not report.full:
        report.mistakes = recognise(exercise, report, seed)
    # What it returned has been compared and could fill the memory; what it raised is told.
    report.transcript = [entry for entry in report.transcript if isinstance(entry, Failure)]
    return report


@dataclass
class _Regraded:
    """What came of a look: a report, None where the answer's process ended."""

    report: Report | None
    seen: list[str]  # the unusual operators that ran
    broken: str = ""  # what failed here alone, and not for want of the forbidden

    def earns(self, points: float) -> bool:
        """Whether it comes to so many points, with the operators of right answers."""
        return self.report is not None and self.report.score >= points and not self.seen


@dataclass
class SecondGrader:
    """Grades answers, what they may not use being gone since before their first line.

    The cells that came before run one statement at a time, so that a comparison with what is gone
    ends only itself. A session starts with what is missing in it, what lies beside its notebook,
    and whether it records operators.
    """

    start: Callable[[Sequence[str], Mapping[str, str], bool], Session[Worker]]
    seed: str
    given: Sequence[str]  # the code that was handed out
    modules: dict[str, str]
    reading: Callable[[], Reading]
    failed: Sequence[Raised]  # the cells that raised in the notebook itself
    notes: list[str]

    def report(self, exercise: Exercise, session: Session[Worker]) -> Report:
        """What the answer comes to; a person is asked where that is unsure.

        Points are those of a look at it without the forbidden, and first also without all that is
        odd: what is right there, with the operators of right answers, is believed. Everyday names
        are spared that.
        """
        before = list(session.prefix)
        own = [source for source in before if source not in self.given]
        if not (exercise.forbidden or exercise.measured) or (
            not self.modules and uses_known_names(own, self.given, exercise.forbidden)
        ):
            return _report(exercise, session.worker.proxy(), self.seed)
        reading = self.reading()
        parts = [(source, part) for source in before for part in statements(source)]
        odd = {part: names for _, part in parts if (names := reading.unusual_names(part))}
        few = [(source, part) for source, part in parts if part not in odd]
        plain: _Regraded | None = None
        try:
            modules = reading.plain_modules()
            plain = self.regrade(exercise, modules, reading.guard(), few, record=True)
            if not odd and plain.report and plain.report.full and not plain.seen:
                return plain.report
            report = _report(exercise, session.worker.proxy(), self.seed)
            if not report.score or plain.earns(report.score):
                return report
            bare = self.regrade(exercise, self.modules, "", parts, record=False)
        except TimeUsedUp:
            if plain is None:
                report = _report(exercise, session.worker.proxy(), self.seed)
            self.ask(
                f"There was no time left to grade {exercise.id} where what it may not use cannot"
                f" be reached: {report.score:g} points stand"
            )
            return report
        if bare.report is None or (bare.broken and bare.report.score < report.score):
            self.ask(
                f"Where what it may not use cannot be reached, {exercise.id} could not be graded,"
                f" since {bare.broken}: {report.score:g} points stand"
            )
            return report
        if bare.report.score < report.score:
            self.notes.append(
                f"The answer of {exercise.id} earns {bare.report.score:g} instead of"
                f" {report.score:g} where what it may not use cannot be reached at all; that"
                " counts."
            )
            report = bare.report
        if report.score and not plain.earns(report.score):
            reasons = dict.fromkeys([*plain.seen, *(n for names in odd.values() for n in names)])
            what = ", ".join(f"`{name:.60}`" for name in list(reasons)[:MOST_NAMES])
            self.ask(
                f"The answer of {exercise.id} earns {report.score:g} points with what right"
                f" answers do without{': ' + what if what else ''}"
            )
        return report

    def ask(self, why: str) -> None:
        """Ask for a person."""
        self.notes.append(f"{parsing.plain(why, 250)}; {PLEASE}.")

    def regrade(
        self,
        exercise: Exercise,
        modules: Mapping[str, str],
        setup: str,
        parts: Sequence[tuple[str, str]],
        *,
        record: bool,
    ) -> _Regraded:
        """Grade an answer without what its exercise forbids.

        The ``setup`` runs before; ``parts`` are statements, each after the cell that it is from.
        """
        session = self.start(exercise.forbidden, modules, record)
        regraded, lost = _Regraded(None, []), set[str]()
        expected = {error.source for error in self.failed}
        try:
            session.run(setup)
            for source, part in parts:
                # With a second line, so that IPython takes no word for a magic.
                outputs, ended = session.run(part if part[:2] == "%%" else f"{part}\n#")
                error = raised(part, outputs)
                if not ended and error is None:
                    continue
                # For want of what was refused, or of what came of it.
                due = error and (_GONE.search(error.error) or lost.intersection(error.missing))
                if source not in expected and not due:
                    regraded.broken = regraded.broken or str(error or ended)
                lost.update(binds(part))
            proxy = session.worker.proxy()
            regraded.report = _report(exercise, proxy, self.seed)
            # Of what any exercise forbids it is settled where it may be used.
            seen = [n for n in proxy.seen() if not refuses(tuple(FORBIDDEN), n)]
            regraded.seen = unusual(seen, VOCABULARY) if exercise.forbidden else []
        except AnswerLost as ending:
            if session.left <= 0:
                raise TimeUsedUp(str(ending)) from None
            regraded = _Regraded(None, [], regraded.broken or str(ending))
        finally:
            session.end()
        return regraded


class TimeUsedUp(Exception):
    """A whole submission's time is used up."""
