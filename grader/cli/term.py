"""``course similar``, ``rename`` and ``migrate``."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.cli.common import Add, add_db, add_json, checkout, emit


def register(add: Add) -> None:
    """Add the commands."""
    similar = add(
        "similar",
        run_similar,
        "list submissions that a person should compare; it accuses nobody",
    )
    similar.add_argument("assignment", help="for example 03_attention")
    similar.option("--course", "folder that contains submitted/ (default: the checkout)", type=Path)
    similar.option("--least PERCENT", "smallest share to list (default: 50)", 50, type=float)
    similar.option("--most N", "largest number of pairs (default: 30)", 30)
    add_json(similar)

    rename = add("rename", run_rename, "rename a student in the folders and the gradebook")
    rename.add_argument("old", metavar="OLD", help="the current name")
    rename.add_argument("new", metavar="NEW", help="the new name")
    rename.option("--course", "folder that contains submitted/ (default: the checkout)", type=Path)
    add_db(rename)
    add_json(rename)

    migrate = add(
        "migrate",
        run_migrate,
        "copy a gradebook into another, empty database, completely or not at all",
    )
    migrate.add_argument(
        "source", metavar="FROM", help="a gradebook.db, or the address of a database"
    )
    migrate.add_argument("target", metavar="TO", help="for example postgresql://user@host/grades")
    add_json(migrate)


def run_similar(arguments: argparse.Namespace) -> int:
    """Print pairs, and write the page that shows their passages."""
    from grader import authoring
    from grader.intake.parsing import plain
    from grader.review import similarity

    root = checkout()
    course = arguments.course or root
    assignment = authoring.named(root, arguments.assignment)
    report = similarity.compare(
        course, assignment, least=arguments.least / 100, most=arguments.most
    )
    page = similarity.write(report, course / "summary")
    pairs = [*report.pairs, *report.near_solution]
    lines = []
    for pair in pairs:
        cells = ", ".join(m.exercise.removesuffix("-solution") for m in pair.matches)
        names = " and ".join(map(plain, pair.students))
        lines.append(f"  {100 * pair.share:4.0f} %  {names}: {cells}")
    for student, why in report.left_out.items():
        lines.append(f"  not compared: {plain(student)}: {plain(why)}")
    facts = {
        "assignment": report.name,
        "compared": report.compared,
        "pairs": [
            {"students": p.students, "share": round(p.share, 4),
             "cells": [m.exercise for m in p.matches]}
            for p in pairs
        ],
        "left_out": report.left_out,
        "page": str(page),
    }  # fmt: skip
    line = f"{report.compared} compared, {len(pairs)} pairs to look at: {page}"
    emit(arguments, facts, *lines, line)
    return 0


def run_rename(arguments: argparse.Namespace) -> int:
    """Rename, and print what was moved."""
    from grader.intake.parsing import plain
    from grader.records import roster

    course = arguments.course or checkout()
    folders, rows = roster.rename(course, arguments.old, arguments.new, arguments.db)
    facts = {"old": arguments.old, "new": arguments.new, "folders": folders, "submissions": rows}
    line = f"{plain(arguments.old)} is now called {plain(arguments.new)}: {len(folders)} folders, "
    line += f"{rows} submissions in the gradebook"
    emit(arguments, facts, *(f"  {plain(folder)}" for folder in folders), line)
    return 0


def run_migrate(arguments: argparse.Namespace) -> int:
    """Copy, and print the number of rows."""
    from grader.records.database import migrate, shown

    source, target = (_address(place) for place in (arguments.source, arguments.target))
    copied = migrate(source, target)
    rows = sum(copied.values())
    facts = {"from": shown(source), "to": shown(target), "rows": copied}
    line = f"{rows} rows copied to {shown(target)}; use it with `course grade … --db`"
    emit(arguments, facts, line)
    return 0


def _address(place: str) -> str:
    """The address of a file, or an address unchanged."""
    return place if "://" in place else f"sqlite:///{Path(place).resolve()}"
