"""``course handout``, ``course release-solutions`` and ``course reset``: answers apart."""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from course_lib.cli.common import Add, Command, add_db, add_json, checkout, emit, say, sources
from course_lib.errors import Refused


def register(add: Add) -> None:
    """Add the commands."""
    handout = add(
        "handout", run_handout, "write what students get: a tree that runs, without answers"
    )
    handout.add_argument("folder", type=Path, metavar="DIR", help="a new folder, or a handout")
    handout.add_argument("assignment", nargs="*", help="such as 03 or 03_attention (all)")
    _add_dry(handout)

    release = add(
        "release-solutions", run_release, "publish a solution, once nobody may hand in any more"
    )
    release.add_argument("assignment", help="such as 03 or 03_attention")
    release.option("--course", "the gradebook's folder (the checkout)", type=Path)
    release.option("--into DIR", "a handout, or another folder (_build)", type=Path)
    release.flags(yes="also before the last extension")
    add_db(release)
    _add_dry(release)

    reset = add(
        "reset", run_reset, "put back what is missing of a notebook, or a cell as it was handed out"
    )
    reset.add_argument("notebook", type=Path)
    reset.add_argument(
        "cell",
        nargs="?",
        default="",
        help="an exercise such as attention.scaled_dot_product, a cell's id, or a function: these"
        " cells come back whole; without it answers stay",
    )
    reset.flags(all="every released cell comes back whole")
    _add_dry(reset)


def _add_dry(parser: Command) -> None:
    parser.flags(dry_run="only say what would be done")
    add_json(parser)


def run_handout(arguments: argparse.Namespace) -> int:
    """Say what will be done, and do it."""
    from course_lib.handout import handout

    root = checkout()
    plan = handout.plan(root, arguments.folder, arguments.assignment)
    facts = {
        "folder": str(plan.folder),
        "assignments": plan.assignments,
        "exercises": plan.exercises,
        "kept": plan.kept,
        "written": 0,
    }
    if arguments.dry_run:
        emit(arguments, facts, f"dry run: {plan.line()}")
        return 0
    if not arguments.json:
        print(plan.line(), flush=True)

    facts["written"] = handout.write(root, plan, say)
    emit(arguments, facts, f"handout {plan.folder}, {facts['written']} files")
    return 0


def run_release(arguments: argparse.Namespace) -> int:
    """Refuse before the last extension; then write."""
    from course_lib.handout import handout, solutions

    root = checkout()
    (name,) = handout.assignments(root, [arguments.assignment])
    last = solutions.last_date(arguments.course or root, name, arguments.db)
    path = solutions.target(arguments.into or root / "_build", name)
    why = solutions.may_release(name, last, datetime.now(UTC))
    facts = {
        "assignment": name,
        "last": last.when.isoformat() if last else None,
        "path": str(path),
        "written": False,
    }
    if why and not arguments.yes:
        raise Refused(f"{why}; with --yes its solution is released all the same")
    if arguments.dry_run:
        emit(arguments, facts, f"dry run: writes {path}")
        return 0
    facts["written"] = solutions.write(root, name, path)
    emit(arguments, facts, f"solution {path}{'' if facts['written'] else ', as it was'}")
    return 0


def run_reset(arguments: argparse.Namespace) -> int:
    """Say what comes back, and where what was there lies now."""
    from course_lib.handout import reset

    if arguments.all and arguments.cell:
        raise Refused("--all gives every cell back: leave out the name of one")
    plan = reset.plan(arguments.notebook, sources(), arguments.cell, every=arguments.all)
    copy = None if arguments.dry_run else plan.write()
    facts = {"notebook": str(plan.path), "done": plan.done, "kept": str(copy) if copy else None}
    if not plan.done:
        line = f"{plan.path} has all that was handed out; nothing to put back"
    elif copy is None:
        line = f"dry run: {len(plan.done)} changes to {plan.path}"
    else:
        line = f"{plan.path} is written; as it was it lies in {copy}. Reload it where it is open"
    emit(arguments, facts, *(f"  {sentence}" for sentence in plan.done), line)
    return 0
