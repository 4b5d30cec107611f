"""What a suite of tests lets through and what it refuses, by the names of the answers."""

import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from course_lib.errors import Refused
from course_lib.grading.intake.parsing import plain
from course_tests.judge_tests.problems import Candidate, candidates
from course_tests.judge_tests.suites import Suite, Verdict


@dataclass
class Row:
    """One problem: titles of wrong and right answers, and what became of each.

    ``caught`` says for a wrong answer which tests refuse it, ``refused`` for a right one.
    """

    problem: str
    tests: int = 0
    right: int = 0
    caught: dict[str, list[str]] = field(default_factory=dict)
    passing: list[str] = field(default_factory=list)
    refused: dict[str, list[str]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def add(self, answer: Candidate, verdicts: list[Verdict]) -> None:
        """Count an answer."""
        self.tests = max(self.tests, len(verdicts))
        faults = [one.test for one in verdicts if one.fault]
        self.right += answer.right
        if answer.right and faults:
            self.refused[answer.title] = faults
        elif not answer.right and faults:
            self.caught[answer.title] = faults
        elif not answer.right:
            self.passing.append(answer.title)

    def lines(self) -> list[str]:
        """The row as it is printed."""
        wrong = len(self.passing) + len(self.caught)
        return [
            f"{self.problem}: {self.tests} tests; {len(self.passing)} of {wrong} wrong answers"
            f" pass, {len(self.refused)} of {self.right} right ones are refused",
            *(f"  passes: {title}" for title in self.passing),
            *(plain(f"  refused: {title}: {', '.join(by)}") for title, by in self.refused.items()),
        ]


def judge(
    suite: Suite, root: Path, problem: str, answer: str, say: Callable[[str], None]
) -> tuple[dict[str, Any], list[str], bool]:
    """A suite's report as data and as lines, and whether anything is wrong with it.

    With ``answer``, only answers of that name are tried, and each test's verdict is shown.
    """
    if problem and problem not in suite.problems:
        raise Refused(f"no problem {problem!r}; there are {', '.join(suite.problems)}")
    rows, lines, tried = [], [], 0
    for key in [problem] if problem else suite.problems:
        say(key)
        row = Row(key)
        rows.append(row)
        chosen, row.left_out = candidates(suite.problems[key], root)
        for one in chosen:
            if answer in ("", one.name):
                tried += 1
                verdicts = suite.judge(key, one)
                row.add(one, verdicts)
                if answer:
                    passes = not any(verdict.fault for verdict in verdicts)
                    kind = "right" if one.right else "wrong"
                    lines.append(f"{key}, {one.title}, a {kind} answer: "
                                 f"{'passes' if passes else 'is refused'}")  # fmt: skip
                    lines += [plain(f"  {v.test}: {v.fault or 'ok'}") for v in verdicts]
        if not answer:
            lines += row.lines()
    if not tried:
        raise Refused(f"no answer {answer!r} that is right or wrong here")
    passing = sum(len(row.passing) for row in rows)
    refused = sum(len(row.refused) for row in rows)
    wrong = passing + sum(len(row.caught) for row in rows)
    lines.append(
        f"{suite.name} {suite.version}: {passing} of {wrong} wrong answers pass, in"
        f" {sum(bool(row.passing) for row in rows)} of {len(rows)} problems;"
        f" {refused} of {sum(row.right for row in rows)} right ones are refused"
    )
    data = {
        "suite": suite.name,
        "version": suite.version,
        "date": datetime.now(UTC).date().isoformat(),
        "torch": torch.__version__.partition("+")[0],
        "python": platform.python_version(),
        "problems": [asdict(row) for row in rows],
    }
    return data, lines, bool(passing or refused)
