"""Add to the list of operators what right answers run, as a program.

It is run in a checkout, whose assignments have model answers. What is listed stays: the grader
takes apart with torch's Python code what an exercise forbids, and here that does not run.
"""

from pathlib import Path

from course_tests.grader.checks.matrix import reference_source
from grader.authoring import Model, answers
from grader.checks.answer_host import AnswerHost
from grader.checks.answer_proxy import AnswerProxy
from grader.checks.exercise import Exercise, find, identifiers, namespace
from grader.checks.grading import grade, quiet
from grader.checks.operator_recorder import EVERYDAY, Recorder


def main() -> None:
    models = answers(Path())
    operators = {_plain(name) for i in identifiers() for name in used(find(i), models.get(i))}
    operators |= set(EVERYDAY.read_text(encoding="utf-8").split())
    EVERYDAY.write_text("\n".join(sorted(operators - {""})) + "\n", encoding="utf-8")


def _plain(name: str) -> str:
    library, _, operator = name.partition("::")
    return operator.rstrip("_") if library == "aten" else ""


def used(exercise: Exercise, model: Model | None = None) -> set[str]:
    recorder = Recorder()
    sources = [reference_source(exercise), *(a.source for a in exercise.alternatives)]
    if model is not None:
        sources.append(f"{model.before}\n\n{model.source}")
    for source in sources:
        with quiet():
            host = AnswerHost(namespace(exercise, source), recorder)
            grade(exercise, AnswerProxy(host.answer), "0", examples=False)
    return recorder.names


if __name__ == "__main__":
    main()
