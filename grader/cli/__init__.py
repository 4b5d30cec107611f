"""The command of a course: what the grader does, and what the course adds.

Exit codes: 0 done; 1 done, and something is wrong with what was looked at; 2 the request itself
could not be carried out; 130 interrupted. A fault of the program keeps its traceback.
"""

import argparse
import contextlib
import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, ModuleType
from typing import Any, NamedTuple

from grader import MANIFEST
from grader.base.course import HERE, course
from grader.base.errors import Refused
from grader.cli.common import REFUSED, Command, any_console, commands, visible

Handler = Callable[[argparse.Namespace], int]
_OF_FILES = (
    FileNotFoundError,
    FileExistsError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)
# Errors that name no file but come from the machine: a full or read-only disk, a port in use, and a
# reader of the output that has closed it, such as `head`.
_OUTSIDE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EADDRINUSE, errno.EPIPE)


INTERRUPTED = 130
SAYS = "interrupted; run the same command again to resume"


class Group(NamedTuple):
    """Commands that belong together; only the first ones appear in the help of ``course``."""

    says: str
    first: tuple[str, ...]
    others: tuple[str, ...]


def group(says: str, first: str, others: str) -> Group:
    """A group from names of commands with blanks between."""
    return Group(says, tuple(first.split()), tuple(others.split()))


GROUPS = {
    "learn": group("assignments as a student", "check reset", "prove verify"),
    "teach": group(
        "assignments as an instructor",
        "exercises handout grade analyse",
        "regrade rubric defend similar release-solutions roster collect export rename migrate hub"
        " doctor",
    ),
    "measure": group("the exercises themselves", "matrix", "attacks"),
}


def parser(
    more: Sequence[ModuleType] = (),
    groups: Mapping[str, Group] = GROUPS,
    description: str = "Release, check and grade assignments.",
) -> "Course":
    """The whole command line.

    ``more``: the course's own modules with a ``register``; ``groups``: all commands of both.
    """
    # Imported only here, where :func:`main` hears Ctrl-C already.
    from grader.cli import grading, hub, review, student, term, walls

    top = Course(
        groups,
        prog="course",
        description=description,
        epilog="`course COMMAND --help` explains a command; `course help GROUP` lists the commands"
        " of a group, and `course help --all` lists all of them. Exit codes: 0 success,"
        " 1 a problem was found, 2 the request was refused, 130 interrupted. Set"
        " COURSE_TRACEBACK=1 to see where a refusal came from.",
    )
    top.commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=Command)

    def add(name: str, handler: Handler, says: str, **more: Any) -> Command:
        parser: Command = top.commands.add_parser(name, help=says, **more)
        parser.set_defaults(handler=handler)
        return parser

    for module in (student, grading, review, term, walls):
        commands(add, module)
    for module in (hub, *more):
        module.register(add)
    explain = add("help", top.run_help, "list the commands of a group, or explain one command")
    explain.add_argument("name", nargs="?", help=f"a command, or {', '.join(groups)}")
    explain.flags(all="list every command")
    return top


class Course(argparse.ArgumentParser):
    """The ``course`` command, whose help shows a few commands of each group."""

    commands: Any

    def __init__(self, groups: Mapping[str, Group], **more: Any) -> None:
        super().__init__(**more)
        self.groups = groups

    def format_help(self, chosen: Mapping[str, Sequence[str]] | None = None) -> str:
        """The first commands of every group, or those of the chosen groups."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        says = {action.dest: action for action in self.commands._choices_actions}
        shown = chosen or {name: g.first for name, g in self.groups.items()}
        for name, names in shown.items():
            formatter.start_section(f"{name} ({self.groups[name].says})")
            formatter.add_arguments([says[command] for command in names])
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def run_help(self, arguments: argparse.Namespace) -> int:
        """Print the help of a command, of a group or of all groups."""
        name, every = arguments.name, {name: g.first + g.others for name, g in self.groups.items()}
        if name is None:
            text = self.format_help(every if arguments.all else None)
        elif name in self.groups:
            text = self.format_help({name: every[name]})
        elif name in self.commands.choices:
            text = self.commands.choices[name].format_help()
        else:
            raise Refused(f"no command or group {name!r}; the groups are {', '.join(self.groups)}")
        print(text, end="")
        return 0


class Interrupt:
    """Remembers Ctrl-C, and raises ``KeyboardInterrupt`` as Python does.

    An exception alone may come while an import turns it into an ``ImportError``, or in a
    destructor, where Python drops it; so :meth:`check` is called now and then. Pressed again, it
    ends the process at once, which harms nothing: all that is done is written down already.
    """

    def __init__(self) -> None:
        self.pressed = False
        self.before: Any = None
        self.unraisable = sys.unraisablehook

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if it was pressed."""
        if self.pressed:
            raise KeyboardInterrupt

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            os.write(2, f"\n{SAYS}\n".encode())
            os._exit(INTERRUPTED)
        self.pressed = True
        raise KeyboardInterrupt

    def _dropped(self, what: Any) -> None:
        """Python drops what is raised in a destructor, with a traceback; this one is remembered."""
        if not issubclass(what.exc_type, KeyboardInterrupt):
            self.unraisable(what)

    def __enter__(self) -> "Interrupt":
        """Handle the signal; outside the main thread that is left to the one who may."""
        if threading.current_thread() is threading.main_thread():
            self.before = signal.signal(signal.SIGINT, self._press)
        self.unraisable, sys.unraisablehook = sys.unraisablehook, self._dropped
        return self

    def __exit__(self, *_: object) -> None:
        """Put back what handled it before; once pressed, the process is about to end in peace."""
        sys.unraisablehook = self.unraisable
        if self.before is not None:
            signal.signal(signal.SIGINT, signal.SIG_IGN if self.pressed else self.before)

    def say(self) -> int:
        """Say so; the exit code."""
        # After Ctrl-C upon code that is made from text, such as that of a data class, `python -m`
        # ends by the signal, whatever the exit code (bpo-1054041); the next such code makes it
        # forget that.
        exec("")
        print(f"\n{SAYS}", file=sys.stderr)
        return INTERRUPTED


def main(argv: Sequence[str] | None = None, made: Callable[[], Course] = parser) -> int:
    """Run one command of the parser that is ``made``, and return its exit code."""
    with Interrupt() as interrupt:
        try:
            any_console()
            arguments = made().parse_args(argv)
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
        if isinstance(error, ModuleNotFoundError) and not _ours(f"{error.name}."):
            way = "`make install`, or in a handout `pip install -e '.[grade]'`"
            return f"{error.name} is not installed: {way}"
        handed = (HERE / MANIFEST).is_file()
        return f"{error.name} is not part of what students get" if handed else None
    if isinstance(error, OSError):
        ours = error.filename is not None or isinstance(error, _OF_FILES) or error.errno in _OUTSIDE
        return str(error).removeprefix(f"[Errno {error.errno}] ") if ours else None
    # Training says at which step of which run its loss stopped being a number.
    return str(error) if isinstance(error, Refused | FloatingPointError) else None


def _ours(module: str) -> bool:
    """Tell whether a module is one of the course or of the grader."""
    names = ["grader"]
    with contextlib.suppress(Refused):  # where there is no course
        names += course().folders
    return module.startswith(tuple(f"{name}." for name in names))
