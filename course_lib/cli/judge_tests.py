"""``course judge-tests``: the known mistakes as a yardstick for other people's tests and tutors."""

import argparse
import json
from pathlib import Path

from course_lib.cli.common import FOUND_WRONG, Add, add_json, checkout, emit, instrument, say
from course_lib.errors import Refused
from course_lib.files import write_whole


def register(add: Add) -> None:
    """Add the command."""
    judge = add("judge-tests", run_judge_tests, "which known mistakes do tests, or a tutor, miss?")
    judge.add_argument(
        "suite",
        nargs="?",
        help="`torch-judge`, a package that you install; `ours`, the course's checks on the same"
        " problems; or the path of tests for pytest, which run with your rights",
    )
    judge.option("--where DIR", "where torch-judge is installed, if Python does not find it", "")
    judge.option("--adapter FILE", "TOML: which exercise each function is", type=Path)
    judge.option("--problem NAME", "only this one", "")
    judge.option("--answer NAME", "only answers of this name, with each test's verdict", "")
    judge.option("--seconds N", "that a test, or your suite, may take (30)", 30.0)
    judge.flags(record="keep the report of all problems in the file that the book shows")
    judge.option("--tutor FILE", "questions `which mistake is this?`", type=Path)
    judge.option("--ask N", "write that many questions to the tutor's file", type=int)
    judge.option("--seed N", "that they are drawn with (0)", 0)
    judge.option("--said FILE", "what the tutor answered: lines `number: name`", type=Path)
    add_json(judge)


def run_judge_tests(arguments: argparse.Namespace) -> int:
    """Print what passes and what is refused, or how well a tutor names mistakes."""
    root = checkout()
    if (arguments.suite is None) == (arguments.tutor is None):
        raise Refused("judge-tests wants a suite, or --tutor FILE")
    if arguments.tutor:
        return _tutor(arguments)
    if arguments.record and (arguments.problem or arguments.answer):
        raise Refused("--record keeps the report of all problems")
    suites, report = instrument("judge_tests.suites"), instrument("judge_tests.report")
    suite = suites.named(
        arguments.suite, arguments.where, arguments.adapter, arguments.seconds, root
    )
    data, lines, wrong = report.judge(suite, root, arguments.problem, arguments.answer, say)
    if arguments.record:
        path = root / "book" / "yardstick.json"
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        kept[suite.name] = data
        write_whole(path, json.dumps(kept, indent=1, sort_keys=True) + "\n")
    emit(arguments, data, *lines)
    return FOUND_WRONG if wrong else 0


def _tutor(arguments: argparse.Namespace) -> int:
    """Write questions, or score what was said to them."""
    tutor = instrument("judge_tests.tutor")
    if (arguments.ask is None) == (arguments.said is None):
        raise Refused("--tutor FILE wants --ask N, to write questions, or --said FILE")
    if arguments.ask is not None:
        write_whole(arguments.tutor, tutor.questions(arguments.ask, arguments.seed))
        print(f"{arguments.tutor}: {arguments.ask} questions")
        return 0
    score, lines = tutor.score(arguments.tutor, arguments.said)
    counts = ", ".join(
        f"{name} {value}" for name, value in score._asdict().items() if name != "chance"
    )
    emit(arguments, score._asdict(), *lines, f"{counts}; guessing gets {score.chance:.1f} right")
    return 0
