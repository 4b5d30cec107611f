"""A proof that somebody solved exercises: one file, which whoever gets it judges again.

It holds notebooks without outputs, what their maker's own checks gave, and the path of the checks
if the maker wants that shown. It is signed by a key made for it alone (Ed25519, RFC 8032): nobody
can change the file and keep its key. No point in it is believed: each answer is judged again,
behind walls, on samples drawn for the occasion.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import nbformat
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from course_lib.checks import seeds
from course_lib.checks.cell import PATH
from course_lib.checks.report import Report
from course_lib.errors import Refused
from course_lib.grading import authoring
from course_lib.grading.cells import id_of
from course_lib.grading.defence.asking import Question
from course_lib.grading.defence.sheets import choose, drawn
from course_lib.grading.engine import engine_hash
from course_lib.grading.intake import parsing
from course_lib.grading.judging import sandbox
from course_lib.grading.judging.channel import Limits
from course_lib.grading.judging.forkserver import ForkServer
from course_lib.grading.judging.judge import Judged, judge_notebook
from course_lib.grading.judging.marking import MOST_MEMORY
from course_lib.grading.judging.results import Task
from course_lib.grading.review.fingerprint import Alphabet, of_code
from course_lib.handout.selfcheck import source_of

FORMAT = "course proof 1"
# Bytes of a whole file, steps of a path, and how many of them are run again.
MOST, MOST_STEPS, AGAIN = 32 * 2**20, 2000, 5
QUESTIONS = 2
# From here on an answer is said to be the course's own; shorter ones everybody writes.
ALIKE, LONG = 0.9, 20


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Step(_Strict):
    """One check on the path: what was checked, on which samples, and what came of it."""

    on: str
    exercise: str
    source: str
    seed: str = Field(pattern="^[0-9a-f]{32}$")
    points: float
    fallen: list[str]

    @property
    def when(self) -> datetime:
        """The time that the maker's machine had."""
        return datetime.fromisoformat(self.on).astimezone(UTC)


class Packed(_Strict):
    """One notebook of a proof: its cells, the modules beside it, and the points it claims."""

    name: str
    engine: str
    content: str
    modules: dict[str, str]
    points: dict[str, float]

    @property
    def task(self) -> Task:
        """The same as a hand-in."""
        return Task("proof", self.content.encode(errors="replace"), "", "", modules=self.modules)


class Proof(_Strict):
    """All that the maker of a proof says."""

    made: str
    course: str
    name: str
    notebooks: list[Packed] = Field(min_length=1, max_length=100)
    path: list[Step] = Field(max_length=MOST_STEPS)


@dataclass
class Verified:
    """One notebook, judged again. ``faults`` are what the file says and the judge does not see."""

    name: str
    claimed: float
    judged: Judged
    faults: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Points, what fell in each exercise with the mistake's name, and what was noticed."""
        automatic = sum(mark.max_points for mark in self.judged.marks if mark.report)
        yield f"{self.name}: {self.judged.score:g} of {automatic:g} points, judged again"
        for mark in self.judged.marks:
            if mark.report is None:
                yield f"  {mark.grade_id}: {mark.reason}"
                continue
            fallen = [row.name for row in mark.report.rows if not row.passed]
            why = f"; not: {', '.join(fallen)}" if fallen else ""
            why += f"; known mistake: {mark.report.named}" if mark.report.named else ""
            yield f"  {mark.report.exercise} {mark.score:g} of {mark.max_points:g}{why}"
        yield from (f"  look at: {parsing.plain(text)}" for text in self.remarks)
        yield from (f"  FAULT: {parsing.plain(text)}" for text in self.faults)

    def data(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "name": self.name,
            "points": self.judged.score,
            "claimed": self.claimed,
            "exercises": {
                mark.report.exercise: {
                    "points": mark.score,
                    "of": mark.max_points,
                    "fallen": [row.name for row in mark.report.rows if not row.passed],
                    "mistake": mark.report.named or None,
                }
                for mark in self.judged.marks
                if mark.report
            },
            "faults": self.faults,
            "remarks": self.remarks,
            "questions": [asdict(question) for question in self.questions],
        }


def packed(path: Path, root: Path, points: Mapping[str, float]) -> Packed:
    """A notebook without its outputs, with the points that its own checks gave."""
    content = path.read_bytes()
    submission = parsing.parse(content)
    ids = [cell.metadata.get("submitted_id", "") for cell in submission.notebook.cells]
    source = source_of(path.stem, root, ids)
    if source is None:
        raise Refused(f"{path} is no notebook of this course: no assignment has its cells")
    notebook = nbformat.reads(content.decode(), as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        cell.pop("attachments", None)
        mark = cell.metadata.get("nbgrader")
        cell.metadata = nbformat.from_dict({"nbgrader": mark} if mark else {})
    return Packed(
        name=source.stem,
        engine=engine_hash(root, source.stem) if source.suffix == ".md" else "",
        content=nbformat.writes(notebook),
        modules=parsing.modules(path.resolve().parent),
        points=dict(points),
    )


def read_path(home: Path, exercises: set[str]) -> list[Step]:
    """The path of checks of these exercises, as ``check`` has written it."""
    path = home / PATH
    try:
        steps = [Step(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    except FileNotFoundError:
        raise Refused(f"there is no path: `touch {path}` makes every check from now on write a"
                      " line there") from None  # fmt: skip
    except (ValueError, TypeError) as error:
        raise Refused(f"{path} is damaged: {parsing.plain(str(error))}") from None
    return [step for step in steps if step.exercise in exercises][-MOST_STEPS:]


def sign(proof: Proof) -> tuple[str, str]:
    """The file's text, and its key in short."""
    key = Ed25519PrivateKey.generate()
    body = proof.model_dump_json()
    public = key.public_key().public_bytes_raw().hex()
    signature = key.sign(body.encode()).hex()
    file = {"format": FORMAT, "key": public, "signature": signature, "body": body}
    return json.dumps(file, indent=1) + "\n", short(public)


def short(key: str) -> str:
    """A key as it is read out: its first sixteen digits."""
    return " ".join(key[n : n + 4] for n in range(0, 16, 4))


def read(path: Path) -> tuple[Proof, str]:
    """A proof and its key in short.

    Raises:
        Refused: It is no proof, or has been changed since it was signed.
    """
    if not path.is_file():
        raise Refused(f"there is no file {path}")
    if path.stat().st_size > MOST:
        raise Refused(f"{path} is larger than any proof")
    try:
        file = json.loads(path.read_bytes())
        if file["format"] != FORMAT:
            raise Refused(f"{path} is not a `{FORMAT}`: another version of the course made it")
        key, signature, body = (file[name] for name in ("key", "signature", "body"))
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        public.verify(bytes.fromhex(signature), body.encode())
        return Proof.model_validate_json(body), short(key)
    except InvalidSignature:
        raise Refused(
            f"{path} has been changed since it was signed: nothing in it counts"
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise Refused(f"{path} is no proof: {where}: {first['msg']}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Refused(f"{path} is no proof: `course prove` makes them") from None


def verify(
    proof: Proof,
    root: Path,
    forkserver: ForkServer,
    say: Callable[[str], None] = lambda text: None,
    *,
    limits: Limits | None = None,
    questions: int = QUESTIONS,
) -> list[Verified]:
    """Judge each notebook again, run steps of the path again, and draw questions on each.

    Raises:
        Refused: An assignment that this course does not have, or a notebook that nobody can read.
    """
    now = datetime.now(UTC) + timedelta(days=1)
    verified = []
    for one in proof.notebooks:
        say(f"{one.name} is judged again")
        assignment = authoring.named(root, one.name)
        seed = seeds.fresh()
        judged = _judged(one.content, one.modules, assignment, seed, forkserver, limits)
        result = Verified(one.name, sum(one.points.values()), judged, remarks=[*judged.notes])
        verified.append(result)
        if one.engine not in ("", engine_hash(root, one.name)):
            result.remarks.append("made with another version of the course; this one judged it")
        reports = {mark.report.exercise: mark.report for mark in judged.marks if mark.report}
        for exercise, points in sorted(one.points.items()):
            earned = reports[exercise].score if exercise in reports else 0.0
            if points > earned:
                result.faults.append(f"{exercise}: the file claims {points:g}, it earns {earned:g}")
        if own := [*_published(one, assignment)]:
            result.remarks.append("the course's published solutions, names and layout aside:"
                                  f" {', '.join(own)}")  # fmt: skip
        steps = [step for step in proof.path if step.exercise in reports]
        result.faults += _out_of_order(steps, now)
        for step in _chosen(steps):
            say(f"a check of {step.exercise} is run again")
            result.faults += _forged(step, one, assignment, forkserver)
        if questions:
            say(f"questions on {one.name} are drawn")
            every = choose(drawn(one.task, assignment, seed, forkserver).questions)
            result.questions = every[:questions]
    return verified


def _judged(
    content: str,
    modules: dict[str, str],
    assignment: authoring.Assignment,
    seed: str,
    forkserver: ForkServer,
    limits: Limits | None = None,
) -> Judged:
    submission = parsing.parse(content.encode(errors="replace"))
    submission.modules = modules
    with sandbox.capped(MOST_MEMORY):
        return judge_notebook(submission, assignment.release, seed, forkserver, limits)


def _published(one: Packed, assignment: authoring.Assignment) -> Iterator[str]:
    """Answers that are the course's own, names and layout aside."""
    alphabet = Alphabet()

    def runs(source: str) -> set[int]:
        return set(alphabet.fingerprint(of_code(source)).hashes)

    released = {id_of(cell): runs(cell.source) for cell in assignment.release.cells if id_of(cell)}
    own = {id_of(cell): runs(cell.source) for cell in assignment.solution.cells if id_of(cell)}
    for cell in parsing.parse(one.content.encode(errors="replace")).notebook.cells:
        name = cell.metadata.get("submitted_id", "")
        if cell.cell_type != "code" or not name.endswith("-solution") or name not in own:
            continue
        theirs = runs(cell.source) - released[name]
        if len(theirs) >= LONG and len(theirs & own[name]) >= ALIKE * len(theirs):
            yield name.removesuffix("-solution")


def _out_of_order(steps: Sequence[Step], now: datetime) -> Iterator[str]:
    try:
        times = [step.when for step in steps]
    except (ValueError, OverflowError):
        yield "the path has a time that is none"
        return
    if times != sorted(times) or any(time > now for time in times):
        yield "the path's times do not go forwards"


def _chosen(steps: Sequence[Step]) -> Sequence[Step]:
    """Steps that are run again: drawn anew each time, so that none can be forged in safety."""
    return random.SystemRandom().sample(steps, min(AGAIN, len(steps)))


def _forged(
    step: Step, one: Packed, assignment: authoring.Assignment, forkserver: ForkServer
) -> Iterator[str]:
    """What a step says and a run of its source on its samples does not show."""
    exercise = next(e for e in assignment.exercises if e.id == step.exercise)
    notebook = nbformat.from_dict(json.loads(one.content))
    for cell in notebook.cells:
        if id_of(cell) == f"{exercise.grade_id}-solution":
            cell.source = step.source
    judged = _judged(nbformat.writes(notebook), one.modules, assignment, step.seed, forkserver)
    report: Report | None = next(
        (m.report for m in judged.marks if m.report and m.report.exercise == step.exercise), None
    )
    fallen = [row.name for row in report.rows if not row.passed] if report else None
    if report is None or fallen != step.fallen or abs(report.score - step.points) > 1e-9:
        yield f"{step.on[:16]}: the path's check of {step.exercise} comes out otherwise when run"
