"""``course syllabus``."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from datetime import UTC, date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.cli.common import Add, add_db, add_json, checkout, emit, iso

if TYPE_CHECKING:
    from course_lib.book.syllabus import Week


def register(add: Add) -> None:
    """Add the command."""
    syllabus = add(
        "syllabus",
        run_syllabus,
        "spread chapters, assignments and due dates over the weeks of a term",
    )
    syllabus.option("--weeks N", "weeks of teaching (default: 15)", 15)
    day = iso(date.fromisoformat, "day such as 2026-10-12")
    syllabus.option("--start DATE", "first day, for example 2026-10-12", type=day, required=True)
    syllabus.flags(core="only the chapters that lead to the Transformer for text and for images")
    syllabus.option(
        "--zone", "time zone of the deadlines, for example Europe/Berlin (default: UTC)", "UTC"
    )
    syllabus.flags(set_due="also write the due dates into the gradebook")
    syllabus.option("--course", "folder of the gradebook (default: the checkout)", type=Path)
    add_db(syllabus)
    add_json(syllabus)


def run_syllabus(arguments: argparse.Namespace) -> int:
    """Print the plan; with ``--set-due`` write its dates into the gradebook."""
    from course_lib.book import syllabus

    root = checkout()
    book = syllabus.chapters(root)
    weeks = syllabus.plan(
        syllabus.core(book) if arguments.core else book,
        arguments.weeks,
        arguments.start,
        arguments.zone,
    )
    if arguments.set_due:
        from grader.records.gradebook import set_due

        due = {
            c.name: w.due.astimezone(UTC) for w in weeks for c in w.chapters if w.due and c.points
        }
        set_due(arguments.course or root, due, arguments.db)
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
    line += f", written answers not counted{written}"
    emit(arguments, facts, syllabus.table(weeks), "", line)
    return 0


def _week(week: Week) -> dict[str, Any]:
    return {
        "week": week.number,
        "starts": str(week.starts),
        "due": week.due.isoformat() if week.due else None,
        "chapters": [asdict(chapter) for chapter in week.chapters],
    }
