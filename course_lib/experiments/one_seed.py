"""One experiment for a whole class: each student predicts, then runs one seed of their own.

The seed comes from the student's name, the prediction, and a word that the class may get after all
have predicted. So nobody chooses a seed.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import yaml
from pydantic import Field

from course_lib.experiments import SHIPPED_RESULTS
from course_lib.experiments.questions import ALL, Question, answers
from course_lib.experiments.record import Record, load_record, validate
from course_lib.experiments.registry import Experiment
from course_lib.experiments.runner import run_one
from course_lib.experiments.verify import by_threads
from course_lib.strict import Number, strict
from grader.base.errors import Refused
from grader.base.files import write_whole

FORMAT: Final = "class experiment 1"
FILE, PUBLISHED = "experiment.json", "class_results.json"
SIZE = "cpu"
# Bytes of a hand-in; a run's record has two or three thousand.
MOST = 2**18


@strict()
class HandIn:
    """Prediction of one student, and the records of the run once there are any.

    ``difference``: the predicted one, of the question's arms in the student's own run, whose sign
    counts; ``sure``: of that sign, in percent, where 50 is a guess; ``named``: whether the student
    wants to be named among those who ran the experiment; ``word``: the class's, where one is given.
    """

    question: Annotated[str, Field(max_length=200)]  # experiment/key
    student: Annotated[str, Field(min_length=1, max_length=200)]
    difference: Number
    sure: Annotated[int, Field(ge=50, le=95, multiple_of=5)]
    named: bool = False
    word: Annotated[str, Field(max_length=40)] = ""
    records: Annotated[list[Record], Field(max_length=8)] = field(default_factory=list)
    format: Literal["class experiment 1"] = FORMAT

    @property
    def prediction(self) -> str:
        """Hash of what must not change any more once it is made."""
        parts = [self.question, self.student, f"{self.difference:.6g}", self.sure]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def seed(self) -> int:
        """That of the run."""
        drawn = hashlib.sha256(f"{self.prediction} {self.word}".encode()).digest()
        return int.from_bytes(drawn[:4], "big") >> 1

    def to_json(self) -> str:
        """The file's text."""
        return json.dumps(asdict(self), indent=1) + "\n"


def asked(root: Path) -> dict[str, str]:
    """The question, as experiment/key, that a class is asked with an assignment, by its name."""
    table = root / "book" / "class_experiments.yml"
    if not table.exists():
        raise Refused("experiments need the whole library: change into a checkout of the course")
    found: dict[str, str] = yaml.safe_load(table.read_text(encoding="utf-8")) or {}
    return found


def published(book: Path = SHIPPED_RESULTS.parent) -> dict[str, dict[str, Any]]:
    """The verdict of each class that has published one, and whom it names, by question."""
    path = book / PUBLISHED
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def question_of(experiment: Experiment, key: str) -> Question:
    """One of an experiment's questions that a single seed answers with a difference."""
    for question in experiment.questions:
        if question.key == key and question.document != "control" and ALL not in question.arms:
            return question
    raise Refused(f"{experiment.name} has no question {key!r} for a class")


def step(question: Question) -> float:
    """The unit of predicted differences: a tenth of the margin, so that few are almost alike."""
    return (question.margin or 0.01) / 10


def predicted(
    name: str, question: Question, student: str, difference: float, sure: int, named: bool
) -> HandIn:
    """A prediction about ``name``, as experiment/key, its difference rounded to the step."""
    unit = step(question)
    if not abs(difference) < 1e4 * unit:
        raise Refused(f"a difference of {difference:g} is impossible: the margin is {10 * unit:g}")
    rounded = round(round(difference / unit) * unit, 9)
    if rounded == 0:
        raise Refused(f"a difference of 0 has no sign: say {unit:g} or {-unit:g}, and 50 % sure")
    return HandIn(name, student, rounded, sure, named)


def read(content: bytes) -> HandIn:
    """The hand-in that a file holds; nothing in it is believed yet but its form."""
    if not content.strip():
        raise Refused("the file is empty")
    if len(content) > MOST:
        raise Refused(f"the file has more than {MOST // 1024} KB")
    try:
        values = json.loads(content)
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise Refused(f"it is no `{FORMAT}`, which `course experiment predict` begins")
        records = [validate(record) for record in values.pop("records", [])]
        return HandIn(**values, records=records)
    except (ValueError, TypeError, RecursionError) as error:
        if isinstance(error, Refused):
            raise
        raise Refused(f"it is damaged: {error}") from None


def run(
    hand_in: HandIn,
    experiment: Experiment,
    path: Path,
    runs_dir: Path,
    say: Callable[[str], None] = lambda text: None,
    progress: bool = True,
) -> HandIn:
    """Do what is not done yet of a student's run; ``path`` is written as each arm ends.

    An interrupted arm goes on from its last epoch.
    """
    arms = question_of(experiment, hand_in.question.partition("/")[2]).arms
    own = [record for record in hand_in.records if record.seed == hand_in.seed]
    for i, arm in enumerate(arms, 1):
        if arm not in [record.arm for record in own]:
            say(f"[{i}/{len(arms)}] {experiment.name} {arm}, seed {hand_in.seed}")
            own.append(train(experiment, arm, hand_in.seed, runs_dir, progress))
        hand_in = replace(hand_in, records=[*own])
        write_whole(path, hand_in.to_json())
    return hand_in


def train(experiment: Experiment, arm: str, seed: int, runs_dir: Path, progress: bool) -> Record:
    """One arm of a run, by one thread."""
    with tempfile.TemporaryDirectory(prefix="course-experiment-") as folder, by_threads(1):
        path, _ = run_one(experiment, arm, seed, SIZE, Path(folder), runs_dir, progress=progress)
        return load_record(path)


def difference(question: Question, records: list[Record]) -> float:
    """The difference that one seed's records show."""
    return answers([replace(question, fresh=(), asked="")], records)[0].verdict.mean
