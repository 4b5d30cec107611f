"""Known mistakes of an answer: the same results as one of them, or as two at once."""

import difflib
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise

from grader.checks.mutants import plain

# Of each property a mistake's own verdict, None where there is none, and whether what the answer
# returned to it is what the mistake returned.
Seen = Sequence[tuple[bool | None, bool]]
# Between the names of two mistakes, each of which is a name in Python.
AND = "+"


def explained(verdicts: Sequence[bool | None], known: Mapping[str, Seen]) -> tuple[str, ...]:
    """The mistake that explains the verdicts on an answer, or the two that do; else nothing.

    ``known`` holds all mistakes by their names, and some pairs of them by both. What two are to
    explain came to the same as both in one answer; or each fails something that the other leaves
    alone, and there the answer returned what that one returns.
    """
    fits = [
        name
        for name, seen in known.items()
        if all(
            None in (verdict, own) or (verdict == own and same)
            for verdict, (own, same) in zip(verdicts, seen, strict=False)
        )
    ]
    single = [name for name in known if AND not in name]
    alone = [name for name in fits if AND not in name]
    composed = [
        name
        for name in fits
        if AND in name and covers(verdicts, *(known[part] for part in name.split(AND)))
    ]
    apart = [
        AND.join(pair)
        for pair in combinations(single, 2)
        if together(verdicts, *(known[name] for name in pair))
    ]
    names = alone or composed or apart
    return tuple(names[0].split(AND)) if len(names) == 1 else ()


def together(verdicts: Sequence[bool | None], one: Seen, other: Seen) -> bool:
    """True if an answer fails what either fails, and returns what the one that fails returned."""
    shown = set()
    for verdict, (first, as_first), (second, as_second) in zip(verdicts, one, other, strict=False):
        if None in (verdict, first, second):
            continue
        if verdict != (first and second):
            return False
        if first != second:
            if not (as_second if first else as_first):
                return False
            shown.add(first)
    return len(shown) == 2


def covers(verdicts: Sequence[bool | None], *seen: Seen) -> bool:
    """Tell whether an answer fails whatever any of the mistakes fails."""
    pairs = (pair for one in seen for pair in zip(verdicts, one, strict=False))
    return not any(verdict and own is False for verdict, (own, _) in pairs)


def merged(source: str, one: str, other: str) -> str | None:
    """An answer with the changes of two others; None where those cannot stand together."""
    lines, first, second = (plain(text).splitlines() for text in (source, one, other))
    # Annotations of the signature are nobody's change: banks leave them out.
    lines[0] = first[0]
    changes: dict[tuple[int, int], list[str]] = {}
    for new in (first, second):
        matcher = difflib.SequenceMatcher(None, lines, new, autojunk=False)
        for tag, start, end, low, high in matcher.get_opcodes():
            if tag != "equal" and changes.setdefault((start, end), new[low:high]) != new[low:high]:
                return None
    places = sorted(changes)
    if any(after[0] < before[1] for before, after in pairwise(places)):
        return None
    for start, end in reversed(places):
        lines[start:end] = changes[start, end]
    return "\n".join(lines) if lines not in (first, second) else None
