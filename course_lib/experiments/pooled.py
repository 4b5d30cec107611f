"""The class's experiment: hand-ins checked, some run again, and pooled by the ledger's rule.

Nothing in a hand-in is believed. What it says of itself has to fit together, it must not have
numbers of another one, and of a share that a secret draws each arm is trained again.
"""

import hashlib
import json
import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from course_lib.experiments import one_seed
from course_lib.experiments.reach import Settled, settle
from course_lib.experiments.record import Record, measured
from course_lib.experiments.registry import Experiment
from course_lib.experiments.runner import stale
from grader.base.errors import Refused
from grader.base.statistics import wilson

# Distance that a number may have from the same run's, in standard deviations over seeds:
# another processor rounds otherwise, an invented number is further away.
TOLERANCE = 0.25
TIMES = ("seconds", "wall_seconds", "device_seconds")
# Of a class, and at least so many students, are run again unless it is said how many.
SHARE, LEAST = 0.1, 3
ALIKE, RAN = "has numbers of ", " with a run"
Say = Callable[[str], object]


@dataclass
class Run:
    """One student's hand-in; ``why`` it does not count, empty if it does.

    ``before``: whether the prediction was collected before there was a run, which has the class's
    word; ``again``: whether it was run again.
    """

    student: str
    why: str = ""
    hand_in: one_seed.HandIn | None = None
    records: Sequence[Record] = ()
    sure: float = 0.5
    difference: float = 0.0
    predicted: float = 0.0
    before: bool = False
    again: bool = False

    @property
    def right(self) -> bool:
        """Tell whether the difference has the predicted sign."""
        return self.difference * self.predicted > 0


class ClassExperiment:
    """Question to a class, its students' runs, and their conclusion.

    ``name``: of the question, as experiment/key; ``known``: records of the ledger, whose control
    has to hold; ``files``: each student's, or why it can't be read; ``word``: the class's;
    ``first``: the predictions that were collected first, with :data:`RAN` where they came with a
    run; ``any_version``: of the course may have run them.
    """

    def __init__(
        self,
        name: str,
        experiment: Experiment,
        known: Sequence[Record],
        files: Mapping[str, bytes | Refused],
        word: str = "",
        first: Mapping[str, str] | None = None,
        any_version: bool = False,
    ) -> None:
        self.name, self.experiment, self.known, self.word = name, experiment, known, word
        self.any_version = any_version
        self.question = one_seed.question_of(experiment, name.partition("/")[2])
        self.runs = [Run(student) for student in sorted(files)]
        for run in self.runs:
            try:
                self._read(run, files[run.student], first or {})
            # Values of a stranger, of any size and kind.
            except (ValueError, TypeError, ArithmeticError, LookupError) as error:
                run.why = str(error)
        alike = defaultdict(set)
        for run in self.counting:
            for record in run.records:
                for row in record.metrics:
                    alike[record.arm, repr(_untimed(row))].add(run.student)
        for students in (each for each in alike.values() if len(each) > 1):
            for run in (run for run in self.runs if run.student in students):
                run.why = ALIKE + ", ".join(sorted(students - {run.student}))

    @property
    def counting(self) -> list[Run]:
        """The runs that count."""
        return [run for run in self.runs if not run.why]

    def _read(self, run: Run, content: bytes | Refused, first: Mapping[str, str]) -> None:
        """Refuse what does not fit together."""
        if isinstance(content, Refused):
            raise content
        run.hand_in = made = one_seed.read(content)
        run.records, run.sure, run.predicted = made.records, made.sure / 100, made.difference
        unit = one_seed.step(self.question)
        steps, arms = made.difference / unit, self.question.arms
        collected = first.get(run.student, "")
        run.before = made.word != "" and collected == made.prediction
        whole = abs(steps - round(steps)) < 1e-3 and 0.5 < abs(steps) < 1e4
        faults = {
            f"is about {made.question!r}, not {self.name}": made.question != self.name,
            f"was predicted by {made.student!r}": made.student != run.student,
            f"predicts {made.difference:g}, no multiple of {unit:g}": not whole,
            "has another prediction than was collected first": collected.removesuffix(RAN)
            not in ("", made.prediction),
            "was run with another word than the class's": made.word not in ("", self.word),
            "is predicted, and not run yet": not made.records,
            f"has not one run each of {', '.join(arms)}": sorted(r.arm for r in made.records)
            != sorted(arms),
        }
        for says in (says for says, fault in faults.items() if fault):
            raise Refused(says)
        for record in made.records:
            self._look(record, made.seed)
        run.difference = one_seed.difference(self.question, made.records)

    def _look(self, record: Record, seed: int) -> None:
        kind = (record.experiment, record.size, record.hardware.get("device"))
        if kind != (self.experiment.name, one_seed.SIZE, "cpu"):
            raise Refused(f"holds another run: {' '.join(map(str, kind))}")
        if record.seed != seed:
            raise Refused("has a run of another seed than its prediction gives")
        same = self.any_version or not stale({record.experiment: self.experiment}, [record])
        if record.schema == 1 or not same:
            raise Refused("was run by another version of the course")
        wanted = self.experiment.config(record.arm, record.size)
        if record.config != json.loads(json.dumps(wanted)):
            raise Refused("was run with other settings")
        # Which also reads each of them as a number.
        _numbers(record)
        for column in record.metrics[0].keys() & record.results.keys():
            told = measured(record, column)
            if all(abs(row[column] - told) > 1e-6 for row in record.metrics):
                raise Refused(f"has another {column} than any epoch")

    def run_again(
        self, secret: str, many: int | None, kept: dict[str, str], runs_dir: Path, say: Say
    ) -> None:
        """Train again what a secret draws, and what two have alike; ``kept`` are outcomes.

        ``many``: students; None for a share, 0 for what is kept alone. Whoever is drawn stays so
        when others hand in.
        """
        whole = [run for run in self.runs if not run.why or run.why.startswith(ALIKE)]
        many = max(LEAST, round(SHARE * len(whole))) if many is None else many
        whole.sort(key=lambda run: hashlib.sha256(f"{secret} {run.student}".encode()).digest())
        for i, run in enumerate(whole):
            assert run.hand_in is not None
            key = hashlib.sha256(run.hand_in.to_json().encode()).hexdigest()
            if key not in kept and (i < many or (many and run.why)):
                say(f"the run of {run.student} is run again")
                kept[key] = self._again(run, runs_dir)
            if key in kept:
                run.again, run.why = True, kept[key]

    def _again(self, run: Run, runs_dir: Path) -> str:
        """Why a run is not what it says it is; nothing where it comes out again."""
        for was in run.records:
            now = one_seed.train(self.experiment, was.arm, was.seed, runs_dir, progress=False)
            ours, theirs = _numbers(now), _numbers(was)
            if now.data != was.data or ours.keys() != theirs.keys():
                return f"was trained on other data than a repeat of {was.arm}"
            for name, value in ours.items():
                most = max(TOLERANCE * self._spread(was.arm, name), 1e-5 * abs(value))
                if abs(theirs[name] - value) > most:
                    return f"has {theirs[name]:.4g} as {name}, run again {was.arm} has {value:.4g}"
        return ""

    def _spread(self, arm: str, name: str) -> float:
        """Standard deviation of a number over the ledger's seeds."""
        same = [_numbers(r) for r in self.known if (r.arm, r.size) == (arm, one_seed.SIZE)]
        values = [found[name] for found in same if name in found]
        return statistics.stdev(values) if len(values) > 1 else 0.0

    def settled(self) -> Settled | None:
        """Sentence of the ledger where these seeds alone decide, named before they were run."""
        records = [record for run in self.counting for record in run.records]
        fresh = replace(self.question, fresh=sorted({r.seed for r in records}), asked="")
        asked = [fresh if q is self.question else q for q in self.experiment.questions]
        found = settle(replace(self.experiment, questions=asked), [*self.known, *records])
        return next((one for one in found if records and one.question.key == fresh.key), None)

    def calibration(self) -> list[dict[str, Any]]:
        """Stated and actual certainty of the sign, of students who were about equally sure."""
        rows = []
        for least in range(50, 100, 10):
            if group := [r for r in self.counting if 0 <= round(100 * r.sure) - least < 10]:
                right, n = sum(run.right for run in group), len(group)
                low, high = wilson(right, n)
                said = statistics.mean(run.sure for run in group)
                rows.append({"said": said, "n": n, "right": right, "low": low, "high": high})
        return rows

    def data(self, names: bool = True) -> dict[str, Any]:
        """All of it as plain data, with students' names or without."""
        runs, settled = self.counting, self.settled()
        # Of one run no interval is finite.
        judged = settled.found[one_seed.SIZE].verdict if settled and len(runs) > 1 else None
        known = settle(self.experiment, self.known)
        return {
            "question": self.name,
            "claim": self.question.claim,
            "margin": self.question.margin,
            "word": self.word,
            "handed_in": len(self.runs),
            "counting": len(runs),
            "again": sum(run.again for run in self.runs),
            "before": sum(run.before for run in runs),
            "differences": sorted(run.difference for run in runs),
            "outcome": judged.outcome if judged else "undecided",
            "interval": [judged.low, judged.mean, judged.high] if judged else None,
            "verdict": str(judged or "fewer than two runs count"),
            "row": settled.told if settled else "",
            "known": next((str(s) for s in known if s.question.key == self.question.key), ""),
            "calibration": self.calibration(),
            "right": sum(run.right for run in runs),
            "said": statistics.mean([run.sure for run in runs] or [0.5]),
            "miss": statistics.median([abs(r.difference - r.predicted) for r in runs] or [0.0]),
            "not_counting": {r.student: r.why for r in self.runs if r.why and names},
            "named": [r.student for r in runs if names and r.hand_in and r.hand_in.named],
        }


def _untimed(row: Mapping[str, float]) -> dict[str, float]:
    return {column: value for column, value in sorted(row.items()) if column not in TIMES}


def _numbers(record: Record) -> dict[str, float]:
    """Results of a run but for times: numbers, and the columns of each epoch."""
    found = {**record.numbers}
    for row in record.metrics:
        found |= {f"{column} of epoch {row['epoch']}": v for column, v in _untimed(row).items()}
    return found
