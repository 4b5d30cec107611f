"""Which mistake is this? Wrong answers without names for a tutor, and the score of its names."""

import random
import re
from pathlib import Path
from typing import NamedTuple

from course_lib.checks.exercise import Answer, Exercise, find, identifiers
from course_lib.errors import Refused

HEAD = re.compile(r"# (\d+) wrong answers, drawn with seed (-?\d+)")


class Score(NamedTuple):
    """How many names were right, wrong, none of the exercise's, or missing; what luck gives."""

    right: int
    wrong: int
    unknown: int
    missing: int
    chance: float


def drawn(count: int, seed: int) -> list[tuple[Exercise, Answer]]:
    """Wrong answers of the bank, no two alike."""
    if count < 1:
        raise Refused(f"--ask {count}: wanted at least 1")
    everything = [
        (exercise, mistake)
        for exercise in map(find, identifiers())
        for mistake in exercise.mistakes
        if mistake.source
    ]
    if count > len(everything):
        raise Refused(f"--ask {count}: there are {len(everything)} wrong answers with code")
    return random.Random(seed).sample(everything, count)


def questions(count: int, seed: int) -> str:
    """The text that a tutor gets."""
    parts = [
        f"# {count} wrong answers, drawn with seed {seed}\n\n"
        "Each has one known mistake. Answer with a line `number: name` for each, such as `1: "
        "unscaled`."
    ]
    for number, (exercise, mistake) in enumerate(drawn(count, seed), 1):
        names = ", ".join(sorted(one.name for one in exercise.mistakes))
        asked = "\n".join(f"- {prop.says}" for prop in exercise.properties)
        parts.append(
            f"## {number}. {exercise.id}\n\nWhat is asked for:\n{asked}\n\n"
            f"```python\n{mistake.source}\n```\n\nOne of: {names}"
        )
    return "\n\n".join(parts) + "\n"


def score(asked: Path, said: Path) -> tuple[Score, list[str]]:
    """The score of an answer to a file of questions, and a line for each question.

    Raises:
        Refused: The one is no file of questions, or a number is given twice or is none of theirs.
    """
    head = HEAD.match(asked.read_text(encoding="utf-8"))
    if head is None:
        raise Refused(f"{asked} does not begin as a file that `--ask` wrote")
    truth = drawn(int(head[1]), int(head[2]))
    given: dict[int, str] = {}
    for found in re.finditer(
        r"^[\s>*-]*(\d+)[.):*\s]*:?\s*[`*]*(\w+)[`*.]*\s*$", said.read_text(encoding="utf-8"), re.M
    ):
        number = int(found[1])
        if number in given or not 1 <= number <= len(truth):
            raise Refused(f"{said}: {number} is there twice, or is none of 1 to {len(truth)}")
        given[number] = found[2]
    counts, lines, chance = dict.fromkeys(("right", "wrong", "unknown", "missing"), 0), [], 0.0
    for number, (exercise, mistake) in enumerate(truth, 1):
        names = {one.name for one in exercise.mistakes}
        name = given.get(number, "")
        known = "wrong" if name in names else "unknown" if name else "missing"
        kind = "right" if name == mistake.name else known
        counts[kind] += 1
        chance += 1 / len(names)
        lines.append(f"{number}. {exercise.id}: {kind}, {name or '-'}; it is {mistake.name}")
    return Score(**counts, chance=chance), lines
