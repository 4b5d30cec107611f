"""``course syllabus``: the plan of a term."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from datetime import UTC, date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.cli import add_json, checkout, emit

if TYPE_CHECKING:
    from course_lib.book.syllabus import Week


def register(commands: Any) -> None:
    """Add the command."""
    syllabus = commands.add_parser(
        "syllabus", help="lay chapters, assignments and due dates out over the weeks of a term"
    )
    syllabus.add_argument("--weeks", type=int, default=15, metavar="N", help="of teaching (15)")
    syllabus.add_argument(
        "--start", type=_day, required=True, metavar="DATE", help="first day, such as 2026-10-12"
    )
    syllabus.add_argument(
        "--bundle", action="store_true", help="hand in 01+02, 03+04, 07+08 and 15+16 together"
    )
    syllabus.add_argument(
        "--core",
        action="store_true",
        help="only what leads to the Transformer on words and on pictures",
    )
    syllabus.add_argument(
        "--free",
        type=_day,
        nargs="+",
        default=[],
        metavar="DATE",
        help="days off; their weeks have no teaching",
    )
    syllabus.add_argument(
        "--zone", default="UTC", help="where 23:59 is meant, such as Europe/Berlin (UTC)"
    )
    syllabus.add_argument(
        "--set-due", action="store_true", help="also write the due dates into the gradebook"
    )
    syllabus.add_argument("--course", type=Path, help="the gradebook's folder (the checkout)")
    syllabus.add_argument("--db", default="", metavar="URL", help="the gradebook's address")
    add_json(syllabus)
    syllabus.set_defaults(handler=run_syllabus)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no day: wanted year, month and day, such as 2026-10-12"
        ) from None


def run_syllabus(arguments: argparse.Namespace) -> int:
    """Print the plan; with ``--set-due`` write its dates where nbgrader looks for them."""
    from course_lib.book import syllabus

    root = checkout()
    book = syllabus.chapters(root)
    weeks = syllabus.plan(
        syllabus.core(book) if arguments.core else book,
        arguments.weeks,
        arguments.start,
        bundle=arguments.bundle,
        free=arguments.free,
        zone=arguments.zone,
    )
    if arguments.set_due:
        from course_lib.grading.gradebook import set_due

        due = {c.name: w.due.astimezone(UTC) for w in weeks for c in w.chapters
               if w.due and c.points}  # fmt: skip
        set_due(arguments.course or root, due, arguments.db)
    if not arguments.json:
        print(syllabus.table(weeks), end="\n\n")
    held = [c for week in weeks for c in week.chapters]
    deadlines = sum(any(c.points for c in week.chapters) for week in weeks)
    minutes = sum(c.total for c in held)
    facts = {
        "weeks": [_week(week) for week in weeks],
        "chapters": len(held),
        "deadlines": deadlines,
        "minutes": minutes,
        "due_dates_set": arguments.set_due,
    }
    written = "; due dates are in the gradebook" if arguments.set_due else ""
    line = f"{len(held)} chapters, {deadlines} deadlines, {minutes / 60:.0f} hours of own work"
    emit(arguments, facts, f"{line}, answers in writing not counted{written}")
    return 0


def _week(week: Week) -> dict[str, Any]:
    return {
        "week": week.number,
        "starts": str(week.starts),
        "due": week.due.isoformat() if week.due else None,
        "chapters": [asdict(chapter) for chapter in week.chapters],
    }
