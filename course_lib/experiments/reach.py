"""Conclusion of all sizes of an experiment together, and how far it reaches.

A small model that is trained for a minute is another question than a document's. So a claim *holds*
or *fails* in two cases only: by runs at the document's own setting, with nothing of what it names
left out; or where two sizes of model or data agree, of which one was trained to the end. Each needs
three pairs, and curves that were kept and no longer move. A rate that decays flattens any curve. So
*trained to the end* also needs a run of the same settings with twice the steps, which differs by no
more than the margin. One training that is read twice is no two tests: each reading has its own
pairs, and both must decide alike. All else is what was seen in these models.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from course_lib.experiments.doubts import differing
from course_lib.experiments.questions import (
    ALL,
    Conclusion,
    Question,
    apart_by_machine,
    conclusions,
)
from course_lib.experiments.record import Record
from course_lib.experiments.registry import Experiment
from course_lib.experiments.verdict import PAIRS, Outcome

Reach = Literal["own", "two sizes", "own but", "two lengths", "own, too few", "small"]
REACHES: tuple[Reach, ...] = get_args(Reach)
FAR: tuple[Reach, ...] = ("own", "two sizes")
"""Outcomes that reach a document; the others say what was observed."""

WITH_SETTINGS = ("the CIFAR-10 report", "the ablation report")
"""Documents whose claims are about a setting: that of the size which is
marked as ``own``. What others say is to hold whatever the size."""

SEEN = {
    "holds": "seen as claimed",
    "fails": "seen the other way round",
    "no difference": "no difference seen",
    "undecided": "undecided",
    "not testable": "not testable",
}
"""Words of each outcome for a small size alone."""

APART, TWICE = 3.0, 2.0
"""Factor between two sizes, and between a run and the one that shows that it had ended."""

DECIDED = ("holds", "fails", "no difference")
LENGTH = {"epochs", "rounds", "steps"}
"""The settings in which two lengths of one training differ."""


@dataclass(frozen=True)
class Settled:
    """A claim, and what the records of all sizes say about it.

    ``reach``: ``"own"`` where the document's own setting decides or leaves open, ``"own but"``
    where that differs in something that the document names, ``"two sizes"`` where two agree and one
    was trained to the end, ``"two lengths"`` where only the training was longer, else ``"small"``;
    ``away``: of each other size, how far it is from the document's.
    """

    question: Question
    found: Mapping[str, Conclusion]  # what each size says, small ones first
    reach: Reach
    outcome: Outcome  # of the claim; without a far reach it is what the best size says alone
    best: str  # the size whose numbers stand for it
    own: tuple[str, ...] = ()  # the sizes that have the document's own setting
    but: Mapping[str, Any] = field(default_factory=dict)  # what it names and we have otherwise
    away: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""  # where sizes disagree
    readings: str = ""  # what each reading of the document's setting says, if there are several
    apart: tuple[str, ...] = ()  # sizes whose only pairs are of two machines
    unfinished: bool = False  # whether two sizes agree, neither shown to be trained to the end

    @property
    def conclusion(self) -> Conclusion:
        """Conclusion of the best size."""
        return self.found[self.best]

    @property
    def word(self) -> str:
        """The outcome in a reader's words; only what reaches a document *holds* or *fails*."""
        return self.outcome if self.reach in FAR else SEEN[self.outcome]

    @property
    def where(self) -> str:
        """Measure how far it reaches, in a reader's words."""
        setting = "at the document's setting"
        setting += f" but for the {' and '.join(self.but)}" if self.but else ""
        if self.reach in ("own", "own but"):
            return f"{setting}: {self.readings}" if self.readings else setting
        if self.reach == "two lengths":
            kept = all(c.converged is not None for c in self.found.values())
            return f"at two lengths of training{'' if kept else '; no curve was kept'}"
        if self.reach == "two sizes":
            return "at two sizes that agree"
        if self.unfinished:
            return "at two sizes that agree, neither shown to be trained to the end"
        if self.reach == "own, too few":
            return f"with too few pairs {setting} to decide"
        if _has_setting(self.question):
            return "not tested at the document's size"
        return "by one size alone"

    @property
    def told(self) -> str:
        """The outcome, and how far it reaches."""
        return f"{self.word}, {self.where}"

    def __str__(self) -> str:
        others = (f"{size}: {self.found[size].verdict.mean:+.3g}" for size in self.found)
        aside = [s for s in others if not s.startswith(f"{self.best}:")]
        numbers = str(self.conclusion.verdict).partition(": ")[2]
        return "; ".join([f"{self.told}: {numbers}", *filter(None, [self.remark]), *aside])

    def reach_of(self, size: str) -> Reach:
        """Measure how far what one of the sizes says reaches."""
        if size in self.own:
            if self.but:
                return "own but"
            return "own" if _enough(self.found[size]) else "own, too few"
        alike = self.found[size].verdict.outcome == self.outcome
        return self.reach if self.reach in ("two sizes", "two lengths") and alike else "small"

    def word_of(self, size: str) -> str:
        """Conclusion of one of the sizes, in a reader's words."""
        said = self.found[size]
        far = said.verdict.outcome == self.outcome and self.reach_of(size) in FAR and trained(said)
        return said.verdict.outcome if far else SEEN[said.verdict.outcome]


def settle(experiment: Experiment, records: Sequence[Record]) -> list[Settled]:
    """Each claim of an experiment once, over all sizes at which it has pairs."""
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
    made = []
    for question in experiment.questions:
        found = {
            size: replace(cs[question.key], converged=False)
            if {(size, arm) for arm in question.arms} & moving
            else cs[question.key]
            for size, cs in by_size.items()
            if question.key in cs
        }
        apart = tuple(
            size
            for size in experiment.sizes
            if size not in found and apart_by_machine(question, _of_size(records, experiment, size))
        )
        if found:
            made.append(replace(_settle(experiment, found), apart=apart))
    return [_together(one, made) for one in made]


def _of_size(records: Sequence[Record], experiment: Experiment, size: str) -> list[Record]:
    return [r for r in records if (r.experiment, r.size) == (experiment.name, size)]


def _settle(experiment: Experiment, found: Mapping[str, Conclusion]) -> Settled:
    question = next(iter(found.values())).question
    configs = {size: _config(experiment, question, size) for size in found}
    setting = next((s for s, size in experiment.sizes.items() if size.own), None)
    own = tuple(s for s in found if experiment.sizes[s].own and _has_setting(question))
    enough = [s for s in found if _enough(found[s])]
    decided = [s for s in enough if found[s].verdict.outcome in DECIDED]
    # The larger of two that say as much stands for both.
    best = max(
        found, key=lambda s: (s in decided, s in enough, found[s].verdict.n > 1, [*found].index(s))
    )
    away = {
        # A share of the images is the arm's own; the document took all.
        s: distance(configs[s], {**_config(experiment, question, setting), "share": 1})
        for s in found
        if setting and s not in own
    }
    outcome = found[best].verdict.outcome
    one = Settled(question, found, "small", outcome, best, own, _but(experiment, question), away)
    if judges := [s for s in own if s in enough]:
        best = max(judges, key=lambda s: (s in decided, found[s].verdict.n))
        outcome = found[best].verdict.outcome
        others = {found[s].verdict.outcome for s in decided if s not in own} - {outcome}
        remark = f"a small size {'says otherwise' if best in decided else 'alone decides'}"
        one = replace(one, reach="own", outcome=outcome, best=best, remark=remark if others else "")
        if one.but:
            return replace(one, reach="own but")
        readings = {s: size.reading for s, size in experiment.sizes.items() if size.own}
        if len(readings) > 1:
            return _read([(when, found.get(s)) for s, when in readings.items()], one)
        return one if trained(found[best]) else replace(one, outcome="undecided")
    if len({found[s].verdict.outcome for s in decided}) > 1:
        return replace(one, outcome="undecided", remark="sizes disagree")
    kinds = {apart(configs[a], configs[b]) for a in decided for b in decided}
    if "size" in kinds:
        ended = any(_ended(experiment, found, s) for s in decided)
        return replace(one, reach="two sizes" if ended else "small", unfinished=not ended)
    if "length" in kinds:
        return replace(one, reach="two lengths")
    return replace(one, reach="own, too few") if own else one


def _together(one: Settled, all_: Sequence[Settled]) -> Settled:
    """A claim beside what the other questions say that read the same training."""
    if not one.question.training or one.reach != "own":
        return one
    twins = [s for s in all_ if s.question.training == one.question.training]
    return _read([(s.question.reading, s.found.get(one.best)) for s in twins], one)


def _read(readings: Sequence[tuple[str, Conclusion | None]], one: Settled) -> Settled:
    """A claim by all readings of the document's setting: they decide alike, or it is undecided."""
    outcomes = {
        c.verdict.outcome if c and _enough(c) and trained(c) else "undecided" for _, c in readings
    }
    outcome: Outcome = outcomes.pop() if len(outcomes) == 1 else "undecided"
    best = one.conclusion.verdict
    said = "; ".join(_reading(when, c, best.mean) for when, c in readings)
    return replace(one, outcome=outcome, readings=said)


def _reading(when: str, found: Conclusion | None, mean: float) -> str:
    if found is None:
        return f"{when} there is no pair on one device"
    n = found.verdict.n
    pairs = f"{n} pair{'s' * (n > 1)}"
    if _enough(found):
        return f"{found.verdict.said} {when} ({pairs})"
    way = "the same way" if found.verdict.mean * mean > 0 else "the other way"
    return f"{when} {pairs} point{'s' * (n == 1)} {way}, which decides nothing"


def _enough(found: Conclusion) -> bool:
    # A fact needs none.
    return not 0 < found.verdict.n < PAIRS


def trained(found: Conclusion) -> bool:
    """Tell whether curves were kept, and none moves when training ends; a fact has none."""
    return found.converged is True or found.verdict.n == 0


def _ended(experiment: Experiment, found: Mapping[str, Conclusion], size: str) -> bool:
    """True if a run with twice the steps says as much, up to the margin."""
    question, said = found[size].question, found[size]
    if not trained(said) or question.margin is None:
        return False
    config = _config(experiment, question, size)
    for other, longer in found.items():
        theirs = _config(experiment, question, other)
        times = _shares(theirs, config, "steps").get("steps", 0.0)
        if times < TWICE or not {*differing([config, theirs])} <= LENGTH:
            continue
        sides = ((said.ours, longer.ours), (said.theirs, longer.theirs))
        if all(abs(_mean(a) - _mean(b)) <= question.margin for a, b in sides):
            return True
    return False


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _but(experiment: Experiment, question: Question) -> dict[str, Any]:
    """Settings that a document names and its own size here has otherwise."""
    own = [size for size, what in experiment.sizes.items() if what.own]
    arms = [arm for arm in question.arms if arm != ALL]
    ours = [experiment.config(arm, size) for arm in arms for size in own[:1]]
    named = question.named.items()
    return {name: value for name, value in named if any(c.get(name) != value for c in ours)}


def _has_setting(question: Question) -> bool:
    return question.document.removeprefix("beside ") in WITH_SETTINGS


def _config(experiment: Experiment, question: Question, size: str) -> dict[str, Any]:
    arm = next((arm for arm in question.arms if arm != ALL), next(iter(experiment.arms)))
    return experiment.config(arm, size)


def extent(config: Mapping[str, Any]) -> dict[str, float]:
    """Size of a run, by what its settings tell: in units that cancel between two sizes.

    Returns ``weights``; ``data``, the examples there are; ``steps``; and ``seen``, steps times
    batch. Settings with a ``patience`` do not tell how long a run was.
    """
    made = {}
    if (weights := sum(_widths(config))) > 0:
        made["weights"] = float(weights)
    share = config.get("share", 1)
    amounts = (config.get(k) for k in ("n_train", "n_sentences", "n_pictures"))
    data = next(filter(None, amounts), None)
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
    several = _stage_widths(config)
    for width in several or [config.get("d_model", 0)] * config.get("n_layers", 1):
        inner = 0 if several else config.get("d_ff", 0)
        yield width * width + width * inner / 2


def _stage_widths(config: Mapping[str, Any]) -> Any:
    return config.get("stage_widths") or (config.get("kind") == "resnet" and config.get("widths"))


def apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Tell whether one run is three times as large, ``"size"``, or only as long, ``"length"``."""

    def far(*names: str) -> bool:
        shares = _shares(one, other, *names).values()
        return any(share >= APART or share <= 1 / APART for share in shares)

    if far("weights", "data"):
        return "size"
    return "length" if far("steps", "seen") else ""


def _shares(one: Mapping[str, Any], other: Mapping[str, Any], *names: str) -> dict[str, float]:
    ours, theirs = extent(one), extent(other)
    return {k: ours[k] / theirs[k] for k in names if k in ours and k in theirs}


def distance(config: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """Measure how far a run's setting is from the document's own, in shares of it."""
    # The widths of stages do not tell their weights.
    of = () if _stage_widths(config) else ("weights",)
    shares = _shares(config, own, *of, "data", "steps")
    return ", ".join(f"{name} {100 * x:.2g} %" for name, x in shares.items() if x != 1)
