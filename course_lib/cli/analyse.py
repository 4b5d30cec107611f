"""``course analyse``: what a class has understood, as a page and as tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from course_lib.cli.common import Add, add_json, checkout, emit


def register(add: Add) -> None:
    """Add the command."""
    analyse = add(
        "analyse",
        run_analyse,
        "show what a graded class has understood: requirements, mistakes, outcomes",
    )
    analyse.add_argument("assignment", nargs="*", help="such as 03_attention (all that are graded)")
    analyse.option("--course", "folder that holds autograded/ (the checkout)", type=Path)
    analyse.option("--beside DIR", "the course folder of another term, to compare", type=Path)
    analyse.flags(
        no_names="pseudonyms, drawn anew in each run, for students",
        dry_run="only say it, write nothing",
    )
    analyse.option("--publish CLASS", "its name, to say in the results what it has run", "")
    add_json(analyse)


def run_analyse(arguments: argparse.Namespace) -> int:
    """Analyse, write, and say in a few lines what stands out."""
    from course_lib.grading.intake.parsing import plain
    from course_lib.grading.review import analysis, class_experiment

    root = checkout()
    course = arguments.course or root
    facts = analysis.analyse(
        course, root, arguments.assignment, beside=arguments.beside, no_names=arguments.no_names
    )
    for one in facts["experiments"] if arguments.publish and not arguments.dry_run else ():
        class_experiment.publish(root, one, arguments.publish)
    page = None if arguments.dry_run else analysis.write(course, facts)
    done = f"page {page}, tables beside it" if page else "nothing written yet"
    many = f"{len(facts['students'])} students, {len(facts['requirements'])} requirements"
    facts["page"] = page and str(page)
    emit(arguments, facts, *map(plain, analysis.lines(facts)), f"{many}; {done}")
    return 0
