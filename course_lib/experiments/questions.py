"""Questions to records: what is compared with what, up to which margin, and what the rule says.

A margin is the largest difference that still counts as none; ``book/margins.yml`` gives a reason
for each. Margins were named when five seeds had been looked at: a margin closes no question by a
run that is older than it, nor does a question that was asked later than its runs.
``fresh`` seeds were named before any of them was run: once they are there, they alone decide. Two
runs are a pair only if one kind of device made them, with the same products and version of torch.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean
from typing import Any, Protocol

import torch

from course_lib.experiments.doubts import MARGINS_NAMED, differing, moving, older
from course_lib.experiments.record import Record, measured, unpack_items
from course_lib.experiments.verdict import (
    CONFIDENCE,
    PAIRS,
    Verdict,
    adjust,
    two_way_interval,
    verdict,
)
from course_lib.experiments.verdict import fact as without_chance

Measure = str | float | Callable[[Record], float]
"""A number of a record by its key, one that needs no record, or what makes one of a record."""

ALL = "*"


def learned(metric: str) -> Callable[[Record], float]:
    """By how much a column of the metrics is higher after the last epoch than after the first."""
    return lambda record: record.metrics[-1][metric] - record.metrics[0][metric]


@dataclass(frozen=True)
class Question:
    """A claim, and the difference that decides it: one number of each seed, less another.

    Args:
        arm: Whose number it is; ``"*"`` for the mean over all arms that the experiment's questions
            name (all its arms, if they name none), so that a seed counts once.
        beyond: Two arms whose difference is subtracted, too: does one lead exceed another?
        bound: The best possible number. Arms closer to it than the margin have met a ceiling.
        items: Name of the numbers that records keep for each test item, if they do; may be left out
            where two arms' accuracies are compared.
        fresh: Seeds that alone decide once all of them are there; named before they were run.
        differs: The settings in which its arms may differ, with spaces between; a test holds them
            complete.
        named: What the document names of its arms' settings, where ours may have another value.
        training: Shared by the questions that read the same runs at different times; ``reading``
            says when.
    """

    key: str  # its short name, unique within the experiment
    claim: str  # the claim, in the course's words
    document: str  # who makes it; "control" for a difference known to be there
    arm: str
    other: str = ""  # whose number is subtracted; the same arm's if left out
    metric: Measure = "accuracy"
    minus: Measure | None = None  # what is subtracted, if not the same number of the other arm
    sign: int = 1  # whether the claim says that the difference is above 0 (1) or below (-1)
    margin: float | None = None  # the largest difference that counts as none
    beyond: tuple[str, str] | None = None
    bound: float | None = None
    items: str = ""
    block: int = 1  # how many neighbouring items depend on each other
    fresh: Sequence[int] = ()
    family: str = ""  # of which family it is, if not of its experiment's
    versus: str = ""  # what is subtracted, in words, where no arm and no number says it
    differs: str = ""
    asked: str = ""  # when it was asked, where that was after runs of its arms: those don't count
    named: Mapping[str, Any] = field(default_factory=dict)
    training: str = ""
    reading: str = ""

    @property
    def sides(self) -> tuple[tuple[str, Measure], tuple[str, Measure]]:
        """Arm and number of what is compared, and of what it is compared with."""
        minus = self.metric if self.minus is None else self.minus
        return (self.arm, self.metric), (self.other or self.arm, minus)

    @property
    def kept(self) -> str:
        """Name of what is compared item by item; an accuracy is the mean of ``"correct"``."""
        alike = self.metric == "accuracy" and self.minus is None and self.beyond is None
        return self.items or ("correct" if alike else "")

    @property
    def arms(self) -> list[str]:
        """All arms that it needs, ``"*"`` among them."""
        return list(dict.fromkeys([self.arm, self.other or self.arm, *(self.beyond or ())]))


def rows(table: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Key and settings of each question in a table beside this module; ``fresh``: from, up to."""
    path = Path(__file__).with_name(f"{table}.toml")
    for key, row in tomllib.loads(path.read_text(encoding="utf-8")).items():
        if "fresh" in row:
            row["fresh"] = range(*row["fresh"])
        yield key, row


def from_table(table: str, measures: Mapping[str, Measure] | None = None) -> tuple[Question, ...]:
    """The questions of a table, in which ``measures`` stand by their names.

    A key ``a/b`` is about these arms, where no others are named; ``learned x``: :func:`learned`.
    """
    known, questions = measures or {}, []
    for key, row in rows(table):
        if "arm" not in row:
            row["arm"], row["other"] = key.split("/")
        for side in row.keys() & {"metric", "minus"}:
            name = str(row[side])
            what, _, column = name.partition(" ")
            row[side] = known.get(name, learned(column) if what == "learned" else row[side])
        if "beyond" in row:
            row["beyond"] = tuple(row["beyond"])
        questions.append(Question(key, **row))
    return tuple(questions)


_UNCONTROLLED = f"no control of this size has {PAIRS} pairs yet"
_MOVING = "not trained to the end: a curve still moves by more than the margin"
_LATE = "the margin is younger than these runs"


@dataclass(frozen=True)
class _Facts:
    """Facts that the judgement of one question looks at beside its numbers."""

    late: bool = False  # whether the margin is younger than a run
    ceiling: str = ""  # why its arms cannot differ
    moving: bool = False
    p_adjusted: float = 0.0
    control: bool | None = True  # whether the controls hold; None while none has enough pairs


def _few(judged: Verdict, facts: _Facts) -> Verdict:
    return replace(judged, outcome="undecided") if 0 < judged.n < PAIRS else judged


def _late(judged: Verdict, facts: _Facts) -> Verdict:
    late = facts.late and judged.outcome == "no difference"
    return judged.remarked(_LATE, outcome="undecided") if late else judged


def _ceiling(judged: Verdict, facts: _Facts) -> Verdict:
    return _untested(judged, facts.ceiling) if facts.ceiling else judged


def _moving(judged: Verdict, facts: _Facts) -> Verdict:
    return judged.remarked(_MOVING) if facts.moving else judged


def _unlikely(judged: Verdict, facts: _Facts) -> Verdict:
    if judged.outcome not in ("holds", "fails") or facts.p_adjusted < 1 - CONFIDENCE:
        return judged
    told = f"undecided after adjustment: p {judged.p:.2g}, adjusted {facts.p_adjusted:.2g}"
    return judged.remarked(told, outcome="undecided")


def _uncontrolled(judged: Verdict, facts: _Facts) -> Verdict:
    if facts.control is None:
        return judged.remarked(_UNCONTROLLED)
    return judged if facts.control else _untested(judged, "a control fails")


def _untested(judged: Verdict, why: str) -> Verdict:
    # Few pairs are undecided whatever the arms do.
    return judged.remarked(why, outcome=None if 0 < judged.n < PAIRS else "not testable")


ORDER = (_few, _late, _ceiling, _moving, _unlikely, _uncontrolled)
"""Doubts about a verdict, in this order; reach.py goes on with how far it reaches."""


def _judge(judged: Verdict, facts: _Facts) -> Verdict:
    for step in ORDER:
        judged = step(judged, facts)
    return judged


@dataclass(frozen=True)
class Conclusion:
    """A question and what the records say about it.

    ``over_items``: a 95 % interval over seeds and test items, where records keep these;
    ``converged``: whether no curve moves any more when training ends; None where there is none.
    """

    question: Question
    verdict: Verdict  # the rule's verdict
    seeds: tuple[int, ...]  # which decide it
    ours: tuple[float, ...]  # of each seed, the number of the question's arm
    theirs: tuple[float, ...]  # of each seed, what is subtracted
    p_adjusted: float = 1.0  # the p-value among all questions of its family
    over_items: tuple[float, float] | None = None
    differs: tuple[str, ...] = ()  # the settings in which the records' arms differ
    converged: bool | None = None
    before: Verdict | None = None  # that of the interval alone, before the steps of ORDER
    facts: _Facts = _Facts()

    @property
    def key(self) -> str:
        """The question's key."""
        return self.question.key

    @property
    def claim(self) -> str:
        """The question's claim."""
        return self.question.claim

    @property
    def document(self) -> str:
        """Source of the claim."""
        return self.question.document

    @property
    def control(self) -> bool:
        """Tell whether this is a positive control."""
        return self.document == "control"

    @property
    def sides(self) -> tuple[str, str]:
        """Both sides of the comparison, in a few words."""
        (arm, metric), (other, minus) = self.question.sides
        if self.question.other and arm != other:
            first, second = arm, other
        else:
            first, second = _said(metric) or arm, _said(minus) or other
        return first, self.question.versus or second

    def __str__(self) -> str:
        return f"{self.document}: {self.claim}\n    {self.verdict}"


class Asking(Protocol):
    """Protocol of anything with a name and questions, such as an experiment."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def questions(self) -> Sequence[Question]:
        """Conclusions of its records."""


def conclusions(experiment: Asking, records: Sequence[Record], size: str) -> list[Conclusion]:
    """Conclusions of one experiment and size: nothing, where a control fails.

    Returns the conclusions, controls included. Where a control fails, the measurement itself is in
    doubt, and no other question can be tested. While a control has fewer than three pairs it
    decides nothing either way, and a remark beside the others says so.
    """
    name = experiment.name
    chosen = [r for r in records if r.experiment == name and r.size == size]
    found = answers(experiment.questions, chosen)
    families: dict[str, list[int]] = {}
    for i, conclusion in enumerate(found):
        if not conclusion.control:
            families.setdefault(conclusion.question.family or name, []).append(i)
    controls = [c.verdict.outcome == "holds" for c in found if c.control and c.verdict.n >= PAIRS]
    control: bool | None = all(controls) if controls else None
    if not any(question.document == "control" for question in experiment.questions):
        control = True
    for family, places in families.items():
        # A single pair, a fact and what cannot be tested are no tests: no other is less likely. Two
        # pairs decide nothing, and are a question that was asked all the same.
        tested = [i for i in places if _is_test(found[i].verdict)]
        p_adjusted = dict(zip(tested, adjust([found[i].verdict.p for i in tested]), strict=True))
        for i in places:
            facts = replace(found[i].facts, p_adjusted=p_adjusted.get(i, 0.0), control=control)
            found[i] = replace(
                found[i],
                question=replace(found[i].question, family=family),
                verdict=_judge(found[i].before or found[i].verdict, facts),
                p_adjusted=p_adjusted.get(i, 1.0),
            )
    return found


def _is_test(judged: Verdict) -> bool:
    return judged.n > 1 and judged.outcome != "not testable"


def answers(questions: Sequence[Question], records: Sequence[Record]) -> list[Conclusion]:
    """Each question by itself, without controls and families.

    ``questions``: what is asked; those about arms without records are left out.
    """
    asked = _compared(questions, records)
    return [conclusion for question in questions for conclusion in _ask(question, asked)]


def _compared(questions: Sequence[Question], records: Sequence[Record]) -> Sequence[Record]:
    """The records of arms that are asked about: no other keeps a control from its seeds."""
    named = {arm for question in questions for arm in question.arms} - {ALL}
    return [r for r in records if r.arm in named] if named else records


def apart_by_machine(question: Question, records: Sequence[Record]) -> set[int]:
    """Seeds that all arms of a question have run, of one size, but not on the same machine."""
    found: dict[int, dict[str, Any]] = {}
    for record in records:
        if record.arm in question.arms:
            found.setdefault(record.seed, {})[record.arm] = record.machine
    arms = {*question.arms} - {ALL}
    return {
        seed
        for seed, machines in found.items()
        if machines.keys() == arms and any(m != machines[question.arm] for m in machines.values())
    }


def _ask(question: Question, records: Sequence[Record]) -> Iterator[Conclusion]:
    first, second = question.sides
    ours, theirs = _by_seed(records, *first), _by_seed(records, *second)
    if question.beyond:
        more, less = (_by_seed(records, arm, question.metric) for arm in question.beyond)
        theirs = {s: theirs[s] + more[s] - less[s] for s in {*theirs} & {*more} & {*less}}
    asked = [r for r in records if r.arm in question.arms or ALL in question.arms]
    seeds = (ours.keys() & theirs.keys()) - apart_by_machine(question, asked)
    seeds -= older(asked, question.asked)
    fresh = set(question.fresh)
    chosen = sorted(fresh if fresh and fresh <= seeds else seeds - fresh)
    if not chosen:
        return

    def compare(seeds: Sequence[int]) -> Verdict:
        sides = [[side[seed] for seed in seeds] for side in (ours, theirs)]
        differences = [a - b for a, b in zip(*sides, strict=True)]
        if len(seeds) > 1 and all(len({*s}) == 1 for s in sides) and differences[0]:
            return without_chance(differences[0], question.sign)
        return verdict(differences, question.sign, question.margin)

    judged = compare(chosen)
    late = older(asked, max(MARGINS_NAMED, question.asked)) & {*chosen}
    if judged.outcome == "no difference" and late and late != {*chosen}:
        chosen, late = [seed for seed in chosen if seed not in late], set()
        judged = compare(chosen)
    used = [r for r in asked if r.seed in chosen]
    by_arm = {r.arm: [s for s in used if s.arm == r.arm] for r in used}
    # Where any difference counts, a tenth of ours does.
    unit = question.margin or abs(judged.mean) / 10
    moves = [moving(runs, question.metric, unit) for runs in by_arm.values()]
    values = [mean(side[seed] for seed in chosen) for side in (ours, theirs)]
    facts = _Facts(
        late=bool(late),
        ceiling=_ceiling_of(question, values),
        moving=any(moves) and question.document != "control",
    )
    pair = [r.config | r.machine for r in used if r.seed == chosen[0]]
    yield Conclusion(
        question,
        _judge(judged, facts),
        tuple(chosen),
        tuple(ours[seed] for seed in chosen),
        tuple(theirs[seed] for seed in chosen),
        over_items=_over_items(question, records, chosen),
        differs=() if ALL in question.arms else differing(pair),
        converged=None if not moves or None in moves else not any(moves),
        before=judged,
        facts=facts,
    )


def _said(measure: Measure) -> str:
    if isinstance(measure, str):
        return measure.replace("_", " ").replace(".", ", ", 1)
    return "" if callable(measure) else f"{measure:g}"


def _ceiling_of(question: Question, means: Sequence[float]) -> str:
    """Why a question can't be tested by arms with these means, if it can't."""
    bound, margin = question.bound, question.margin
    if bound is None or margin is None or any(abs(bound - value) >= margin for value in means):
        return ""
    return f"a ceiling: both arms are within {margin:g} of {bound:g}"


def _by_seed(records: Sequence[Record], arm: str, measure: Measure) -> Mapping[int, float]:
    """A number for each seed; over all arms, for each seed that all of them have."""
    found: dict[int, list[float]] = {}
    for record in records:
        if arm in (ALL, record.arm):
            found.setdefault(record.seed, []).append(_value(record, measure))
    whole = len({record.arm for record in records}) if arm == ALL else 1
    return {seed: mean(values) for seed, values in found.items() if len(values) == whole}


def _value(record: Record, measure: Measure) -> float:
    if isinstance(measure, str):
        return measured(record, measure)
    return float(measure(record) if callable(measure) else measure)


def _over_items(
    question: Question, records: Sequence[Record], seeds: Sequence[int]
) -> tuple[float, float] | None:
    kept = {(r.arm, r.seed): r.items.get(question.kept) for r in records}
    rows = []
    for seed in seeds:
        pair = [kept.get((arm, seed)) for arm, _ in question.sides]
        if pair[0] is None or pair[1] is None:
            return None
        ours, theirs = (unpack_items(packed).float() for packed in pair if packed is not None)
        rows.append(ours - theirs)
    return two_way_interval(torch.stack(rows), question.block) if len(rows) > 1 else None
