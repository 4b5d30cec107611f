"""What :func:`course_lib.check` reports of an answer, mistakes and examples included."""

from grader.checks.answer_proxy import AnswerProxy
from grader.checks.exercise import Exercise, namespace
from grader.checks.grading import grade, quiet
from grader.checks.recognition import recognise
from grader.checks.report import Report


def recognised(exercise: Exercise, source: str, seed: str) -> Report:
    with quiet():
        report = grade(exercise, AnswerProxy.local(namespace(exercise, source)), seed)
        if not report.full:
            report.mistakes = recognise(exercise, report, seed)
    return report
