"""Answers in writing: read question by question, marked by a rubric, written as nbgrader's scores.

Each answer has a key, which hides whose it is and belongs to one text: when a student hands in
another one, what was meant for the old text is not taken for the new one.
"""

import contextlib
import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
from nbgrader.api import Grade, Gradebook, MissingEntry
from nbgrader.utils import is_solution

from grader import authoring, rubrics
from grader.base.errors import Refused
from grader.base.files import read_json, write_whole
from grader.cells import id_of
from grader.judge.feedback import written_beside
from grader.records import gradebook
from grader.records.course_folder import lock

SECOND = "second-marks"
# Fewer pairs say little, and the interval is then too narrow rather than too wide.
FEW = 30
DRAWS = 2000
REMEDY = "put a copy of it back from a backup, or move it away and mark again"


@dataclass(frozen=True)
class WrittenMark:
    """Mark of an answer."""

    student: str
    given: tuple[float, ...]  # points by criterion
    comment: str = ""
    key: str = ""  # the answer's: the mark is for this text alone


@dataclass(frozen=True)
class WrittenAnswer:
    """Answer of one student."""

    key: str  # for a row of the gradebook, which only who has that can name, and for the text
    student: str
    text: str  # and texts of the student's own that stand beside it
    waits: bool = True  # to be marked: it is new, or another text than before
    score: float | None = None  # what a person gave last
    given: tuple[float, ...] | None = None  # the same by criterion, if it came from the rubric
    comment: str = ""


def questions(root: Path, name: str) -> dict[str, rubrics.Rubric]:
    """The questions in writing of an assignment."""
    authoring.known(root, [name])
    if not (by_cell := rubrics.load(root, name)):
        raise Refused(f"{name}: {root / rubrics.FILE} has no rubric for it")
    return by_cell


class WrittenQuestion:
    """One question in writing, and all that a class has answered."""

    def __init__(self, course: Path, root: Path, name: str, cell: str = "", db: str = "") -> None:
        by_cell = questions(root, name)
        if cell not in by_cell and (cell or len(by_cell) > 1):
            raise Refused(f"{name}: name one question of {', '.join(by_cell)}")
        self.course, self.name, self.db = course, name, db
        self.rubric = by_cell[cell or next(iter(by_cell))]
        self.cell = self.rubric.cell
        self.release = authoring.named(root, name).release

    def answers(self, seed: str = "") -> list[WrittenAnswer]:
        """All that is not empty, by student, or in an order that is drawn by a seed."""
        with gradebook.open_gradebook(self.course, self.db) as book:
            answers = [answer for answer, _ in self._read(book).values()]
        return sorted(answers, key=lambda a: _digest(seed, a.key) if seed else a.student)

    def write(
        self, marks: Sequence[WrittenMark], *, again: bool = False, dry_run: bool = False
    ) -> int:
        """Write marks, all or none, and say how many are new; a marked answer needs ``again``."""
        with gradebook.open_gradebook(self.course, self.db) as book:
            there = self._read(book, {mark.student for mark in marks})
            new = []
            for mark in marks:
                answer, grade = there.get(mark.student, (None, None))
                if fault := self.fault(mark, answer, again=again):
                    raise Refused(f"{self.name}, {self.cell}, {mark.student}: {fault}")
                if not stands(mark, answer):
                    new.append((replace(mark, key=answer.key if answer else ""), grade))
            if not dry_run:
                self._save(book, new)
        return len(new)

    def fault(self, mark: WrittenMark, answer: WrittenAnswer | None, *, again: bool = False) -> str:
        """Why an answer can't be given this mark; empty if it can."""
        if answer is None:
            return "there is no such answer to this question"
        if mark.key not in ("", answer.key):
            return "another text has been handed in since"
        if not answer.waits and not again and not stands(mark, answer):
            return f"it has {answer.score or 0:g} points already; --again replaces them"
        return self.rubric.fault(mark.given)

    def _read(
        self, book: Gradebook, only: Collection[str] | None = None
    ) -> dict[str, tuple[WrittenAnswer, Grade]]:
        submissions = []
        if only is None:
            try:
                submissions = book.find_notebook(self.name, self.name).submissions
            except MissingEntry:
                why = f"{self.name} is not in the gradebook: run `course grade {self.name}` first"
                raise Refused(why) from None
        for student in only or ():
            with contextlib.suppress(MissingEntry):
                submissions.append(book.find_submission_notebook(self.name, self.name, student))
        rows = [g for n in submissions for g in n.grades if g.name == self.cell]
        answers = {grade.student.id: (self._answer(grade), grade) for grade in rows}
        # Nobody has to read what is empty, and nobody can where grading has failed.
        return {
            student: (answer, grade)
            for student, (answer, grade) in answers.items()
            if answer.key and (answer.waits or answer.score is not None)
        }

    def _answer(self, grade: Grade) -> WrittenAnswer:
        student, most = grade.student.id, grade.max_score
        if most != self.rubric.points:
            raise Refused(
                f"{rubrics.FILE}: {self.cell} adds up to {self.rubric.points:g} points, and in the"
                f" gradebook it has {most:g}"
            )
        path = self.course / "autograded" / student / self.name / f"{self.name}.ipynb"
        if not path.is_file():
            return WrittenAnswer("", student, "", False)
        try:
            notebook = nbformat.v4.reads(path.read_text(encoding="utf-8"))
        except (ValueError, KeyError, AttributeError) as error:
            raise Refused(
                f"{path}: {error}. The file is damaged: remove {path.parent}, and `course"
                f" grade {self.name}` writes it again"
            ) from None
        own = [c.source for c in notebook.cells if is_solution(c) and id_of(c) == self.cell]
        text = "\n\n".join([*own, *written_beside(notebook, self.release, self.cell)])
        remark = next(c.manual_comment for c in grade.notebook.comments if c.name == self.cell)
        given, comment = self.rubric.given(remark or "")
        if given is not None and sum(given) != grade.manual_score:
            given = None
        key = "a" + _digest(self.cell, grade.id, text)[:10]
        return WrittenAnswer(
            key, student, text, grade.needs_manual_grade, grade.manual_score, given, comment
        )

    def _save(self, book: Gradebook, new: Sequence[tuple[WrittenMark, Grade]]) -> None:
        with gradebook.transaction(book):
            for mark, grade in new:
                grade.manual_score, grade.needs_manual_grade = sum(mark.given), False
                row = next(c for c in grade.notebook.comments if c.name == self.cell)
                row.manual_comment = self.rubric.remark(mark.given, mark.comment)


class SecondLook(WrittenQuestion):
    """A sample for a second marker, who sees no first marks; theirs stay in ``second-marks/``."""

    sample = 20

    def agreement(self) -> "Agreement":
        """Measure how far both agree, over all answers that both have marked."""
        with gradebook.open_gradebook(self.course, self.db) as book:
            first = [answer for answer, _ in super()._read(book).values()]
        theirs = self._theirs()
        both = [(a.score or 0.0, sum(theirs[a.key].given)) for a in first if a.key in theirs]
        return agreement(both)

    def _read(
        self, book: Gradebook, only: Collection[str] | None = None
    ) -> dict[str, tuple[WrittenAnswer, Grade]]:
        first = [(a, g) for a, g in super()._read(book).values() if not a.waits]
        theirs = self._theirs()
        # Answers that have been read stay in the sample, whoever is marked later.
        first.sort(key=lambda one: (one[0].key not in theirs, _digest(one[0].key)))
        count = max(self.sample, sum(a.key in theirs for a, _ in first))
        rows = {}
        for answer, grade in first[:count]:
            fresh = WrittenAnswer(answer.key, answer.student, answer.text)
            if mark := theirs.get(answer.key):
                given, comment = mark.given, mark.comment
                fresh = replace(fresh, waits=False, score=sum(given), given=given, comment=comment)
            rows[answer.student] = fresh, grade
        return rows

    def _save(self, book: Gradebook, new: Sequence[tuple[WrittenMark, Grade]]) -> None:
        with lock(self.course):
            marks = self._theirs() | {mark.key: mark for mark, _ in new}
            rows = {m.key: {"given": m.given, "comment": m.comment} for m in marks.values()}
            whole = json.dumps(self._file() | {self.cell: rows}, indent=1, ensure_ascii=False)
            write_whole(self._path, whole + "\n")

    @property
    def _path(self) -> Path:
        return self.course / SECOND / f"{self.name}.json"

    def _file(self) -> dict[str, dict[str, dict[str, Any]]]:
        return read_json(self._path, REMEDY, dict, {})

    def _theirs(self) -> dict[str, WrittenMark]:
        def marks(file: dict[str, Any]) -> dict[str, WrittenMark]:
            rows = file.get(self.cell, {}).items()
            return {k: WrittenMark("", tuple(r["given"]), r["comment"], k) for k, r in rows}

        return read_json(self._path, REMEDY, marks, {})


@dataclass(frozen=True)
class Agreement:
    """Result of comparing two markers."""

    n: int
    more: float = 0.0  # what the second gives more than the first, on average
    kappa: float | None = None  # with quadratic weights; None where both give all the same
    interval: tuple[float, float] | None = None  # of 95 %

    def line(self) -> str:
        """In one line."""
        if not self.n:
            return "no answer has been marked by both"
        line = f"n = {self.n}, second gives {self.more:+.2f} on average, "
        if self.kappa is None or self.interval is None:
            line += "kappa is undefined: each marker gave all of them the same points"
        else:
            low, high = self.interval
            line += f"kappa {self.kappa:.2f} (95 % interval {low:.2f} to {high:.2f})"
        if self.n < FEW:
            line += f"; a small sample, below {FEW}: read the answers that differ, not the number"
        return line


def agreement(pairs: Sequence[tuple[float, float]]) -> Agreement:
    """Compare two markers' points for each answer that both have marked.

    Cohen (1968), Weighted kappa, Psychological Bulletin 70(4). With quadratic weights the
    disagreement expected by chance is the mean squared difference over all pairs of one point of
    each, which is both variances and the squared difference of the means. The interval is a
    percentile bootstrap over answers.
    """
    if not pairs:
        return Agreement(0)
    points = np.array(pairs, dtype=float).T  # (2, n)
    drawn = np.random.default_rng(0).integers(len(pairs), size=(DRAWS, len(pairs)))
    (kappa,), others = _kappa(points[:, None]), _kappa(points[:, drawn])
    more = float((points[1] - points[0]).mean())
    if np.isnan(kappa):
        return Agreement(len(pairs), more)
    low, high = np.nanpercentile(others, (2.5, 97.5))
    return Agreement(len(pairs), more, float(kappa), (float(low), float(high)))


def _kappa(points: np.ndarray) -> np.ndarray:
    """Of points (2, draws, n) the kappas (draws,); nan where nothing varies."""
    first, second = points
    chance = first.var(-1) + second.var(-1) + (first.mean(-1) - second.mean(-1)) ** 2
    seen = ((first - second) ** 2).mean(-1)
    return 1 - np.divide(seen, chance, out=np.full_like(seen, np.nan), where=chance > 0)


def stands(mark: WrittenMark, answer: WrittenAnswer | None) -> bool:
    """Tell whether an answer has this mark already."""
    return bool(
        answer and not answer.waits and (answer.given, answer.comment) == (mark.given, mark.comment)
    )


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()
