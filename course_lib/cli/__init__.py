"""The ``course`` command: everything that can be done with the course, in one place.

Exit codes: 0 done; 1 done, and something is wrong with what was looked at; 2 the request itself
could not be carried out; 130 interrupted. A fault of the program keeps its traceback.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import course_lib
from course_lib.cli.common import REFUSED, Command, any_console, visible
from course_lib.cli.interrupt import Interrupt
from course_lib.errors import Refused
from course_lib.grading import MANIFEST

Handler = Callable[[argparse.Namespace], int]
_OF_FILES = (
    FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError,
)  # fmt: skip
# These name no file, and are the machine's all the same: no room, a disk that is read only, a port
# that is taken, and a reader of the output who has seen enough, such as `head`.
_OUTSIDE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EADDRINUSE, errno.EPIPE)


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    # Imported only here, where :func:`main` hears Ctrl-C already.
    from course_lib.cli import (
        analyse,
        bench,
        check,
        content,
        defend,
        experiment,
        grading,
        handout,
        hub,
        judge_tests,
        lms,
        prove,
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
    commands = top.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=Command
    )

    def add(name: str, handler: Handler, says: str, **more: Any) -> Command:
        parser = commands.add_parser(name, help=says, **more)
        parser.set_defaults(handler=handler)
        return parser

    rooms = (
        content,
        check,
        prove,
        grading,
        rubric,
        lms,
        handout,
        term,
        analyse,
        defend,
        experiment,
        walls,
        hub,
        judge_tests,
    )
    for module in (*rooms, research, bench):
        module.register(add)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    with Interrupt() as interrupt:
        try:
            any_console()
            arguments = parser().parse_args(argv)
            arguments.interrupt = interrupt
            handler: Handler = arguments.handler
            return handler(arguments)
        except KeyboardInterrupt:
            return interrupt.say()
        except Exception as error:
            # What Ctrl-C became on its way through somebody's import, too.
            if interrupt.pressed:
                return interrupt.say()
            line = _in_a_line(error)
            if line is None:
                raise
            if os.environ.get("COURSE_TRACEBACK") == "1":
                traceback.print_exc()
            print(f"course: {visible(line)}", file=sys.stderr)
            return REFUSED


def _in_a_line(error: Exception) -> str | None:
    """What an error says that is no fault of the program; nothing of one that is."""
    if isinstance(error, ImportError):
        handed_out = (Path(course_lib.__file__).parents[1] / MANIFEST).is_file()
        return f"{error.name}: students get the course without it" if handed_out else None
    if isinstance(error, OSError):
        named = error.filename is not None or isinstance(error, _OF_FILES)
        return str(error) if named or error.errno in _OUTSIDE else None
    # Training says at which step of which run its loss stopped being a number.
    return str(error) if isinstance(error, Refused | FloatingPointError) else None
