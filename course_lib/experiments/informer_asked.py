"""Questions about the Informer's settings on ETTh1, and the form of all questions on series."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from course_lib.experiments.questions import Question, rows

MARGIN = 0.05
"""A tenth of what the report prints for its unchanged model, in either error."""


def compare(
    arm: str,
    other: str,
    sign: int,
    document: str,
    claim: str,
    fresh: Sequence[int] = (),
    attention: str = "prob",
    **more: Any,
) -> tuple[Question, Question]:
    """Ask for the squared and for the absolute error over all test windows.

    ``sign``: whether the claimed error is larger (1) or smaller (-1); ``attention``: which one the
    report names, nothing where it names none. Returns a question for each error; those about the
    absolute one are a family of their own.
    """
    if attention and "attention" not in more.get("differs", ""):
        more["named"] = {"attention": attention}
    squared = Question(
        f"{arm}/{other}",
        claim,
        document,
        arm,
        other,
        "mse",
        sign=sign,
        margin=MARGIN,
        items="mse",
        block=24,
        fresh=fresh,
        **more,
    )
    said = f"{claim.rstrip('.')}, by absolute error."
    return squared, replace(
        squared,
        key=f"{arm}/{other}, mae",
        claim=said,
        metric="mae",
        items="mae",
        family="absolute errors",
    )


def compare_table(table: str) -> Iterator[Question]:
    """The questions of a table by both errors."""
    for key, row in rows(table):
        arm, other = key.split("/")
        yield from compare(arm, other, **row)


def beats_last_value(arm: str, other: str) -> Question:
    """The control: a trained model against the last value."""
    claim = "An Informer beats the last value."
    return Question(
        f"{arm}/{other}", claim, "control", arm, other, "mse", sign=-1, differs="attention forecast"
    )


QUESTIONS = (*compare_table("informer_asked"), beats_last_value("vanilla", "repeat-last"))
