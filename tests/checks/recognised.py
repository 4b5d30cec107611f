"""What :func:`course_lib.check` reports of an answer, mistakes and examples included."""

from course_lib.checks.answer_proxy import AnswerProxy
from course_lib.checks.exercise import Exercise, namespace
from course_lib.checks.grading import grade, quiet
from course_lib.checks.recognition import recognise
from course_lib.checks.report import Report


def recognised(exercise: Exercise, source: str, seed: str) -> Report:
    """Grade an answer given as source code, and name its mistakes."""
    with quiet():
        report = grade(exercise, AnswerProxy.local(namespace(exercise, source)), seed)
        if not report.full:
            report.mistakes = recognise(exercise, report, seed)
    return report
