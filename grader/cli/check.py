"""``course check``: a student's notebook before it is submitted."""

import argparse
from pathlib import Path

from grader.base.errors import Refused
from grader.cli.common import FOUND_WRONG, Add, add_json, emit, sources, visible


def register(add: Add) -> None:
    """Add the command."""
    check = add(
        "check", run_check, "run a notebook from top to bottom and print the grader's verdict"
    )
    check.add_argument(
        "notebook", type=Path, help="for example exercises/03_attention/03_attention.ipynb"
    )
    check.option("--seconds N", "time limit of a cell in seconds (default: 120)", 120)
    add_json(check)


def run_check(arguments: argparse.Namespace) -> int:
    """Print each table, then the points."""
    from grader.intake.parsing import Unreadable
    from grader.student.selfcheck import rehearse

    if arguments.seconds < 1:
        raise Refused(f"--seconds {arguments.seconds}: at least 1 is needed")
    try:
        result = rehearse(
            arguments.notebook,
            sources(),
            arguments.seconds,
            lambda text: None if arguments.json else print(f"{visible(text)}\n", flush=True),
        )
    except Unreadable as error:
        raise Refused(str(error)) from None
    except Refused as error:
        raise Refused(f"{arguments.notebook}: {error}") from None
    emit(arguments, result.data(), result.line)
    return 0 if result.ready else FOUND_WRONG
