"""What all sizes of an experiment say of a claim together, and how far that reaches.

A small model that is trained for a minute is another question than a document's. So a claim *holds*
or *fails* by runs at the document's own setting, or where two sizes agree of which one is three
times as large and one at least was trained to the end; each needs three pairs. Where a document
leaves open which of two settings was its own, they have to point the same way. All else is what was
seen in these models.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from course_lib.experiments.doubts import differing
from course_lib.experiments.questions import ALL, Conclusion, Question, conclusions
from course_lib.experiments.record import Record
from course_lib.experiments.registry import Experiment
from course_lib.experiments.verdict import Outcome

Reach = Literal["own", "two sizes", "small"]

WITH_SETTINGS = ("the CIFAR-10 report", "the ablation report")
"""Those whose claims, and what is asked beside them, are about a setting: that of the size which is
marked as ``own``. What others say is to hold whatever the size."""

SEEN = {
    "holds": "seen as claimed",
    "fails": "seen the other way round",
    "no difference": "no difference seen",
    "undecided": "undecided",
    "not testable": "not testable",
}
"""What a small size alone says of each outcome."""

APART = 3.0
"""How many times as large one of two sizes is at the least, in weights or in examples seen."""

DECIDED = ("holds", "fails", "no difference")

PAIRS = 3
"""Fewer say nothing of a document: with two, the spread is known from one difference alone."""


@dataclass(frozen=True)
class Settled:
    """A claim, and what the records of all sizes say about it.

    ``reach``: ``"own"`` where the document's own setting decides or leaves open, ``"two sizes"``
    where two agree and one was trained to the end, else ``"small"``; ``away``: of each other size,
    how far it is from that.
    """

    question: Question
    found: Mapping[str, Conclusion]  # what each size says, small ones first
    reach: Reach
    outcome: Outcome  # of the claim; with reach "small" it is what the best size says alone
    best: str  # the size whose numbers stand for it
    own: tuple[str, ...] = ()  # the sizes that have the document's own setting
    away: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""  # where sizes disagree
    unfinished: bool = False  # whether two sizes agree of which neither was trained to the end

    @property
    def conclusion(self) -> Conclusion:
        """What the best size says."""
        return self.found[self.best]

    @property
    def word(self) -> str:
        """The outcome in a reader's words; only what reaches a document *holds* or *fails*."""
        return SEEN[self.outcome] if self.reach == "small" else self.outcome

    @property
    def where(self) -> str:
        """How far it reaches, in a reader's words."""
        if self.unfinished:
            return "at two sizes that agree, neither trained to the end"
        if self.reach == "small" and self.own:
            return "with too few pairs at the document's setting to decide"
        if self.reach == "small":
            return (
                "not tested at the document's size"
                if _has_setting(self.question)
                else "by one size alone"
            )
        if self.reach == "own" and len(self.own) > 1 and self.outcome in DECIDED:
            return "at each setting that the document may mean"
        return "at the document's setting" if self.reach == "own" else "at two sizes that agree"

    @property
    def told(self) -> str:
        """The outcome, and how far it reaches."""
        return f"{self.word}, {self.where}"

    def __str__(self) -> str:
        others = (f"{size}: {self.found[size].verdict.mean:+.3g}" for size in self.found)
        aside = [s for s in others if not s.startswith(f"{self.best}:")]
        judged = self.conclusion.verdict
        numbers = str(judged).partition(": ")[2]
        said = f"{self.told}: {numbers}"
        return "; ".join([said, *filter(None, [self.remark]), *aside])

    def reach_of(self, size: str) -> Reach:
        """How far what one of the sizes says reaches."""
        said = self.found[size].verdict
        alike = said.outcome == self.outcome
        if size in self.own and _enough(said.n) and (alike or said.outcome not in DECIDED):
            return "own"
        return "two sizes" if self.reach == "two sizes" and alike else "small"


def settle(experiment: Experiment, records: Sequence[Record]) -> list[Settled]:
    """Each claim of an experiment once, over all sizes at which it has records."""
    by_size = {
        size: {c.key: c for c in conclusions(experiment, records, size)}
        for size in experiment.sizes
    }
    # A run that moves for one question is unfinished for all.
    moving = {
        (size, arm)
        for size, cs in by_size.items()
        for c in cs.values()
        if c.converged is False
        for arm in c.question.arms
    }
    return [
        _settle(experiment, found, {s for s in found if {(s, a) for a in question.arms} & moving})
        for question in experiment.questions
        if (found := {s: cs[question.key] for s, cs in by_size.items() if question.key in cs})
    ]


def _settle(experiment: Experiment, found: Mapping[str, Conclusion], moving: set[str]) -> Settled:
    question = next(iter(found.values())).question
    configs = {size: _config(experiment, question, size) for size in found}
    setting = next((s for s, size in experiment.sizes.items() if size.own), None)
    own = tuple(s for s in found if experiment.sizes[s].own and _has_setting(question))
    decided = [s for s, c in found.items() if c.verdict.outcome in DECIDED]
    outcomes = {found[s].verdict.outcome for s in decided}
    pairs = {s: found[s].verdict.n for s in found}
    enough = [s for s in found if _enough(pairs[s])]
    judges = [s for s in own if s in enough]
    reach: Reach = "small"
    remark = ""
    unfinished = False
    # The larger of two that say as much stands for both.
    best = max((s for s in decided or found), key=lambda s: (pairs[s] != 1, [*found].index(s)))
    if judges:
        reach = "own"
        best = max(judges, key=lambda s: (s in decided, pairs[s]))
        said = {found[s].verdict.outcome for s in judges if s in decided}
        outcome: Outcome = found[best].verdict.outcome
        if len(said) > 1 or any(_contradicts(found[best], found[s]) for s in own):
            outcome = "undecided"
            # What the document leaves open.
            free = differing([configs[s] for s in own])
            remark = f"it depends on the {' and '.join(free)}, of which the document says nothing"
        elif {found[s].verdict.outcome for s in decided if s not in own} - {outcome}:
            remark = f"a small size {'says otherwise' if said else 'alone decides'}"
    elif len(outcomes) > 1:
        outcome, remark = "undecided", "sizes disagree"
    else:
        outcome = found[best].verdict.outcome
        agree = [s for s in decided if s in enough]
        if any(apart(configs[a], configs[b]) for a in agree for b in agree):
            unfinished = moving.issuperset(agree)
            reach = "small" if unfinished else "two sizes"
    away = {
        s: distance(configs[s], _config(experiment, question, setting))
        for s in found
        if setting and s not in own
    }
    return Settled(question, found, reach, outcome, best, own, away, remark, unfinished)


def _enough(pairs: int) -> bool:
    # A fact needs none.
    return not 0 < pairs < PAIRS


def _contradicts(judged: Conclusion, other: Conclusion) -> bool:
    """Whether another setting, be it by one pair, points away from what was decided."""
    decided, mean = judged.verdict, other.verdict.mean
    if decided.outcome == "no difference":
        return abs(mean) > (decided.margin or 0.0)
    return decided.outcome in DECIDED and mean * decided.mean < 0


def _has_setting(question: Question) -> bool:
    return question.document.removeprefix("beside ") in WITH_SETTINGS


def _config(experiment: Experiment, question: Question, size: str) -> dict[str, Any]:
    arm = next((arm for arm in question.arms if arm != ALL), next(iter(experiment.arms)))
    return experiment.config(arm, size)


def extent(config: Mapping[str, Any]) -> dict[str, float]:
    """How large a run is, by what its settings tell: in units that cancel between two sizes.

    Returns ``weights``; ``data``, the examples there are; ``steps``; and ``seen``, steps times
    batch. Settings with a ``patience`` do not tell how long a run was.
    """
    made = {}
    if (weights := sum(_widths(config))) > 0:
        made["weights"] = float(weights)
    share = config.get("share", 1)
    data = next((config[k] for k in ("n_train", "n_sentences", "n_pictures") if k in config), None)
    if data is not None:
        made["data"] = float(data * share)
    times = config.get("epochs", config.get("rounds", 1)) / share
    batch = config.get("batch_size", 1)
    if "patience" in config:
        return made
    if "steps" in config:
        made["steps"] = float(times * share * config["steps"])
    elif data is not None:
        made["steps"] = times * data * share / batch
    if "steps" in made:
        made["seen"] = made["steps"] * batch
    return made


def _widths(config: Mapping[str, Any]) -> Iterator[float]:
    """Weights of each layer, but for a factor."""
    several = config.get("stage_widths") or (
        config.get("widths") if config.get("kind") == "resnet" else None
    )
    for width in several or [config.get("d_model", 0)] * config.get("n_layers", 1):
        inner = 0 if several else config.get("d_ff", 0)
        yield width * width + width * inner / 2


def apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether one of two sizes is at least three times as large, in weights or examples seen."""
    shares = _shares(one, other, "weights", "seen").values()
    return any(share >= APART or share <= 1 / APART for share in shares)


def _shares(one: Mapping[str, Any], other: Mapping[str, Any], *names: str) -> dict[str, float]:
    ours, theirs = extent(one), extent(other)
    return {k: ours[k] / theirs[k] for k in names if k in ours and k in theirs}


def distance(config: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """How far a run's setting is from the document's own, in shares of it."""
    shares = _shares(config, own, "weights", "data", "steps")
    return ", ".join(f"{name} {100 * x:.2g} %" for name, x in shares.items() if x != 1)
