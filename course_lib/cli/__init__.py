"""The ``course`` command: the grader's commands, and those of the book and the experiments."""

from collections.abc import Sequence

from grader import cli
from grader.cli import group

GROUPS = {
    "read": group("the book on this machine", "book serve", "slides"),
    "learn": group("assignments as a student", "check reset", "prove verify experiment"),
    "teach": group(
        "assignments as an instructor",
        "exercises handout grade analyse",
        "regrade rubric defend similar release-solutions roster collect export syllabus rename"
        " migrate hub doctor",
    ),
    "measure": group(
        "the experiments, and the course itself", "run results", "data matrix attacks bench"
    ),
}


def parser() -> cli.Course:
    """The whole command line."""
    # Imported only here, where `main` hears Ctrl-C already.
    from course_lib.cli import bench, content, experiment, research, syllabus

    return cli.parser(
        (content, syllabus, experiment, research, bench),
        GROUPS,
        "Build the book, release and grade assignments, and run the experiments.",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    return cli.main(argv, parser)
