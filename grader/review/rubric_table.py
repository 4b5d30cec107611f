"""The answers to a question as a table, for a marker who would rather have a spreadsheet."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from grader.base.errors import Refused
from grader.intake.parsing import plain
from grader.lms import csv_table
from grader.lms.csv_table import Numbers
from grader.records.summary import bare, guarded
from grader.review.written import WrittenAnswer, WrittenMark, WrittenQuestion
from grader.rubrics import Rubric

KEY, STUDENT, ANSWER, COMMENT = "key", "student", "answer", "comment"
LONGEST = 30_000


def columns(rubric: Rubric) -> list[str]:
    """Titles of the criteria's columns.

    Example:
        >>> from grader.rubrics import Criterion
        >>> columns(Rubric("why", (Criterion("independence"), Criterion("the clamp", 1.0))))
        ['0 to 0.5: independence', '0 to 1: the clamp']
    """
    return [f"0 to {criterion.points:g}: {criterion.says}" for criterion in rubric.criteria]


def table(rubric: Rubric, answers: Iterable[WrittenAnswer], *, blind: bool) -> str:
    """Answers as CSV, with what they have been given by the rubric."""
    file = io.StringIO()
    rows = csv.writer(file)
    rows.writerow([KEY, *([] if blind else [STUDENT]), ANSWER, *columns(rubric), COMMENT])
    for answer in answers:
        given: list[object] = [""] * (len(rubric.criteria) + 1)
        # Marks without the rubric stay as they are, and are no half-filled row.
        if answer.given is not None:
            given = [*answer.given, _guarded(answer.comment)]
        names = [] if blind else [_guarded(answer.student)]
        rows.writerow([answer.key, *names, _guarded(answer.text), *given])
    # Without the mark a spreadsheet takes the letters for another alphabet.
    return "\ufeff" + file.getvalue()


def read(
    path: Path, question: WrittenQuestion, encoding: str = "", *, again: bool = False
) -> list[WrittenMark]:
    """The marks in a table that was filled in; rows without points are left out."""
    sheet = csv_table.read(path, encoding, even=False)
    wanted = [KEY, *columns(question.rubric), COMMENT]
    places = {name: at for name in wanted if (at := sheet.find([name])) is not None}
    if missing := [name for name in wanted if name not in places]:
        raise Refused(f"{path}: no column {missing[0]!r}, which `--csv` writes")
    answers = {answer.key: answer for answer in question.answers()}
    rows = map(sheet.values, range(1, len(sheet.rows)))
    filled = [[row[at] for at in places.values()] for row in rows]
    numbers = [
        Numbers(f"{path}, {wanted[n]!r}", [row[n] for row in filled])
        for n in range(1, len(wanted) - 1)
    ]
    marks: dict[str, WrittenMark] = {}
    faults = []
    for line, (key, *cells, comment) in enumerate(filled, 2):
        if not any((*cells, comment)):
            continue
        points = [read(cell) for read, cell in zip(numbers, cells, strict=True)]
        given = tuple(value for value in points if value is not None)
        answer = answers.get(key)
        mark = WrittenMark(answer.student if answer else "", given, bare(comment), key)
        if key in marks:
            fault = f"{key} is there twice"
        elif None in points:
            at = points.index(None)
            fault = f"{cells[at]!r} in {wanted[1 + at]!r} is no number"
        else:
            fault = question.fault(mark, answer, again=again)
        if fault:
            faults.append(f"row {line}: {plain(fault)}")
        marks[key] = mark
    if faults:
        raise Refused(f"{path}, nothing is written:\n  " + "\n  ".join(faults))
    return list(marks.values())


def _guarded(text: str) -> str:
    """A stranger's text as a spreadsheet may have it, line by line: no formula, no control."""
    lines = "\n".join(plain(line.expandtabs(4), LONGEST) for line in text.splitlines())
    return guarded(lines)
