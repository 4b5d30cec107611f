"""The ``course`` command: everything that can be done with the course, in one place.

Exit codes: 0 done; 1 done, and something is wrong with what was looked at; 2 the request itself
could not be carried out; 130 interrupted. A fault of the program keeps its traceback.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import course_lib
from course_lib.cli.interrupt import Interrupt
from course_lib.errors import Refused as Refused
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


Handler = Callable[[argparse.Namespace], int]


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    from course_lib.cli import (
        analyse,
        check,
        content,
        defend,
        grading,
        handout,
        hub,
        lms,
        research,
        rubric,
        term,
        walls,
    )

    top = argparse.ArgumentParser(
        prog="course",
        description="Build, serve, release, grade and measure the course on attention.",
        epilog="`course COMMAND --help` tells more. Exit codes: 0 done, 1 something found wrong,"
        " 2 refused, 130 interrupted. COURSE_TRACEBACK=1 says where a refusal came from.",
    )
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (content, check, grading, rubric, lms, handout, term, analyse, defend, walls, hub,
                   research):  # fmt: skip
        module.register(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    with Interrupt() as interrupt:
        try:
            arguments = parser().parse_args(argv)
            arguments.interrupt = interrupt
            handler: Handler = arguments.handler
            return handler(arguments)
        except KeyboardInterrupt:
            return interrupt.say()
        except (Refused, OSError, FloatingPointError) as error:
            if interrupt.pressed:
                return interrupt.say()
            if os.environ.get("COURSE_TRACEBACK") == "1":
                traceback.print_exc()
            print(f"course: {error}", file=sys.stderr)
            return REFUSED
        except ImportError as error:
            if interrupt.pressed:
                return interrupt.say()
            if not (Path(course_lib.__file__).parents[1] / MANIFEST).is_file():
                raise
            print(f"course: {error.name}: students get the course without it", file=sys.stderr)
            return REFUSED
        except Exception:
            # What Ctrl-C became on its way through somebody's import.
            if interrupt.pressed:
                return interrupt.say()
            raise
