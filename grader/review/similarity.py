"""Pairs of submissions that a person should compare, without a judgement.

Answers to one exercise are compared with each other and with the published solution. Two can agree
because there are few ways to write six lines; so a passage counts the less, the more students have
it, and what the released notebook already holds does not count at all.
"""

import html
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from copydetect import CodeFingerprint
from nbformat import NotebookNode

from grader.authoring import Assignment
from grader.base.errors import Refused
from grader.base.files import write_whole
from grader.cells import id_of, marks
from grader.intake import matching, parsing
from grader.judge.feedback import inert_page
from grader.review.fingerprint import Alphabet, Token, leave_out, of_code, of_words, passages

# Name of the published solution beside a student; no folder can be called this.
SOLUTION = "the published solution"
OWN = "cells of their own"
# With fewer runs of its own, a submission says nothing about anybody.
FEWEST = 20


@dataclass
class Answer:
    """Text of a student in a cell; its print is without what the release holds."""

    source: str
    tokens: list[Token]
    print_: CodeFingerprint


@dataclass(frozen=True)
class Match:
    """Where two answers to one exercise agree."""

    exercise: str
    sources: tuple[str, str]
    spans: tuple[list[tuple[int, int]], list[tuple[int, int]]]  # of the passages, in each text


@dataclass(frozen=True)
class AlikePair:
    """Two submissions that agree; the second may be ``SOLUTION``.

    Of the shorter one, ``share`` says how much the other one has, too. A passage weighs the less,
    the more submissions hold it.
    """

    students: tuple[str, str]
    share: float
    matches: list[Match] = field(repr=False)


@dataclass(frozen=True)
class Similarities:
    """Findings in a class."""

    name: str
    compared: int  # submissions
    pairs: list[AlikePair]  # most alike first
    near_solution: list[AlikePair]  # beside the published solution, most alike first
    left_out: dict[str, str]  # students who were not compared, and why


def compare(
    course: Path, assignment: Assignment, *, least: float = 0.5, most: int = 30
) -> Similarities:
    """Compare all submissions and the solution; of each kind ``most`` pairs from ``least`` up."""
    if not 0 < least <= 1 or most < 1:
        raise Refused(f"least is {least} and most {most}: wanted 0 < least <= 1 and most >= 1")
    name, left_out = assignment.name, {}
    own = fingerprints(assignment)
    class_: dict[str, dict[str, Answer]] = {}
    for folder in sorted(course.glob(f"submitted/*/{name}")):
        student = folder.parent.name
        try:
            parsing.nameable(student)
            submission = parsing.parse(parsing.read(folder, name))
        except parsing.Unreadable as unreadable:
            left_out[student] = str(unreadable)
            continue
        answers = own(_answers(submission, assignment.release))
        if sum(len(a.print_.hashes) for a in answers.values()) < FEWEST:
            left_out[student] = "too little of their own to compare"
        else:
            class_[student] = answers
    if not class_:
        raise Refused(
            f"nothing to compare in {course / 'submitted'} for {name}: wanted at least one readable"
            " submission with answers"
        )
    solution = own(solution_cells(assignment.solution))
    holders = Counter(
        (i, run)
        for answers in class_.values()
        for i, a in answers.items()
        for run in a.print_.hashes
    )

    def share(one: dict[str, Answer], other: dict[str, Answer]) -> float:
        def weight(runs: Iterable[tuple[str, int]]) -> float:
            return sum(math.log1p(len(class_) / max(1, holders[run])) for run in runs)

        mine, theirs = (
            {(grade_id, run) for grade_id, a in answers.items() for run in a.print_.hashes}
            for answers in (one, other)
        )
        smaller = min(weight(mine), weight(theirs))
        return weight(mine & theirs) / smaller if smaller else 0.0

    def listed(candidates: Iterable[tuple[str, str]]) -> list[AlikePair]:
        everybody = {**class_, SOLUTION: solution}
        shares = [(share(everybody[a], everybody[b]), a, b) for a, b in candidates]
        chosen = sorted((f for f in shares if f[0] >= least), key=lambda f: (-f[0], f[1:]))
        return [
            AlikePair((a, b), shared, _matches(everybody[a], everybody[b]))
            for shared, a, b in chosen[:most]
        ]

    return Similarities(
        name,
        len(class_),
        listed(combinations(class_, 2)),
        listed((student, SOLUTION) for student in class_),
        left_out,
    )


def fingerprints(
    assignment: Assignment,
) -> Callable[[Mapping[str, NotebookNode]], dict[str, Answer]]:
    """Reader that makes comparable answers of cells, all of one alphabet."""
    alphabet = Alphabet()

    def runs(cells: Iterable[NotebookNode]) -> set[int]:
        return set().union(*(alphabet.fingerprint(_tokens(cell)).hashes for cell in cells))

    given = runs(cell for cell in assignment.release.cells if cell.cell_type == "code")
    released = {name: runs([c]) for name, c in solution_cells(assignment.release).items()}

    def own(cells: Mapping[str, NotebookNode]) -> dict[str, Answer]:
        answers = {}
        for grade_id, cell in cells.items():
            tokens = _tokens(cell)
            print_ = alphabet.fingerprint(tokens)
            leave_out(print_, released.get(grade_id, set()) | given)
            answers[grade_id] = Answer(cell.source, tokens, print_)
        return answers

    return own


def solution_cells(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """Cells that are answered in, by their ids."""
    return {id_of(cell): cell for cell in notebook.cells if marks(cell).get("solution")}


def _answers(submission: parsing.Submission, release: NotebookNode) -> dict[str, NotebookNode]:
    cells, more = {}, []
    released = {cell.source.strip() for cell in release.cells}
    for cell, own in matching.align(submission, release):
        if own and marks(cell).get("solution"):
            cells[id_of(cell)] = cell
        elif cell.cell_type == "code" and not own and cell.source.strip() not in released:
            more.append(cell.source)
    if more:
        cells[OWN] = NotebookNode(cell_type="code", source="\n\n".join(more))
    return cells


def _tokens(cell: NotebookNode) -> list[Token]:
    return of_code(cell.source) if cell.cell_type == "code" else of_words(cell.source)


def _matches(one: dict[str, Answer], other: dict[str, Answer]) -> list[Match]:
    matches = []
    for grade_id, a in one.items():
        if b := other.get(grade_id):
            spans = passages(a.print_, b.print_, (a.tokens, b.tokens))
            if spans[0]:
                matches.append(Match(grade_id, (a.source, b.source), spans))
    return matches


def write(report: Similarities, folder: Path) -> Path:
    """Write a report as one page without script, in which nothing that a student wrote lives."""
    path = folder / f"{report.name}-similar.html"
    page = inert_page("similar.html", "feedback.css", "similar.css", report=report, marked=marked)
    write_whole(path, page)
    return path


def marked(source: str, spans: list[tuple[int, int]]) -> str:
    """A text as HTML, its passages marked, all else escaped.

    Example:
        >>> marked("a < b", [(0, 1)])
        '<mark>a</mark> &lt; b'
    """
    parts, at = [], 0
    for start, end in spans:
        parts += [html.escape(source[at:start]), f"<mark>{html.escape(source[start:end])}</mark>"]
        at = end
    return "".join([*parts, html.escape(source[at:])])
