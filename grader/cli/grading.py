"""``course exercises``, ``course matrix``, ``course grade`` and ``course regrade``."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.base.errors import Refused
from grader.cli.common import FOUND_WRONG, checkout, emit, instrument, jobs, say, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from grader.authoring import Model
    from grader.classroom import Classroom
    from grader.judge.cluster import Cluster
    from grader.judge.pool import Pool
    from grader.judge.results import Verdict

_RELEASED, _SETTINGS = (".ipynb", ".md"), ("nbgrader_config.py", "pyproject.toml")
_CLASS = """
  --students ID...        only these students
  --scheduler ADDRESS()    grade on the workers of a dask scheduler, for example tcp://host:8786
  --patience SECONDS:float(120)   how long to wait for a missing scheduler or worker (default: 120)
  --unsafe                grade without a sandbox: students' code can then read and write whatever
                          you can, so use this only for code that you trust
  also assignment --course --jobs --db --json"""
COMMANDS = f"""
exercises: write the notebooks for students from the sources in solutions/
  [assignment]...         for example 03_attention (default: all)
  --check                 only compare with exercises/; write to _build/exercises
matrix: grade the solution, the stub, every known mistake and every alternative
  also --json
  [exercise]...           ids such as attention.scaled_dot_product (default: all)
  --seeds N:int(20)        number of samples (default: 20)
  --mutants               also grade small changes to each model answer
  --points                print the share of the points that each mistake keeps instead
  --judge                 grade in worker processes, as the grader does
grade: grade the submissions of a class{_CLASS}
  --sample                grade a made-up class of eight in _build/class
  --dry-run               print what would be graded, grade nothing
  --run-again N:int       number of students whose run of the class experiment is repeated
                          (default: a tenth, at least 3)
regrade: grade again and show whose score would change; publish with --yes{_CLASS}
  --yes                   publish the new scores
  --new-seed              draw other samples, as for a later deadline
"""


def run_exercises(arguments: argparse.Namespace) -> int:
    """Write the releases, or compare them with the committed ones."""
    # Solutions are small: more threads of torch only wait for each other on a busy machine.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from grader import authoring
    from grader.base.files import write_whole
    from grader.engine import engine_hash

    root = checkout()
    if not arguments.check:
        authoring.generate(root, root / "exercises", chosen=arguments.assignment)
        print(f"exercises {root / 'exercises'}")
        return 0
    into = root / "_build" / "exercises"
    stale = authoring.orphans(root)
    for name in arguments.assignment or authoring.known(root):
        released = [p for p in (root / "exercises" / name).rglob("*") if p.suffix in _RELEASED]
        key = engine_hash(root, name, *released, *(root / name for name in _SETTINGS))
        stamp = into / name / ".in-step"
        if stamp.exists() and stamp.read_text() == key:
            print(f"{name}: nothing has changed since the last comparison")
        elif found := authoring.generate(root, into, chosen=[name]):
            stale += found
        else:
            write_whole(stamp, key)
    if stale:
        print("these differ from solutions/: " + ", ".join(stale), file=sys.stderr)
        print("run `make exercises` and commit the changes", file=sys.stderr)
        return FOUND_WRONG
    print(f"exercises {into}")
    return 0


def run_matrix(arguments: argparse.Namespace) -> int:
    """Print the faults, then the summary line."""
    from grader.checks.exercise import identifiers

    matrix = instrument("grader.checks.matrix").matrix

    if unknown := sorted(set(arguments.exercise) - set(identifiers())):
        raise Refused(f"no exercise {', '.join(unknown)}; there are {', '.join(identifiers())}")
    if arguments.seeds < 1:
        raise Refused(f"--seeds {arguments.seeds}: at least 1 is needed")

    chosen = arguments.exercise or None
    models = None
    if arguments.mutants or arguments.points:
        from grader.authoring import answers

        models = answers(checkout())
    if arguments.points:
        return _print_points(arguments, models or {})
    if arguments.judge:
        worker_grader = instrument("grader.checks.worker_grader").worker_grader
        with tempfile.TemporaryDirectory() as folder, worker_grader(Path(folder)) as grader:
            tally = matrix(arguments.seeds, chosen, grader, say, models)
    else:
        tally = matrix(arguments.seeds, chosen, None, say, models)
    emit(arguments, tally.data(), *(f"FAULT {fault}" for fault in tally.faults), tally.line())
    return FOUND_WRONG if tally.faults else 0


def _print_points(arguments: argparse.Namespace, models: Mapping[str, Model]) -> int:
    from grader.checks.exercise import find, identifiers

    kept = instrument("grader.checks.matrix").kept
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
    with contextlib.nullcontext() if arguments.dry_run else _judges(arguments, course) as judges:
        data, lines = _grade(arguments, root, course, judges)
    arguments.interrupt.check()
    emit(arguments, data, *lines)
    return 0


@contextlib.contextmanager
def _judges(arguments: argparse.Namespace, course: Path) -> Iterator[Pool | Cluster]:
    many, walls = jobs(arguments), not arguments.unsafe
    from grader.judge import fast_imports, pool

    if not arguments.scheduler:
        with pool.of_course(course, many, walls=walls) as judges:
            fast_imports.load("grader.classroom")
            yield judges
        return
    if arguments.jobs is not None:
        raise Refused(
            "--jobs concerns this machine only: start as many workers for --scheduler as you need"
        )
    fast_imports.load("grader.classroom")
    from grader.judge.cluster import Cluster

    yield Cluster(arguments.scheduler, arguments.patience, walls=walls)


def _grade(
    arguments: argparse.Namespace, root: Path, course: Path, judges: Pool | Cluster | None
) -> tuple[dict[str, Any], list[str]]:
    from grader import sample
    from grader.base.course import course as this_course
    from grader.classroom import Classroom
    from grader.records import roster, summary
    from grader.records.database import shown
    from grader.review import analysis, preflight

    # A made-up class must not enter a real gradebook.
    db = "" if arguments.sample else arguments.db
    if arguments.sample:
        course.mkdir(parents=True, exist_ok=True)
    name, keep = arguments.assignment, judges is not None
    classroom = Classroom(course, root, name, db=db, follow=arguments.sample, keep_seed=keep)
    if arguments.sample:
        sample.make(classroom.course, classroom.assignment)
    everybody, chosen = classroom.students(), classroom.choose(arguments.students)
    if judges is None:
        todo = [task.student for task in classroom.sort_out(chosen)[1]]
        data = {"to_grade": todo, "graded": len(chosen) - len(todo)}
        return data, [*(f"  {s}" for s in todo), f"{len(todo)} of {len(chosen)} to grade"]
    address = classroom.records.db
    known = roster.people(classroom.course, address)
    remarks = [r.says for r in preflight.of_class(classroom.course, [classroom.name], known)]
    now = {v.student: v for v in _with_bar(arguments, classroom, chosen, judges)}
    # The report covers the whole class, even if only some were graded now.
    verdicts = [v for s in everybody if (v := now.get(s) or classroom.records.verdict(s))]
    facts = summary.data(classroom.name, verdicts, classroom.engine)
    path = summary.write(classroom.course / "summary", facts, verdicts)
    page = None
    with contextlib.suppress(Refused):  # where there is nothing to say
        analysed = analysis.analyse(classroom.course, classroom.root, [classroom.name])
        page = analysis.write(classroom.course, analysed)
    experiments = this_course().experiments()
    asked = experiments and experiments.of_class(
        classroom.course, classroom.root, classroom.name, arguments.run_again, say
    )
    lines = summary.text(facts).rpartition("\n")
    return {**facts, "remarks": remarks, "experiment": asked}, [
        lines[0],
        *(experiments.lines(asked) if asked else ()),
        *(f"look at    {remark}" for remark in remarks),
        f"gradebook  {shown(address) if address else classroom.course / 'gradebook.db'}",
        f"feedback   {classroom.course / 'feedback'}",
        f"summary    {path}, .json and .csv beside it",
        f"analysis   {page or 'none: nothing is graded by a check'}\n",
        f"{lines[2]}; in this run {facts['graded_now']}",
    ]


def _with_bar(
    arguments: argparse.Namespace, classroom: Classroom, chosen: list[str], judges: Pool | Cluster
) -> list[Verdict]:
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
            # Ctrl-C may have been swallowed elsewhere.
            arguments.interrupt.check()

        return classroom.grade(judges, chosen, say)


def run_regrade(arguments: argparse.Namespace) -> int:
    """Grade again beside the current scores, and show or publish the changes."""
    root = checkout()
    course = arguments.course or root
    with _judges(arguments, course) as judges:
        from grader.review import regrade

        again = regrade.Regrade(
            course, root, arguments.assignment, db=arguments.db, new_seed=arguments.new_seed
        )
        chosen = again.standing.choose(arguments.students)
        verdicts = _with_bar(arguments, again.staged, chosen, judges)
    moves = again.moves(verdicts)
    failed = {v.student: v.reason for v in verdicts if v.score is None}
    if not arguments.json:
        print(visible(regrade.table(moves)) if moves else "no score changes")
        for student, reason in failed.items():
            print(visible(f"not graded: {student}: {reason}"))
    others = again.publish(verdicts) if arguments.yes else []
    if not arguments.json and others:
        names = visible(", ".join(others))
        print(
            f"left unchanged: {names}, because they have submitted again or could not be regraded;"
            " run `course grade` for them"
        )
    arguments.interrupt.check()
    published = "Published." if arguments.yes else "Nothing was published; add --yes to publish."
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
        f"Regraded {len(verdicts) - len(failed)} of {len(verdicts)}; scores that change:"
        f" {len(moves)}. {published}",
    )
    return 0
