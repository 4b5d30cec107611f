"""``course handout``, ``course release-solutions`` and ``course reset``."""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from grader.base.errors import Refused
from grader.cli.common import Add, Command, add_db, add_json, checkout, emit, say, sources


def register(add: Add) -> None:
    """Add the commands."""
    handout = add("handout", run_handout, "write everything that students get, without solutions")
    handout.add_argument(
        "folder", type=Path, metavar="DIR", help="a new folder, or an earlier handout"
    )
    handout.add_argument(
        "assignment", nargs="*", help="for example 03 or 03_attention (default: all)"
    )
    _add_dry(handout)

    release = add(
        "release-solutions", run_release, "publish a solution after the last extension has ended"
    )
    release.add_argument("assignment", help="for example 03 or 03_attention")
    release.option("--course", "the gradebook's folder (default: the checkout)", type=Path)
    release.option("--into DIR", "a handout or another folder (default: _build)", type=Path)
    release.flags(yes="publish even before the last extension has ended")
    add_db(release)
    _add_dry(release)

    reset = add(
        "reset", run_reset, "restore missing parts of a notebook, or one cell as it was handed out"
    )
    reset.add_argument("notebook", type=Path)
    reset.add_argument(
        "cell",
        nargs="?",
        default="",
        help="an exercise such as attention.scaled_dot_product, a cell's id, or a function; its"
        " cells are restored whole. Without it, answers are kept",
    )
    reset.flags(all="restore every released cell whole")
    _add_dry(reset)


def _add_dry(parser: Command) -> None:
    parser.flags(dry_run="print what would be done, change nothing")
    add_json(parser)


def run_handout(arguments: argparse.Namespace) -> int:
    """Print the plan, and write the handout."""
    from grader.student import handout

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
    """Write the solution; refuse before the last extension has ended."""
    from grader.student import handout, solutions

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
        raise Refused(f"{why}; add --yes to publish it anyway")
    if arguments.dry_run:
        emit(arguments, facts, f"dry run: writes {path}")
        return 0
    facts["written"] = solutions.write(root, name, path)
    emit(arguments, facts, f"solution {path}{'' if facts['written'] else ' (unchanged)'}")
    return 0


def run_reset(arguments: argparse.Namespace) -> int:
    """Restore cells, and print where the old notebook was copied to."""
    from grader.student import reset

    if arguments.all and arguments.cell:
        raise Refused("--all restores every cell: leave out the name of a cell")
    plan = reset.plan(arguments.notebook, sources(), arguments.cell, every=arguments.all)
    copy = None if arguments.dry_run else plan.write()
    facts = {"notebook": str(plan.path), "done": plan.done, "kept": str(copy) if copy else None}
    if not plan.done:
        line = f"{plan.path} is complete; there is nothing to restore"
    elif copy is None:
        line = f"dry run: {len(plan.done)} changes to {plan.path}"
    else:
        line = f"{plan.path} was restored; the old version is in {copy}. Reload it if it is open"
    emit(arguments, facts, *(f"  {sentence}" for sentence in plan.done), line)
    return 0
