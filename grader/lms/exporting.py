"""Scores into a system's own exported file, and pages of feedback under the names it takes back.

Only cells of scores that have changed are written, in rows of their own; what a person has entered
there stays, and whose row or score has no counterpart is said.
"""

import hashlib
import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from grader.base.errors import Refused
from grader.base.files import write_whole
from grader.intake.parsing import plain
from grader.lms import csv_table, formats
from grader.lms.csv_table import Numbers, fold
from grader.lms.formats import KEYS, SYSTEMS
from grader.lms.importing import TEST_STUDENT
from grader.lms.people import People, sections
from grader.records import gradebook, roster
from grader.records.course_folder import lock

# Systems show two decimals; a smaller difference is none.
NEAR = 0.005
# Any of these says who a row is about.
TOLD = ("name", "last", "first", *KEYS)


@dataclass(frozen=True)
class ExportOptions:
    """Decisions of an instructor."""

    # by assignment; an empty one is found by the assignment's name
    columns: Mapping[str, str] = field(default_factory=dict)
    # by field, where they are in another language
    headers: Mapping[str, str] = field(default_factory=dict)
    encoding: str = ""
    scale: bool = False  # whether scores are scaled to the system's points
    unfinished: bool = False  # whether scores count of which a part waits for a person
    overwrite: bool = False  # whether a score that was entered in the system gives way
    feedback: bool = False


@dataclass(frozen=True)
class Score:
    """Score of a submission in the gradebook: after penalties, out of how many, all given?"""

    points: float
    most: float
    finished: bool


@dataclass(frozen=True)
class ScoreChange:
    """A cell that is written."""

    student: str
    assignment: str
    line: int
    before: str
    after: str
    points: float


class Exporter:
    """A system's own file, filled in memory; nothing is written before :meth:`apply`."""

    def __init__(
        self, course: Path, path: Path, system: str, options: ExportOptions, db: str = ""
    ) -> None:
        self.course, self.system, self.options = course, system, options
        self.form = SYSTEMS[system]
        if options.feedback and not self.form.page:
            raise Refused(
                f"{self.form.title} cannot import feedback pages in bulk: leave out"
                f" --feedback; they are in {course / 'feedback'}"
            )
        self.people = People(course, system, db)
        scores = _scores(course, db, options.columns) if self.people.gradebook else {}
        if not scores:
            raise Refused(f"{course}: nothing is in its gradebook yet; run `course grade` first")
        self.table = csv_table.read(path, options.encoding)
        self.headers = formats.headers(system, options.headers, self.table.header)
        facts = roster.facts(course)
        self.collected = facts["collected"]
        self.head = self._head()
        self.report = sections(
            "scores feedback told_by_the_name_alone waiting_for_a_person entered_there_and_left "
            "in_the_file_and_not_known_here scored_here_and_not_in_the_file "
            "page_without_a_name_there"
        )
        self.changes: list[ScoreChange] = []
        # Pages by assignment and by their names in the system; their digests by student.
        self.pages: dict[str, dict[str, Path]] = defaultdict(dict)
        self.packed: dict[str, dict[str, str]] = defaultdict(dict)
        rows = self._rows()
        for assignment, column in self._columns(sorted(scores)).items():
            given = scores[assignment]
            cells = [self.table.values(n)[column] for n in range(self.head, len(self.table.rows))]
            maxima = [self._told(column, fields) for _, fields in rows.values()]
            title = self.table.header[column]
            self.read = Numbers(f"{self.table.path}, {title!r}", [*cells, *maxima])
            before = facts["sent"].get(f"{system} {assignment}", {})
            for student in sorted(set(given) & set(rows)):
                line, fields = rows[student]
                if not (given[student].finished or options.unfinished):
                    self.report["waiting_for_a_person"].append(f"{student}: {assignment}")
                    continue
                points = self._points(given[student], column, fields)
                after = f"{points:.2f}".rstrip("0").rstrip(".").replace(".", self.read.mark)
                before_it = self.table.values(line)[column]
                change = ScoreChange(student, assignment, line, before_it, after, round(points, 2))
                sent = before.get(student, {})
                self._decide(change, column, sent.get("scores", []))
                if options.feedback:
                    self._pack(assignment, student, fields, sent.get("page", ""))
            self.report["scored_here_and_not_in_the_file"] += [
                f"{self.people.called(student)}: {assignment}"
                for student in sorted(set(given) - set(rows))
            ]

    def _head(self) -> int:
        head, key = 1, self.table.find(self.headers.get("key", ()))
        while self.form.points and key is not None and head < len(self.table.rows):
            if self.table.values(head)[key]:
                break
            head += 1
        return head

    def _rows(self) -> dict[str, tuple[int, dict[str, str]]]:
        table = self.table
        rows: dict[str, tuple[int, dict[str, str]]] = {}
        if all(table.find(self.headers.get(f, ())) is None for f in TOLD):
            raise Refused(
                f"{table.path}: no column says who a row is about; is it an export of"
                f" {self.form.title}? For headers in another language: --column"
                " FIELD=HEADER"
            )
        for line in range(self.head, len(table.rows)):
            fields = csv_table.fields(table, line, self.headers)
            key = next((fields[f] for f in (*KEYS, *TOLD) if fields.get(f)), "")
            student, how = self.people.find(fields)
            if student in rows:
                raise Refused(
                    f"{table.path}, rows {rows[student][0] + 1} and {line + 1} are both"
                    f" {plain(student)}. Nothing was written"
                )
            if student:
                rows[student] = (line, fields)
                if how == "name":
                    self.report["told_by_the_name_alone"].append(student)
            elif key and fold(fields.get("name", "")) != TEST_STUDENT:
                parts = (fields.get(f) for f in ("name", "first", "last"))
                called = plain(" ".join(filter(None, parts)))
                unknown = f"row {line + 1}, {plain(key)} ({called}): {how}"
                self.report["in_the_file_and_not_known_here"].append(unknown)
        return rows

    def _columns(self, known: list[str]) -> dict[str, int]:
        table, form, wanted = self.table, self.form, self.options.columns
        matches = ((n, form.score.fullmatch(name)) for n, name in enumerate(table.header))
        titles = {n: m["title"] for n, m in matches if m}
        if form.column and len(known) > 1:
            raise Refused(
                f"{table.path} is about one assignment: say which, such as --assignment {known[0]}"
            )
        columns, among = {}, plain(", ".join(titles.values()), 500)
        for name in known:
            column = wanted.get(name) or form.column
            same = {fold(column)} if column else {fold(name), fold(name.replace("_", " "))}
            places = [n for n, t in titles.items() if same & {fold(t), fold(table.header[n])}]
            if len(places) == 1:
                columns[name] = places[0]
            elif places or wanted:
                raise Refused(
                    f"{table.path}: {len(places) or 'no'} columns for {column or name};"
                    f" say --assignment {name}=TITLE with one of: {among}"
                )
        if not columns:
            raise Refused(
                f"{table.path}: no column is named {' or '.join(known)}; say"
                f" --assignment NAME=TITLE with one of: {among}"
            )
        return columns

    def _told(self, column: int, said: Mapping[str, str]) -> str:
        if self.head > 1:
            return self.table.values(self.head - 1)[column]
        title = self.form.score.fullmatch(self.table.header[column])
        return (title.groupdict().get("most") if title else "") or said.get("most", "")

    def _points(self, score: Score, column: int, said: Mapping[str, str]) -> float:
        maximum = self._told(column, said)
        most, points = self.read(maximum), score.points
        if most is None and any(letter.isdecimal() for letter in maximum):
            raise Refused(
                f"{self.table.path}: {self.table.header[column]!r} has {plain(maximum)!r}"
                " points there, which is no number"
            )
        if most is not None and abs(most - score.most) > NEAR:
            if not (self.options.scale and most > 0 and score.most > 0):
                raise Refused(
                    f"{self.table.path}: {self.table.header[column]!r} has {most:g} points there"
                    f" and {score.most:g} here; make them equal in {self.form.title}"
                    + (", or say --scale" if most > 0 else "")
                )
            points *= most / score.most
        return points

    def _decide(self, change: ScoreChange, column: int, sent: list[float]) -> None:
        """Fill a cell, unless it says so already or a person has decided otherwise there."""
        stands, new = self.read(change.before), change.points
        same = [stands is not None and abs(stands - one) < NEAR for one in (new, *sent)]
        if same[0]:
            return
        ours = any(same) or self.form.waits.fullmatch(change.before)
        decided = fold(change.before) in map(fold, self.form.kept)
        if decided or not (ours or self.options.overwrite):
            self.report["entered_there_and_left"].append(
                f"{change.student}: {change.assignment}: {change.before} there, {new:g} here"
            )
            return
        self.changes.append(change)
        self.report["scores"].append(
            f"{change.student}: {change.assignment}: {change.before or '-'} -> {change.after}"
        )
        self.table.put(change.line, column, change.after)
        if (update := self.table.find(self.headers.get("update", ()))) is not None:
            self.table.put(change.line, update, "1")

    def _pack(self, assignment: str, student: str, said: Mapping[str, str], before: str) -> None:
        page = self.course / "feedback" / student / assignment / f"{assignment}.html"
        digest = hashlib.sha256(page.read_bytes()).hexdigest() if page.is_file() else before
        if digest == before:
            return
        came = self.collected.get(assignment, {}).get(student, {})
        home = came.get("home", "") if came.get("system") == self.system else ""
        parts = {
            "assignment": assignment,
            "home": home,
            "leaf": PurePosixPath(home).name,
            "participant": re.sub(r"\D", "", said.get("participant", "")),
            "name": re.sub(r"[/\\_\s\0]+", " ", said.get("name", "")).strip() or "student",
        }
        if not all(parts[part] for part in re.findall(r"\{(\w+)\}", self.form.page)):
            self.report["page_without_a_name_there"].append(f"{student}: {assignment}")
            return
        # The members of a group may share one place.
        name = self.form.page.format(**parts)
        if name not in self.pages[assignment]:
            self.pages[assignment][name] = page
            self.report["feedback"].append(name)
        self.packed[assignment][student] = digest

    def apply(self, out: Path) -> list[Path]:
        """Write what has changed, and remember it; the files that were written."""
        if out.resolve() == self.table.path.resolve():
            raise Refused(f"{out} is the exported file, which stays as it is: choose another --out")
        written = []
        with lock(self.course):
            facts = roster.facts(self.course)
            for change in self.changes:
                sent = self._sent(facts, change.assignment, change.student)
                if change.points not in (scores := sent.setdefault("scores", [])):
                    scores.append(change.points)
            # Scores before they are written, since what is there counts as ours only if it is
            # known; pages afterwards, since those that are known are not packed again.
            roster.keep(self.course, facts)
            if self.changes:
                lines = {*range(self.head), *(change.line for change in self.changes)}
                write_whole(out, self.table.encoded(sorted(lines)))
                written.append(out)
            for assignment, pages in self.pages.items():
                archive = io.BytesIO()
                with zipfile.ZipFile(archive, "w") as packed:
                    for name, page in sorted(pages.items()):
                        packed.write(page, name, zipfile.ZIP_DEFLATED)
                target = out.with_name(f"{out.stem}-feedback-{assignment}.zip")
                written.append(_free(target, archive.getvalue()))
                write_whole(written[-1], archive.getvalue())
            for assignment, digests in self.packed.items():
                for student, digest in digests.items():
                    self._sent(facts, assignment, student)["page"] = digest
            roster.keep(self.course, facts)
        return written

    def _sent(self, known: roster.Facts, assignment: str, student: str) -> Any:
        of_all = known["sent"].setdefault(f"{self.system} {assignment}", {})
        return of_all.setdefault(student, {})


def _scores(course: Path, db: str, wanted: Mapping[str, str]) -> dict[str, dict[str, Score]]:
    with gradebook.open_gradebook(course, db) as book:
        names = [assignment.name for assignment in book.assignments]
        if unknown := sorted(set(wanted) - set(names)):
            raise Refused(
                f"the gradebook has no assignment {', '.join(unknown)}; it has"
                f" {', '.join(names) or 'none'}"
            )
        return {
            name: {
                s.student.id: Score(
                    max(0.0, s.score - (s.late_submission_penalty or 0.0)),
                    float(book.find_assignment(name).max_score),
                    not s.needs_manual_grade,
                )
                for s in book.assignment_submissions(name)
            }
            for name in wanted or names
        }


def _free(path: Path, content: bytes) -> Path:
    """A name that nothing else has: what was packed before may not have been handed back yet."""
    again = (path.with_name(f"{path.stem}-{n}{path.suffix}") for n in range(2, 1000))
    return next(p for p in (path, *again) if not p.exists() or p.read_bytes() == content)
