"""``course exercises``, ``course matrix`` and ``course grade``."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.cli import FOUND_WRONG, Refused, add_json, checkout, emit

if TYPE_CHECKING:
    from course_lib.grading.classroom import Verdict
    from course_lib.grading.nursery import Nursery


def register(commands: Any) -> None:
    """Add the commands."""
    exercises = commands.add_parser(
        "exercises", help="make the released notebooks from the text sources in solutions/"
    )
    exercises.add_argument(
        "--check", action="store_true", help="only compare with exercises/; write _build/exercises"
    )
    exercises.set_defaults(handler=run_exercises)

    matrix = commands.add_parser(
        "matrix", help="grade solution, stub, every known mistake and alternative"
    )
    matrix.add_argument("exercise", nargs="*", help="ids such as attention.scaled_dot_product")
    matrix.add_argument("--seeds", type=int, default=20, metavar="N", help="how many (20)")
    matrix.add_argument("--judge", action="store_true", help="through workers, as the grader does")
    add_json(matrix)
    matrix.set_defaults(handler=run_matrix)

    grade = commands.add_parser("grade", help="grade what a class has submitted")
    grade.add_argument("assignment", help="such as 03_attention")
    grade.add_argument("--course", type=Path, help="folder that holds submitted/ (the checkout)")
    grade.add_argument("--students", nargs="+", metavar="ID", help="only these")
    grade.add_argument(
        "--sample", action="store_true", help="grade a made-up class of eight in _build/class"
    )
    grade.add_argument("--jobs", type=int, metavar="N", help="judged at a time (one per core)")
    grade.add_argument(
        "--resume",
        action="store_true",
        help="go on where a run ended; done anyway, said for clarity",
    )
    grade.add_argument("--dry-run", action="store_true", help="only say what would be graded")
    grade.add_argument(
        "--unsafe",
        action="store_true",
        help="without walls around students' processes, which then can read and write whatever you"
        " can: only for code you trust",
    )
    add_json(grade)
    grade.set_defaults(handler=run_grade)


def run_exercises(arguments: argparse.Namespace) -> int:
    """Write the releases, or compare them with what is committed."""
    from course_lib.grading import authoring
    from course_lib.grading.classroom import engine_hash, save

    root = checkout()
    into = root / "_build" / "exercises" if arguments.check else root / "exercises"
    stamp = root / "_build" / ".exercises-in-step"
    released = sorted((root / "exercises").rglob("*.ipynb"))
    key = engine_hash(root, *released)
    if arguments.check and stamp.exists() and stamp.read_text() == key:
        print("exercises: nothing changed since they were last compared")
        return 0
    stale = authoring.generate(root, into)
    if arguments.check and stale:
        print("not in step with solutions/: " + ", ".join(stale), file=sys.stderr)
        print("run `make exercises` and commit what it changes", file=sys.stderr)
        return FOUND_WRONG
    if arguments.check:
        save(stamp, key)
    print(f"exercises {into}")
    return 0


def run_matrix(arguments: argparse.Namespace) -> int:
    """Print the faults, then the summary line."""
    from course_lib.checks.exercise import identifiers
    from course_lib.checks.matrix import matrix

    if unknown := sorted(set(arguments.exercise) - set(identifiers())):
        raise Refused(f"no exercise {', '.join(unknown)}; there are {', '.join(identifiers())}")
    if arguments.seeds < 1:
        raise Refused(f"--seeds {arguments.seeds}: wanted at least 1")

    def progress(name: str) -> None:
        print(f"  {name}", file=sys.stderr, flush=True)

    chosen = arguments.exercise or None
    if arguments.judge:
        from course_lib.grading.relay import worker_grader

        with tempfile.TemporaryDirectory() as folder, worker_grader(Path(folder)) as grader:
            tally = matrix(arguments.seeds, chosen, grader, progress)
    else:
        tally = matrix(arguments.seeds, chosen, None, progress)
    if not arguments.json:
        for fault in tally.faults:
            print(f"FAULT {fault}")
    emit(arguments, tally.data(), tally.line())
    return FOUND_WRONG if tally.faults else 0


def run_grade(arguments: argparse.Namespace) -> int:
    """Grade, then print the class summary."""
    root = checkout()
    course = arguments.course or (root / "_build" / "class" if arguments.sample else root)
    if arguments.sample and arguments.course is not None:
        raise Refused("--sample has its own folder, _build/class: leave out --course")
    jobs = arguments.jobs or len(os.sched_getaffinity(0))
    if jobs < 1:
        raise Refused(f"--jobs {jobs}: wanted at least 1")
    with contextlib.ExitStack() as stack:
        warming = None
        if not arguments.dry_run:
            # It imports for seconds, and so does this process: at the same time.
            from course_lib.grading import kit
            from course_lib.grading.nursery import Nursery

            folder = kit.build(course / ".kits")
            warming = stack.enter_context(Nursery(folder, judges=jobs, walls=not arguments.unsafe))
        return _grade(arguments, root, course, jobs, warming)


def _grade(
    arguments: argparse.Namespace, root: Path, course: Path, jobs: int, warming: Nursery | None
) -> int:
    from tqdm import tqdm

    from course_lib.grading import sample, summary
    from course_lib.grading.classroom import Classroom, save

    if arguments.sample:
        sample.make(course, root, arguments.assignment)
    classroom = Classroom(course, root, arguments.assignment)
    chosen = classroom.choose(arguments.students)
    if arguments.dry_run:
        _, tasks = classroom.sort_out(chosen)
        if not arguments.json:
            for task in tasks:
                print(f"  {task.student}")
        emit(
            arguments,
            {"to_grade": [task.student for task in tasks], "graded": len(chosen) - len(tasks)},
            f"{len(tasks)} of {len(chosen)} to grade",
        )
        return 0
    failed = 0
    tqdm.monitor_interval = 0  # its thread would be there when judges are forked
    with tqdm(total=len(chosen), unit="submission", disable=arguments.json) as bar:

        def say(verdict: Verdict) -> None:
            nonlocal failed
            failed += verdict.score is None
            bar.set_postfix_str(f"{verdict.student}, {failed} failed")
            bar.update()

        verdicts = classroom.grade(
            arguments.students, say, jobs=jobs, walls=not arguments.unsafe, warming=warming
        )
    table = summary.text(arguments.assignment, verdicts)
    path = course / "summary" / f"{arguments.assignment}.txt"
    save(path, table + "\n")
    if not arguments.json:
        print(table.rpartition("\n")[0])
        print(f"\ngradebook {course / 'gradebook.db'}")
        print(f"feedback  {course / 'feedback' / verdicts[0].student / classroom.name}")
        print(f"summary   {path}")
    emit(arguments, summary.data(arguments.assignment, verdicts), table.rpartition("\n")[2])
    return 0
