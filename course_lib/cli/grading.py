"""``course exercises``, ``course matrix``, ``course grade`` and ``course regrade``."""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.cli.common import (
    FOUND_WRONG,
    Add,
    Command,
    add_db,
    add_json,
    checkout,
    emit,
    instrument,
    jobs,
    say,
)
from course_lib.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from course_lib.grading.authoring import Model
    from course_lib.grading.classroom import Classroom
    from course_lib.grading.judging.cluster import Cluster
    from course_lib.grading.judging.forkserver import ForkServer
    from course_lib.grading.judging.results import Verdict


def register(add: Add) -> None:
    """Add the commands."""
    exercises = add(
        "exercises",
        run_exercises,
        "make the released notebooks from the text sources in solutions/",
    )
    exercises.flags(check="only compare with exercises/; write _build/exercises")

    matrix = add("matrix", run_matrix, "grade solution, stub, every known mistake and alternative")
    matrix.add_argument("exercise", nargs="*", help="ids such as attention.scaled_dot_product")
    matrix.option("--seeds N", "how many (20)", 20)
    matrix.flags(
        mutants="and small changes to every model answer, once each",
        points="instead: the share of the points that each mistake keeps, once each",
        judge="through workers, as the grader does",
    )
    add_json(matrix)

    grade = add("grade", run_grade, "grade what a class has submitted")
    _add_class(grade)
    grade.flags(
        sample="grade a made-up class of eight in _build/class",
        resume="go on where a run ended; done anyway, said for clarity",
        dry_run="only say what would be graded",
    )

    regrade = add(
        "regrade",
        run_regrade,
        "grade again, say who would move and by how much; publish with --yes",
    )
    _add_class(regrade)
    regrade.flags(
        yes="publish what is shown", new_seed="draw other samples, as for a later deadline"
    )


def _add_class(parser: Command) -> None:
    parser.add_argument("assignment", help="such as 03_attention")
    parser.option("--course", "folder that holds submitted/ (the checkout)", type=Path)
    parser.option("--students ID", "only these", nargs="+")
    parser.option("--jobs N", "judged at a time (one per core)", type=int)
    add_db(parser)
    parser.option(
        "--scheduler ADDRESS",
        "judge on the workers of a dask scheduler, such as tcp://host:8786",
        "",
    )
    parser.option(
        "--patience SECONDS",
        "how long to wait for a scheduler or a worker that is not there (120)",
        120.0,
    )
    parser.flags(
        unsafe="without walls around students' processes, which then can read and write whatever"
        " you can: only for code you trust"
    )
    add_json(parser)


def run_exercises(arguments: argparse.Namespace) -> int:
    """Write the releases, or compare them with what is committed."""
    from course_lib.files import write_whole
    from course_lib.grading import authoring
    from course_lib.grading.engine import engine_hash

    root = checkout()
    into = root / "_build" / "exercises" if arguments.check else root / "exercises"
    stamp = root / "_build" / ".exercises-in-step"
    released = [p for p in (root / "exercises").rglob("*") if p.suffix in (".ipynb", ".md")]
    key = engine_hash(root, "", *released, root / "nbgrader_config.py", root / "pyproject.toml")
    if arguments.check and stamp.exists() and stamp.read_text() == key:
        print("exercises: nothing changed since they were last compared")
        return 0
    stale = authoring.generate(root, into)
    if arguments.check and stale:
        print("not in step with solutions/: " + ", ".join(stale), file=sys.stderr)
        print("run `make exercises` and commit what it changes", file=sys.stderr)
        return FOUND_WRONG
    if arguments.check:
        write_whole(stamp, key)
    print(f"exercises {into}")
    return 0


def run_matrix(arguments: argparse.Namespace) -> int:
    """Print the faults, then the summary line."""
    from course_lib.checks.exercise import identifiers

    matrix = instrument("checks.matrix").matrix

    if unknown := sorted(set(arguments.exercise) - set(identifiers())):
        raise Refused(f"no exercise {', '.join(unknown)}; there are {', '.join(identifiers())}")
    if arguments.seeds < 1:
        raise Refused(f"--seeds {arguments.seeds}: wanted at least 1")

    chosen = arguments.exercise or None
    models = None
    if arguments.mutants or arguments.points:
        from course_lib.grading.authoring import answers

        models = answers(checkout())
    if arguments.points:
        return _print_points(arguments, models or {})
    if arguments.judge:
        worker_grader = instrument("checks.worker_grader").worker_grader
        with tempfile.TemporaryDirectory() as folder, worker_grader(Path(folder)) as grader:
            tally = matrix(arguments.seeds, chosen, grader, say, models)
    else:
        tally = matrix(arguments.seeds, chosen, None, say, models)
    emit(arguments, tally.data(), *(f"FAULT {fault}" for fault in tally.faults), tally.line())
    return FOUND_WRONG if tally.faults else 0


def _print_points(arguments: argparse.Namespace, models: Mapping[str, Model]) -> int:
    """All shares of the exercises that are named; of all exercises those that are too few."""
    from course_lib.checks.exercise import find, identifiers

    kept = instrument("checks.matrix").kept
    shares = {
        name: kept(find(name), models[name].given) for name in arguments.exercise or identifiers()
    }
    wrong = [row for rows in shares.values() for row in rows if row.fault]
    lines: list[str] = []
    for name, rows in shares.items():
        if shown := [row.line() for row in rows if row.fault or arguments.exercise]:
            of = find(name)
            lines += [f"{name}: {len(of.properties)} properties, {of.points:g} points", *shown]
    data = {name: [asdict(row) for row in rows] for name, rows in shares.items()}
    total = sum(map(len, shares.values()))
    line = f"answers {total}, with too few or too many points {len(wrong)}"
    emit(arguments, data, *lines, line)
    return FOUND_WRONG if wrong else 0


def run_grade(arguments: argparse.Namespace) -> int:
    """Grade, then print the class summary."""
    root = checkout()
    course = arguments.course or (root / "_build" / "class" if arguments.sample else root)
    if arguments.sample and arguments.course is not None:
        raise Refused("--sample has its own folder, _build/class: leave out --course")
    with contextlib.ExitStack() as stack:
        warm = None if arguments.dry_run else _warm(arguments, course)
        if warm:
            stack.enter_context(warm)
        return _grade(arguments, root, course, warm)


def _warm(arguments: argparse.Namespace, course: Path) -> ForkServer | None:
    """Start the warm parent, unless others judge; this process imports for seconds meanwhile."""
    many = jobs(arguments)
    from course_lib.grading.judging import fast_imports, sandbox_package
    from course_lib.grading.judging.forkserver import ForkServer

    if arguments.scheduler:
        if arguments.jobs is not None:
            raise Refused("--jobs is about this machine: the workers of --scheduler are started"
                          " elsewhere, as many as there should be")  # fmt: skip
        fast_imports.load("course_lib.grading.classroom")
        return None
    package = sandbox_package.build(course / ".kits")
    forkserver = ForkServer(package, judges=many, walls=not arguments.unsafe)
    try:
        fast_imports.load("course_lib.grading.classroom")
    except BaseException:
        forkserver.end()
        raise
    return forkserver


def _grade(arguments: argparse.Namespace, root: Path, course: Path, warm: ForkServer | None) -> int:
    from course_lib.grading import sample
    from course_lib.grading.classroom import Classroom
    from course_lib.grading.records import roster, summary
    from course_lib.grading.records.database import shown
    from course_lib.grading.review import analysis, preflight

    # A made-up class has no place in a real gradebook.
    db = "" if arguments.sample else arguments.db
    if arguments.sample:
        sample.make(course, root, arguments.assignment)
    classroom = Classroom(course, root, arguments.assignment, db=db, follow=arguments.sample)
    chosen = classroom.choose(arguments.students)
    if arguments.dry_run:
        _, tasks = classroom.sort_out(chosen)
        todo = [task.student for task in tasks]
        data = {"to_grade": todo, "graded": len(chosen) - len(todo)}
        line = f"{len(todo)} of {len(chosen)} to grade"
        emit(arguments, data, *(f"  {student}" for student in todo), line)
        return 0
    students = roster.students(course, db)
    verdicts = _with_bar(arguments, classroom, chosen, warm)
    remarks = [r.says for r in preflight.of_class(course, [classroom.name], students)]
    # The report is on the whole class, also after a run for some.
    now = {v.student: v for v in verdicts}
    standing = [now.get(s) or classroom.records.verdict(s) for s in classroom.students()]
    everybody = [v for v in standing if v is not None]
    facts = summary.data(classroom.name, everybody, classroom.engine)
    path = summary.write(course / "summary", facts, everybody)
    page = analysis.after_grading(course, root, classroom.name)
    lines = summary.text(facts).rpartition("\n")
    if not arguments.json:
        print(lines[0])
        for remark in remarks:
            print(f"look at    {remark}")
        address = shown(db) if db else course / "gradebook.db"
        print(f"gradebook  {address}")
        print(f"feedback   {course / 'feedback'}")
        print(f"summary    {path}, .json and .csv beside it")
        print(f"analysis   {page or 'none: nothing is graded that a check decides'}\n")
    arguments.interrupt.check()
    emit(arguments, {**facts, "remarks": remarks}, f"{lines[2]}; in this run {facts['graded_now']}")
    return 0


def _with_bar(
    arguments: argparse.Namespace, classroom: Classroom, chosen: list[str], warm: ForkServer | None
) -> list[Verdict]:
    """Grade; a bar shows what is done, what failed, how fast it goes and how long it takes."""
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # its thread would be there when judges are forked
    failed = 0
    looks = "{bar:20} {n_fmt} of {total_fmt} done{postfix}, {rate_noinv_fmt}, {remaining} left"
    arguments.interrupt.check()
    with tqdm(total=len(chosen), unit="sub", bar_format=looks, disable=arguments.json) as bar:

        def say(verdict: Verdict) -> None:
            nonlocal failed
            failed += verdict.score is None
            bar.set_postfix_str(f"{failed} failed", refresh=False)
            if not verdict.fresh and not bar.disable:
                bar.initial += 1  # so that it does not count as fast
            bar.update()
            # Wherever Ctrl-C was swallowed, it is noticed here.
            arguments.interrupt.check()

        return classroom.grade(
            chosen,
            say,
            jobs=jobs(arguments),
            walls=not arguments.unsafe,
            warming=warm,
            cluster=_cluster(arguments),
        )


def _cluster(arguments: argparse.Namespace) -> Cluster | None:
    if not arguments.scheduler:
        return None
    from course_lib.grading.judging.cluster import Cluster

    return Cluster(arguments.scheduler, arguments.patience)


def run_regrade(arguments: argparse.Namespace) -> int:
    """Grade again beside what stands, and show or publish what would change."""
    root = checkout()
    course = arguments.course or root
    with contextlib.ExitStack() as stack:
        warm = _warm(arguments, course)
        if warm:
            stack.enter_context(warm)
        from course_lib.grading.review import regrade

        again = regrade.Regrade(
            course, root, arguments.assignment, db=arguments.db, new_seed=arguments.new_seed
        )
        chosen = again.standing.choose(arguments.students)
        verdicts = _with_bar(arguments, again.staged, chosen, warm)
    moves = again.moves(verdicts)
    failed = {v.student: v.reason for v in verdicts if v.score is None}
    if not arguments.json:
        print(regrade.table(moves) if moves else "nobody moves")
        for student, reason in failed.items():
            print(f"not graded: {student}: {reason}")
    others = again.publish(verdicts) if arguments.yes else []
    if not arguments.json and others:
        print(
            f"left alone: {', '.join(others)}, who submitted something else meanwhile or could not"
            " be graded again; `course grade` goes on from there"
        )
    arguments.interrupt.check()
    published = "published" if arguments.yes else "nothing published; with --yes it is"
    emit(
        arguments,
        {
            "assignment": arguments.assignment,
            "graded": len(verdicts) - len(failed),
            "moves": [{**asdict(m), "by": m.by} for m in moves],
            "failed": failed,
            "published": arguments.yes,
            "left_alone": others,
        },
        f"graded again {len(verdicts) - len(failed)} of {len(verdicts)}, {len(moves)} scores move;"
        f" {published}",
    )
    return 0
