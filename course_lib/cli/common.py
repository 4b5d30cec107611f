"""What commands share: where the checkout is, how a report ends, options and exit codes."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from course_lib.errors import Refused
from course_lib.grading import MANIFEST

FOUND_WRONG, REFUSED = 1, 2


def checkout() -> Path:
    """The course's checkout: the nearest folder upwards that holds ``_toc.yml`` and ``solutions``.

    What students got of it counts, too: what it lacks is told where it is needed.

    Raises:
        Refused: There is none.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        whole = (folder / "_toc.yml").is_file() and (folder / "solutions").is_dir()
        if whole or (folder / MANIFEST).is_file():
            return folder
    raise Refused(f"{here} is not inside a checkout of the course: change into one and try again")


def emit(arguments: argparse.Namespace, data: dict[str, Any] | list[Any], line: str) -> None:
    """End a report: as JSON where ``--json`` was given, else with its one summary line."""
    text = json.dumps(data, indent=1, ensure_ascii=False) if arguments.json else line
    # A student's folder may be called by bytes that are no text.
    print(text.encode(errors="replace").decode())


def say(line: str) -> None:
    """Tell how far a command is, beside what it reports."""
    print(f"  {line}", file=sys.stderr, flush=True)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Give a reporting command its ``--json``."""
    parser.add_argument("--json", action="store_true", help="print the report as JSON only")


def add_db(parser: argparse.ArgumentParser) -> None:
    """Let a command be told which gradebook it works on."""
    parser.add_argument(
        "--db",
        default=os.environ.get("COURSE_GRADEBOOK", ""),
        metavar="URL",
        help="the gradebook's address, as nbgrader's CourseDirectory.db_url (what COURSE_GRADEBOOK"
        " says, else gradebook.db in the course folder)",
    )
