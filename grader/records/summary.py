"""Summary of a graded class: as text, as JSON, and as a CSV file."""

import csv
import io
import json
import re
import statistics
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from grader.base.files import write_whole
from grader.checks.exercise import find
from grader.checks.naming import AND
from grader.intake.parsing import plain
from grader.judge.results import Verdict

BAR, BINS, WIDTH = 24, 10, 100
# Where a spreadsheet may begin a cell, also one that knows other separators and no quotes, and what
# it takes for the beginning of a formula there.
_BEGINS = r"((?:^|[;\t])[\s\"']*)"
_FORMULA = r"(?=[=+\-@＝＋－＠])"
# A class up to this size is listed student by student; of a larger one the CSV file has the list.
LISTED = 20


def data(name: str, verdicts: Sequence[Verdict], engine: str = "") -> dict[str, Any]:
    """Scores, pass rates, mistakes, who needs a look, and verdicts of another ``engine``."""
    graded = [v for v in verdicts if v.score is not None]
    scores = [v.score for v in graded if v.score is not None]
    top = max((v.max_points for v in verdicts), default=0.0)
    return {
        "assignment": name,
        "submissions": len(verdicts),
        "graded": len(graded),
        "failed": len(verdicts) - len(graded),
        "graded_now": sum(v.fresh for v in verdicts),
        "by_another_version": sum(v.engine != engine for v in verdicts) if engine else 0,
        "max_points": top,
        "mean": statistics.fmean(scores) if scores else None,
        "median": statistics.median(scores) if scores else None,
        "distribution": _distribution(scores, top),
        "exercises": _exercises(graded),
        "mistakes": _mistakes(graded),
        "needs_a_look": {v.student: v.look for v in verdicts if v.look},
        "for_a_person": {
            v.student: waiting
            for v in graded
            if (waiting := [i for i, score in v.exercises.items() if score is None])
        },
        "late_penalties": {v.student: v.penalty for v in graded if v.penalty is not None},
        "students": {v.student: v.score for v in verdicts},
    }


def _distribution(scores: Sequence[float], top: float) -> list[dict[str, float]]:
    edges = [top * n / BINS for n in range(BINS + 1)]
    bins = [
        {"from": low, "below": high, "count": sum(low <= s < high for s in scores)}
        for low, high in pairwise(edges)
    ]
    return [*bins, {"from": top, "below": top, "count": sum(s >= top for s in scores)}]


def _exercises(graded: Sequence[Verdict]) -> list[dict[str, Any]]:
    rows = []
    for identifier in dict.fromkeys(i for v in graded for i in v.exercises):
        points = [s for v in graded if (s := v.exercises.get(identifier)) is not None]
        worth = max((v.worth.get(identifier, 0.0) for v in graded), default=0.0)
        rows.append(
            {
                "exercise": identifier,
                "max_points": worth,
                "graded": len(points),
                "mean": statistics.fmean(points) if points else None,
                "full": sum(p >= worth for p in points) / len(points) if points else None,
            }
        )
    return rows


def _mistakes(graded: Sequence[Verdict]) -> list[dict[str, Any]]:
    each = ((e, m) for v in graded for e, named in v.mistakes.items() for m in named.split(AND))
    counted = Counter(each).most_common()
    return [
        {
            "exercise": exercise,
            "mistake": mistake.replace("_", " "),
            "says": next((m.says for m in find(exercise).mistakes if m.name == mistake), ""),
            "count": count,
        }
        for (exercise, mistake), count in counted
    ]


def text(facts: dict[str, Any]) -> str:
    """Text of :func:`data` for a terminal."""
    top = facts["max_points"]
    students = {plain(name): score for name, score in facts["students"].items()}
    lines = [f"{facts['assignment']}: {facts['submissions']} submissions", ""]
    width = max((len(s) for s in students), default=0)
    if len(students) <= LISTED:
        for student, score in students.items():
            mark = "     -  not graded" if score is None else f"{score:6.2f}  {_bar(score, top)}"
            lines.append(f"  {student:{width}}  {mark}".rstrip())
        lines.append("")
    lines.append("points        students")
    most = max((b["count"] for b in facts["distribution"]), default=1)
    for b in facts["distribution"]:
        reach = f"{b['from']:.4g} all" if b["from"] == b["below"] else f"from {b['from']:.4g}"
        lines.append(f"  {reach:<10}  {b['count']:4d}  {_bar(b['count'], most)}".rstrip())
    lines += ["", "  mean   of  full points  exercise"]
    for e in facts["exercises"]:
        if e["mean"] is None:
            lines.append(f"     -  {e['max_points']:3g}            -  {e['exercise']}  (by hand)")
        else:
            share = f"{100 * e['full']:.0f} %"
            lines.append(f"{e['mean']:6.2f}  {e['max_points']:3g}  {share:>11}  {e['exercise']}")
    if facts["mistakes"]:
        lines += ["", "named mistakes, most frequent first"]
        for m in facts["mistakes"]:
            lines.append(f"  {m['count']:4d}  {m['exercise']}: {m['mistake']}")
            lines.append(_indented(f"assumes: {m['says']}"))
    if facts["needs_a_look"]:
        lines += ["", "needs a look"]
        for student, why in facts["needs_a_look"].items():
            lines += [f"  {plain(student)}", _indented(why)]
    if waiting := facts["for_a_person"]:
        answers = sum(map(len, waiting.values()))
        lines += ["", f"to be graded by hand: {answers} answers of {len(waiting)} students"]
    if late := facts["late_penalties"]:
        lines += ["", "late, and what nbgrader's plugin takes for it"]
        lines += [f"  {plain(name):{width}}  {points:6.2f}" for name, points in late.items()]
    if old := facts["by_another_version"]:
        lines += ["", f"graded by another version of the course: {old}; to see what this one says:"]
        lines.append(f"  course regrade {facts['assignment']}")
    mean = "-" if facts["mean"] is None else f"{facts['mean']:.2f}"
    lines += [
        "",
        f"graded {facts['graded']} of {facts['submissions']}, mean {mean} of {top:g} points",
    ]
    # Names of folders and files are strangers' words; on a terminal they could be commands.
    return "\n".join(plain(line, 1000) for line in "\n".join(lines).split("\n"))


def cell(value: str) -> str:
    """A stranger's word as a spreadsheet may have it: no formula, no control character.

    Example:
        >>> cell("=HYPERLINK(1)"), cell("ada"), cell("a;=1")
        ("'=HYPERLINK(1)", 'ada', "a;'=1")
    """
    return guarded(plain(value))


def guarded(text: str) -> str:
    """The same of a text of several lines."""
    return re.sub(_BEGINS + _FORMULA, r"\1'", text, flags=re.MULTILINE)


def bare(text: str) -> str:
    """Argument of :func:`guarded`."""
    return re.sub(_BEGINS + "'" + _FORMULA, r"\1", text, flags=re.MULTILINE)


def as_json(facts: dict[str, Any]) -> str:
    """The same for programs; what a terminal would take for a command is written as its number."""
    written = json.dumps(facts, indent=1, ensure_ascii=False) + "\n"
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in written)


def _bar(part: float, whole: float) -> str:
    return "█" * round(BAR * part / whole) if whole else ""


def _indented(words: str) -> str:
    return textwrap.fill(words, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)


def sheet(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as CSV; words are as a spreadsheet may have them."""
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    for row in (head, *rows):
        lines.writerow([cell(value) if isinstance(value, str) else value for value in row])
    return file.getvalue()


def table(verdicts: Sequence[Verdict]) -> str:
    """Automatic points as CSV: a student a line, a column for each exercise, and the total.

    Example:
        >>> print(table([Verdict("ada", "", 5.0, 6.0, {"heads-split": 5.0})]), end="")
        student,heads-split,total
        ada,5.0,5.0
    """
    columns = list(dict.fromkeys(i for v in verdicts for i in v.exercises))
    rows = [[v.student, *(v.exercises.get(c) for c in columns), v.score] for v in verdicts]
    return sheet(["student", *columns, "total"], rows)


def write(folder: Path, facts: dict[str, Any], verdicts: Sequence[Verdict]) -> Path:
    """Write all three forms into a folder; the path of the text."""
    path = folder / f"{facts['assignment']}.txt"
    write_whole(path, text(facts) + "\n")
    write_whole(path.with_suffix(".json"), as_json(facts))
    write_whole(path.with_suffix(".csv"), table(verdicts))
    return path
