"""Questions on an answer: each is made from runs of it, and so is its key.

A maker yields what it can ask, in an order drawn by the sheet's seed, and yields nothing where a
run could not decide. What it takes to check a key in another way stands in ``facts``.
"""

import ast
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from grader.checks.report import Report
from grader.defence.bench import Bench, Trace, Undecided
from grader.defence.inputs import Input, inputs
from grader.defence.unit import Change

# A requirement falls if it falls under each of these, whatever they draw.
SEEDS = tuple(f"{n:032x}" for n in (101, 202, 303, 404, 505, 606, 707, 808))
# Changed answers that are graded for one exercise of one sheet, and inputs to choose from.
MOST_CHANGES = 8
MOST_TIMES = 12
# Questions of one kind on one answer.
MOST_OF_A_KIND = 2


@dataclass
class Question:
    """A question and its key; plain data, which the sheets of a class keep."""

    kind: str  # the maker's name
    exercise: str  # whose answer it is about
    text: str
    answer: str  # the key
    why: str = ""  # what the run showed
    options: list[str] = field(default_factory=list)  # what to choose from, in order
    code: str = ""  # another function that it is about
    facts: dict[str, Any] = field(default_factory=dict)  # what was run

    @property
    def name(self) -> tuple[str, ...]:
        """Key that no two neighbours should share."""
        return self.kind, self.exercise, self.text, *self.options


Maker = Callable[[Bench, random.Random], Iterator[Question]]


def letters(chosen: list[int]) -> str:
    """Options by their letters, such as "A, C"."""
    return ", ".join(chr(ord("A") + n) for n in chosen)


def _verdicts(bench: Bench, text: str, seeds: tuple[str, ...]) -> tuple[list[bool], Report]:
    """Properties that hold, the same under every seed; else it is undecided."""
    reports = [bench.report(text, seed) for seed in seeds]
    passed = [[row.passed for row in report.rows] for report in reports]
    if any(other != passed[0] for other in passed):
        raise Undecided("the verdict depends on the samples")
    return passed[0], reports[0]


def _fallen(bench: Bench, before: list[bool], change: Change) -> tuple[list[int], Report] | None:
    """The requirements that hold of the answer and not of the changed one; None if all or none."""
    # Most have their verdict after one; it is asked again only where there is a question in it.
    once, _ = _verdicts(bench, change.source, SEEDS[:1])
    if once == before or not any(once):
        return None
    after, report = _verdicts(bench, change.source, SEEDS)
    risen = [n for n, holds in enumerate(after) if holds and not before[n]]
    fallen = [n for n, holds in enumerate(after) if before[n] and not holds]
    return (fallen, report) if fallen and not risen else None


def _looped(bench: Bench, change: Change) -> bool:
    return any(
        node.lineno <= change.first <= (node.end_lineno or 0)
        for node in ast.walk(bench.unit.tree)
        if isinstance(node, ast.While)
    )


def changed(bench: Bench, draw: random.Random) -> Iterator[Question]:
    """One operator, name, number or argument is changed: which requirements fall?"""
    before, _ = _verdicts(bench, bench.unit.text, SEEDS)
    if not any(before):
        return
    every = [c for c in bench.unit.changes() if c.now != "pass" and not _looped(bench, c)]
    draw.shuffle(every)
    # One sign for another is what can be said in one breath.
    every.sort(key=lambda change: not change.swaps)
    properties = bench.exercise.properties
    options = [n for n, holds in enumerate(before) if holds]
    for change in every[:MOST_CHANGES]:
        try:
            outcome = _fallen(bench, before, change)
        except Undecided:
            continue
        if outcome is None or len(options) < 2:
            continue
        fallen, report = outcome
        lines = f"the code on lines {change.first} to {change.last}"
        lines = f"line {change.first}" if change.first == change.last else lines
        reasons = "; ".join(f"{properties[n].name}: {report.rows[n].why}" for n in fallen)
        yield Question(
            "changed",
            bench.exercise.id,
            f"Suppose that {lines} is instead `{change.now}`. Which of these requirements,"
            " which your function meets as it is, would it no longer meet?",
            letters([options.index(n) for n in fallen]),
            reasons,
            [properties[n].says for n in options],
            facts={
                "first": change.first,
                "last": change.last,
                "now": change.now,
                "fallen": [properties[n].name for n in fallen],
                "kept": [properties[n].name for n in options if n not in fallen],
            },
        )


def _traced(bench: Bench, draw: random.Random) -> Iterator[tuple[Input, Trace]]:
    every = [*zip(inputs(bench.exercise.id), bench.traces, strict=True)]
    draw.shuffle(every)
    for one, (trace, *others) in every:
        observed = (trace.lines, trace.raised, trace.values)
        if trace.lines and all((o.lines, o.raised, o.values) == observed for o in others):
            yield one, trace


def _called(bench: Bench, one: Input) -> str:
    return f"Your `{bench.exercise.function}` is called with {one}."


def seen(bench: Bench, draw: random.Random) -> Iterator[Question]:
    """The shape, or the value, that a line gives."""
    questions: list[tuple[int, Question]] = []
    for one, trace in _traced(bench, draw):
        if trace.raised:
            continue
        times = Counter(trace.lines)
        for (line, name), form in trace.values.items():
            node = bench.unit.lines.get(line)
            if node is None or name == "_" or isinstance(getattr(node, "value", 0), ast.Constant):
                continue
            words = _said(form)
            if not words:
                continue
            what, answer = words
            first = " for the first time" if times[line] > 1 else ""
            given = f"`{name}` once line {line} has run"
            given = f"what line {line} returns" if name == "return" else given
            text = f"What is the {what} of {given}{first}?"
            easy = form[0] == "plain" or answer in map(str, one.shapes)
            facts = {"place": list(one.place), "line": line, "name": name, "form": form}
            question = Question(
                "seen", bench.exercise.id, f"{_called(bench, one)} {text}", answer, facts=facts
            )
            questions.append((easy, question))
    draw.shuffle(questions)
    yield from (question for _, question in sorted(questions, key=lambda pair: pair[0]))


def _said(form: Any) -> tuple[str, str] | None:
    kind, *rest = form
    if kind == "tensor":
        return "shape", str(tuple(rest[1]))
    if kind == "plain" and rest[0] not in ("None",) and "." not in rest[0]:
        return "value", rest[0]
    if kind == "several" and all(part[0] == "tensor" for part in rest[1]) and rest[1]:
        return "shape of each part", ", ".join(str(tuple(part[2])) for part in rest[1])
    return None


def ran(bench: Bench, draw: random.Random) -> Iterator[Question]:
    """Lines that run for an input, how often, or the one that raises."""
    own, asked = bench.unit.lines, sorted(bench.unit.conditional)
    tries = any(isinstance(node, ast.Try) for node in ast.walk(bench.unit.tree))
    for one, trace in _traced(bench, draw):
        times, last = Counter(trace.lines), trace.lines[-1]
        drafts: list[tuple[str, str, dict[str, Any]]] = []
        if trace.raised and not tries and last in own:
            drafts.append((f"It raises a {trace.raised}. On which line?", str(last), {}))
        if not trace.raised and len(asked) >= 2 and not all(times[line] for line in asked):
            answer = _listed([line for line in asked if times[line]]) or "none of them"
            drafts.append((f"Which of the lines {_listed(asked)} run?", answer, {"asked": asked}))
        for line in [] if trace.raised else asked:
            if 2 <= times[line] <= MOST_TIMES:
                text = f"How often does line {line} run?"
                drafts.append((text, str(times[line]), {"line": line}))
        if drafts:
            text, answer, facts = draw.choice(drafts)
            facts["place"] = list(one.place)
            yield Question(
                "ran", bench.exercise.id, f"{_called(bench, one)} {text}", answer, facts=facts
            )


def _listed(lines: list[int]) -> str:
    return ", ".join(map(str, lines))


# A sheet begins with one of each, in this order.
MAKERS: dict[str, Maker] = {"changed": changed, "seen": seen, "ran": ran}


def pool(bench: Bench, seed: str) -> tuple[list[Question], list[str]]:
    """A few questions of every kind on one answer, and why there are none of a kind."""
    questions: list[Question] = []
    refused = []
    for kind, maker in MAKERS.items():
        draw = random.Random(f"{seed}/{bench.exercise.id}/{kind}")
        try:
            questions += itertools.islice(maker(bench, draw), MOST_OF_A_KIND)
        except Undecided as why:
            refused.append(f"{bench.exercise.id}, {kind}: {why}")
    return questions, refused
