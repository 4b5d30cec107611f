"""``course defend``: questions for each student about their own code, with a key."""

import argparse
from pathlib import Path

from grader.cli.common import Add, add_json, checkout, emit, jobs


def register(add: Add) -> None:
    """Add the command."""
    defend = add(
        "defend", run_defend, "print questions for each student about their own code, with a key"
    )
    defend.add_argument("assignment", help="for example 03_attention")
    defend.option("--course", "folder that contains submitted/ (default: the checkout)", type=Path)
    defend.option("--student ID", "only these students", nargs="+")
    defend.option("--jobs N", "submissions at a time (default: one per core)", type=int)
    defend.flags(dry_run="print what would be made, write nothing")
    add_json(defend)


def run_defend(arguments: argparse.Namespace) -> int:
    """Make the new sheets, and list students with fewer questions than usual, with the reason."""
    from tqdm import tqdm

    from grader.defence.paper import QUESTIONS, Defence
    from grader.intake.parsing import plain

    many = jobs(arguments)
    root = checkout()
    defence = Defence(
        arguments.course or root,
        root,
        arguments.assignment,
        only=arguments.student,
        dry_run=arguments.dry_run,
    )
    todo = defence.todo()
    if arguments.dry_run:
        facts = {"to_make": todo, "stand": len(defence.tasks) - len(todo)}
        line = f"{len(todo)} of {len(defence.tasks)} sheets to make"
        emit(arguments, facts, *(f"  {plain(name)}" for name in todo), line)
        return 0
    tqdm.monitor_interval = 0  # its thread would be there when judges are forked
    with tqdm(total=len(todo), unit="sheet", disable=arguments.json) as bar:

        def say() -> None:
            bar.update()
            arguments.interrupt.check()

        sheets = defence.make(many, say)
    short = {n: s.reason for n, s in sheets.items() if len(s.questions) < QUESTIONS}
    lines = [
        f"  {plain(name)}: {len(sheets[name].questions)} questions; {plain(why)}"
        for name, why in short.items()
    ]
    asked = sum(len(sheet.questions) for sheet in sheets.values())
    facts = {"sheets": len(sheets), "made": len(todo), "questions": asked, "fewer": short,
             "folder": str(defence.folder)}  # fmt: skip
    line = f"{len(sheets)} sheets, {asked} questions, made now {len(todo)}: {defence.folder}"
    emit(arguments, facts, *lines, line)
    return 0
