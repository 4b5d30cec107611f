"""``course analyse``: a class's understanding, as a page and as tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.cli.common import Add, add_json, checkout, emit


def register(add: Add) -> None:
    """Add the command."""
    analyse = add(
        "analyse",
        run_analyse,
        "show what a graded class has understood, by requirement, mistake and outcome",
    )
    analyse.add_argument(
        "assignment",
        nargs="*",
        help="for example 03_attention (default: all that have been graded)",
    )
    analyse.option(
        "--course", "folder that contains autograded/ (default: the checkout)", type=Path
    )
    analyse.option("--beside DIR", "course folder of another term to compare with", type=Path)
    analyse.flags(
        no_names="replace students' names by pseudonyms, drawn again in each run",
        dry_run="print the summary, write nothing",
    )
    analyse.option("--publish CLASS", "publish the class experiment's result under this name", "")
    add_json(analyse)


def run_analyse(arguments: argparse.Namespace) -> int:
    """Analyse, write the page, and print a summary."""
    from grader.intake.parsing import plain
    from grader.review import analysis, class_experiment

    root = checkout()
    course = arguments.course or root
    facts = analysis.analyse(
        course, root, arguments.assignment, beside=arguments.beside, no_names=arguments.no_names
    )
    for one in facts["experiments"] if arguments.publish and not arguments.dry_run else ():
        class_experiment.publish(root, one, arguments.publish)
    page = None if arguments.dry_run else analysis.write(course, facts)
    done = f"page {page}, tables beside it" if page else "nothing written (dry run)"
    many = f"{len(facts['students'])} students, {len(facts['requirements'])} requirements"
    facts["page"] = page and str(page)
    emit(arguments, facts, *map(plain, analysis.lines(facts)), f"{many}; {done}")
    return 0
