"""Write the list of operators that right answers run: ``python -m course_lib.checks.everyday``."""

from __future__ import annotations

from course_lib.checks.exercise import Exercise, find, identifiers, namespace
from course_lib.checks.host import Host
from course_lib.checks.matrix import reference_source
from course_lib.checks.report import grade
from course_lib.checks.seen import EVERYDAY, Recorder
from course_lib.checks.subject import Subject


def main() -> None:
    """Run all right answers and write the list."""
    found = {_plain(name) for identifier in identifiers() for name in used(find(identifier))}
    EVERYDAY.write_text("\n".join(sorted(found - {""})) + "\n", encoding="utf-8")


def _plain(name: str) -> str:
    library, _, operator = name.partition("::")
    return operator.rstrip("_") if library == "aten" else ""


def used(exercise: Exercise) -> set[str]:
    """The operators that an exercise's reference and alternatives run in its properties."""
    recorder = Recorder()
    for source in (reference_source(exercise), *(a.source for a in exercise.alternatives)):
        host = Host(namespace(exercise, source), recorder)
        grade(exercise, Subject(host.answer), "0", name_mistake=False)
    return recorder.names


if __name__ == "__main__":
    main()
