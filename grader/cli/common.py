"""Shared code of the commands: finding the checkout, printing reports, options, exit codes."""

import argparse
import codecs
import io
import json
import os
import pkgutil
import re
import sys
import unicodedata
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from grader import MANIFEST
from grader.base.course import FILE, course
from grader.base.errors import Refused

FOUND_WRONG, REFUSED = 1, 2
_LIKE = str.maketrans("×·−–—‘’“”→", "x*---''\"\">")
USUAL = {
    "assignment": "assignment  for example 03_attention",
    "--course": "--course:Path  folder that contains submitted/ (default: the checkout)",
    "--jobs": "--jobs N:int  submissions at a time (default: one per core)",
    "--from": "--from SYSTEM()>system  canvas, moodle, blackboard, brightspace or ilias (default:"
    " recognised from the file)",
    "--column": "--column FIELD=HEADER+  title of a column in another language, for example"
    " name='Nom complet'; repeatable",
    "--encoding": "--encoding()  encoding of a file that does not state it (default: UTF-8)",
    "--dry-run": "--dry-run  print what would be done, change nothing",
    "--json": "--json  print the report as JSON, and nothing else",
}
_ARGUMENT = re.compile(
    r"(\[?)([\w-]+)\]?(?: ([A-Z][\w.=[\]]*?))?(\.\.\.|\+)?(!?)(?::(\w+))?(?:\((\S*)\))?"
    r"(?:>(\w+))?"
)
# The folder `tests` as a package.
TESTS = "course_tests"


def checkout() -> Path:
    """The nearest folder upwards that holds ``course.toml`` and ``solutions``, or is a handout."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        whole = (folder / FILE).is_file() and (folder / "solutions").is_dir()
        if whole or (folder / MANIFEST).is_file():
            return folder
    raise Refused(f"{here} is not inside a checkout of the course: change into one and try again")


def sources() -> Path:
    """The checkout; elsewhere what the library was installed from, which may hold the releases."""
    try:
        return checkout()
    except Refused:
        return course().root


def instrument(name: str, root: Path | None = None) -> ModuleType:
    """A module of ``tests``, which holds the measuring instruments of the course."""
    folder = (root or checkout()) / "tests"
    place = folder.joinpath(*name.split("."))
    if not (place.is_dir() or place.with_suffix(".py").is_file()):
        raise Refused(
            f"{place} is missing: it is part of the repository, not of the installed library"
        )
    if TESTS not in sys.modules:
        package = sys.modules[TESTS] = ModuleType(TESTS)
        package.__path__ = [str(folder)]
    # By name: `import_module` would stand for all modules beside this one.
    module: ModuleType = pkgutil.resolve_name(f"{TESTS}.{name}")
    return module


def jobs(arguments: argparse.Namespace) -> int:
    """The number of parallel judges: ``--jobs``, else one for each core."""
    # macOS has no such call.
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    many = int(mine or 1) if arguments.jobs is None else int(arguments.jobs)
    if many < 1:
        raise Refused(f"--jobs {many}: at least 1 is needed")
    return many


def emit(arguments: argparse.Namespace, data: dict[str, Any] | list[Any], *lines: str) -> None:
    """Print a report as JSON where ``--json`` was given, else as lines."""
    plain = codecs.lookup(sys.stdout.encoding or "ascii").name != "utf-8"
    text = json.dumps(data, indent=1, ensure_ascii=plain) if arguments.json else "\n".join(lines)
    # JSON can escape control characters that a terminal would act upon.
    print(_visible(text, lambda sign: json.dumps(sign)[1:-1]) if arguments.json else visible(text))


def visible(text: str) -> str:
    """Text without control characters, which would move the cursor or reverse a line.

    Example:
        >>> print(visible("\\u202eada\\x1b[2J"))
        �ada�[2J
    """
    return _visible(text, lambda sign: "\N{REPLACEMENT CHARACTER}")


def _visible(text: str, instead: Callable[[str], str]) -> str:
    # The name of a student's folder may contain bytes that are no text.
    blanks = {"\n", "\t"} | {c for c in text if unicodedata.category(c) == "Zs"}
    return "".join(c if c.isprintable() or c in blanks else instead(c) for c in text)


def any_console() -> None:
    """Let what is printed reach a console whose alphabet lacks some of its signs."""
    codecs.register_error("course", _without)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="course")


def _without(error: UnicodeError) -> tuple[str, int]:
    """Signs that are like those that are missing: letters without accents, else question marks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_LIKE)
    plain = (c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return "".join(c if c.isascii() else "?" for c in plain), error.end


def say(line: str) -> None:
    """Print progress to stderr."""
    print(f"  {visible(line)}", file=sys.stderr, flush=True)


class Command(argparse.ArgumentParser):
    """An argument parser with short ways to add options."""

    def flags(self, **helps: str) -> None:
        """Add options that are off by default."""
        for name, says in helps.items():
            self.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=says)

    def option(self, name: str, says: str, default: Any = None, **more: Any) -> None:
        """Add an option, given with its metavar; its type is the default's."""
        option, _, metavar = name.partition(" ")
        kind = {} if default is None else {"type": type(default)}
        more = {"metavar": metavar or None, "default": default, **kind, **more}
        self.add_argument(option, help=says, **more)


def iso(read: Callable[[str], Any], says: str) -> Callable[[str], Any]:
    """Converter of a time or a day on the command line."""

    def taken(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a {says}") from None

    return taken


Add = Callable[..., Command]
_KINDS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "Path": Path,
    "time": iso(datetime.fromisoformat, "time such as 2026-10-20T08:00"),
}


def commands(add: Add, module: ModuleType) -> None:
    """Add what a module's text ``COMMANDS`` names: a command and its help, below it its arguments.

    ``[cell]`` may be left out, ``...`` are one or several, ``+`` may come again, ``!`` has to be
    there, ``:Path`` is a type, ``(1)`` the default, ``>name`` the attribute; an option with none of
    these is off by default. Help goes on in lines that are indented further; ``also`` stands before
    arguments that are :data:`USUAL`.
    """
    for line in re.sub(r"\n {5,}", " ", module.COMMANDS.strip()).splitlines():
        if not line.startswith(" "):
            name, _, says = line.partition(": ")
            parser = add(name, getattr(module, f"run_{name.replace('-', '_')}"), says)
            continue
        usual = line.startswith("  also ")
        for argument in line.split()[1:] if usual else [line.strip()]:
            if argument == "--db":
                add_db(parser)
            else:
                how, _, says = (USUAL[argument] if usual else argument).partition("  ")
                _add_argument(parser, how, says.strip())


def _add_argument(parser: Command, how: str, says: str) -> None:
    match = _ARGUMENT.fullmatch(how)
    assert match is not None, how
    optional, name, metavar, several, required, kind, default, dest = match.groups()
    if how == name and name.startswith("--"):
        parser.add_argument(name, action="store_true", help=says)
        return
    of = _KINDS[kind or "str"]
    more: dict[str, Any] = {"default": None if default is None else of(default)}
    if several == "+":
        more = {"action": "append", "default": []}
    elif several or optional:
        more["nargs"] = "?" if not several else "*" if optional else "+"
    if dest:
        more["dest"] = dest
    if required:
        more["required"] = True
    parser.add_argument(name, type=of, metavar=metavar, help=says, **more)


def add_json(parser: Command) -> None:
    """Add ``--json`` to a command that reports."""
    _add_argument(parser, *USUAL["--json"].split("  "))


def add_db(parser: Command) -> None:
    """Add ``--db``, the address of the gradebook."""
    parser.add_argument(
        "--db",
        default=os.environ.get("COURSE_GRADEBOOK", ""),
        metavar="URL",
        help="address of the gradebook, as in nbgrader's CourseDirectory.db_url (default: the"
        " variable COURSE_GRADEBOOK, else gradebook.db in the course folder)",
    )
