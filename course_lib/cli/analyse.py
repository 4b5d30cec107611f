"""``course analyse``: what a class has understood, as a page and as tables."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from course_lib.cli.common import add_json, checkout, emit


def register(commands: Any) -> None:
    """Add the command."""
    analyse = commands.add_parser(
        "analyse", help="show what a graded class has understood: requirements, mistakes, outcomes"
    )
    analyse.add_argument("assignment", nargs="*", help="such as 03_attention (all that are graded)")
    analyse.add_argument("--course", type=Path, help="folder that holds autograded/ (the checkout)")
    analyse.add_argument(
        "--beside", type=Path, metavar="DIR", help="the course folder of another term, to compare"
    )
    analyse.add_argument(
        "--no-names", action="store_true", help="pseudonyms, drawn anew in each run, for students"
    )
    analyse.add_argument("--dry-run", action="store_true", help="only say it, write nothing")
    add_json(analyse)
    analyse.set_defaults(handler=run_analyse)


def run_analyse(arguments: argparse.Namespace) -> int:
    """Analyse, write, and say in a few lines what stands out."""
    from course_lib.grading.intake.parsing import plain
    from course_lib.grading.review import analysis

    root = checkout()
    course = arguments.course or root
    facts = analysis.analyse(
        course, root, arguments.assignment, beside=arguments.beside, no_names=arguments.no_names
    )
    page = None if arguments.dry_run else analysis.write(course, facts)
    done = f"page {page}, tables beside it" if page else "nothing written yet"
    many = f"{len(facts['students'])} students, {len(facts['requirements'])} requirements"
    facts["page"] = page and str(page)
    emit(arguments, facts, *map(plain, analysis.lines(facts)), f"{many}; {done}")
    return 0
