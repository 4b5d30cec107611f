"""Recognition of mistakes by the reports on the bank's own wrong answers."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import combinations

from tqdm import tqdm

from grader.checks.compare import alike
from grader.checks.exercise import Answer, Exercise, source_as
from grader.checks.grading import BEFORE_IT_SHOWS, grade_source
from grader.checks.naming import AND, Seen, covers, explained, merged, together
from grader.checks.report import Report


def recognise(
    exercise: Exercise, report: Report, seed: str, *, progress: bool = False
) -> tuple[Answer, ...]:
    """The banked mistake with this fingerprint, if exactly one has it, or the two that make it."""
    verdicts, returned = report.outcomes()
    if exercise.records is not None:
        known: dict[str, Seen] = {**exercise.records.seen(seed, returned)}
    else:
        known = {
            mistake.name: [(own, False) for own in banked.outcomes()[0]]
            for mistake, banked in bank_reports(exercise, progress=progress)
        }
        # Every hand-in has a seed of its own. Most mistakes are told by their verdicts, which
        # hardly depend on it; so few of them are graded once more.
        for name in list(_near(exercise, verdicts, known)):
            owns, theirs = _banked(exercise, name, seed).outcomes()
            known[name] = list(zip(owns, map(alike, returned, theirs), strict=False))
    names = explained(verdicts, known)
    return tuple(mistake for mistake in exercise.mistakes if mistake.name in names)


def _near(
    exercise: Exercise, verdicts: Sequence[bool | None], known: Mapping[str, Seen]
) -> Iterator[str]:
    assumed = {name: [(own, True) for own, _ in seen] for name, seen in known.items()}
    pairs = [p for p in combinations(known, 2) if together(verdicts, *(assumed[n] for n in p))]
    for name, seen in known.items():
        judged = ((own, v) for (own, _), v in zip(seen, verdicts, strict=False))
        unlike = sum(own != v for own, v in judged if None not in (own, v))
        if unlike <= 1 or any(name in pair for pair in pairs):
            yield name
    for pair in composed(exercise):
        if covers(verdicts, *(known[name] for name in pair.split(AND))):
            yield pair


@cache
def composed(exercise: Exercise) -> Mapping[str, str]:
    """Two mistakes of an exercise in one answer, by both names, where their code allows it."""
    pairs = {}
    for one, other in combinations(exercise.mistakes, 2):
        # The common steps of the two may be written as in any other answer.
        bases = [a.source for a in (*exercise.alternatives, *exercise.mistakes)]
        bases.append(source_as(exercise.reference, exercise.function))
        sources = (merged(base, one.source, other.source) for base in bases)
        both = next(filter(None, sources), None)
        # Two loops with an end each may have none together.
        if both and "while" not in both:
            pairs[f"{one.name}{AND}{other.name}"] = both
    return pairs


def bank_reports(
    exercise: Exercise, seed: str = "0" * 32, *, progress: bool = False
) -> tuple[tuple[Answer, Report], ...]:
    """Every banked mistake of an exercise, graded with this seed in this process."""
    bar = partial(tqdm, leave=False, delay=BEFORE_IT_SHOWS, disable=not progress, file=sys.stdout)
    mistakes = bar(exercise.mistakes, "known mistakes compared")
    return tuple((m, _banked(exercise, m.name, seed)) for m in mistakes)


@lru_cache(maxsize=256)
def _banked(exercise: Exercise, mistake: str, seed: str) -> Report:
    single = {m.name: m.source for m in exercise.mistakes}
    sources = composed(exercise) if AND in mistake else single
    return grade_source(exercise, sources[mistake], seed)
