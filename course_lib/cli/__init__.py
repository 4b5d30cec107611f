"""The ``course`` command.

Exit codes: 0 done; 1 done, and something is wrong with what was looked at; 2 the request itself
could not be carried out; 130 interrupted. A fault of the program keeps its traceback.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import course_lib
from course_lib.cli.common import REFUSED, Command, any_console, visible
from course_lib.cli.interrupt import Interrupt
from course_lib.errors import Refused
from course_lib.grading import MANIFEST

Handler = Callable[[argparse.Namespace], int]
_OF_FILES = (
    FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError,
)  # fmt: skip
# Errors that name no file but come from the machine: a full or read-only disk, a port in use, and a
# reader of the output that has closed it, such as `head`.
_OUTSIDE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EADDRINUSE, errno.EPIPE)


class Group(NamedTuple):
    """Commands that belong together; only the first ones appear in the help of ``course``."""

    says: str
    first: tuple[str, ...]
    others: tuple[str, ...]


def _group(says: str, first: str, others: str) -> Group:
    return Group(says, tuple(first.split()), tuple(others.split()))


GROUPS = {
    "read": _group("the book on this machine", "book serve", "slides"),
    "learn": _group("assignments as a student", "check reset", "prove verify experiment"),
    "teach": _group(
        "assignments as an instructor",
        "exercises handout grade analyse",
        "regrade rubric defend similar release-solutions roster collect export syllabus rename"
        " migrate hub doctor",
    ),
    "measure": _group(
        "the experiments, and the course itself", "run results", "data matrix attacks bench"
    ),
}


def parser() -> Course:
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
        lms,
        prove,
        research,
        rubric,
        term,
        walls,
    )

    top = Course(
        prog="course",
        description="Build the book, release and grade assignments, and run the experiments.",
        epilog="`course COMMAND --help` explains a command; `course help GROUP` lists the commands"
        " of a group, and `course help --all` lists all of them. Exit codes: 0 success,"
        " 1 a problem was found, 2 the request was refused, 130 interrupted. Set"
        " COURSE_TRACEBACK=1 to see where a refusal came from.",
    )
    commands = top.commands = top.add_subparsers(
        metavar="COMMAND", required=True, parser_class=Command
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
    )
    for module in (*rooms, research, bench):
        module.register(add)
    explain = add("help", top.run_help, "list the commands of a group, or explain one command")
    explain.add_argument("name", nargs="?", help=f"a command, or {', '.join(GROUPS)}")
    explain.flags(all="list every command")
    return top


class Course(argparse.ArgumentParser):
    """The ``course`` command, whose help shows a few commands of each group."""

    commands: Any

    def format_help(self, chosen: Mapping[str, Sequence[str]] | None = None) -> str:
        """The first commands of every group, or those of the chosen groups."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        says = {action.dest: action for action in self.commands._choices_actions}
        for name, commands in (chosen or {name: g.first for name, g in GROUPS.items()}).items():
            formatter.start_section(f"{name} ({GROUPS[name].says})")
            formatter.add_arguments([says[command] for command in commands])
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def run_help(self, arguments: argparse.Namespace) -> int:
        """Print the help of a command, of a group or of all groups."""
        name, every = arguments.name, {name: g.first + g.others for name, g in GROUPS.items()}
        if name is None:
            text = self.format_help(every if arguments.all else None)
        elif name in GROUPS:
            text = self.format_help({name: every[name]})
        elif name in self.commands.choices:
            text = self.commands.choices[name].format_help()
        else:
            raise Refused(f"no command or group {name!r}; the groups are {', '.join(GROUPS)}")
        print(text, end="")
        return 0


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
            # An import may have turned Ctrl-C into another exception.
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
    """The message of an error that is no fault of the program, else None."""
    if isinstance(error, ImportError):
        if (Path(course_lib.__file__).parents[1] / MANIFEST).is_file():
            return f"{error.name} is not part of what students get"
        if isinstance(error, ModuleNotFoundError) and not f"{error.name}.".startswith("course_"):
            return f"{error.name} is not installed: `make install` installs everything"
        return None
    if isinstance(error, OSError):
        named = error.filename is not None or isinstance(error, _OF_FILES)
        return str(error) if named or error.errno in _OUTSIDE else None
    # Training says at which step of which run its loss stopped being a number.
    return str(error) if isinstance(error, Refused | FloatingPointError) else None
