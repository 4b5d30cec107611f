"""A dtype is judged once, and only where the text names one: numbers are what answers are about."""

import re
from pathlib import Path

import pytest

from grader.authoring import answers
from grader.checks.exercise import find
from grader.checks.grading import grade_source

MODELS = answers(Path(__file__).parents[2])
CAST = """

_right = {function}


def _cast(value):
    if isinstance(value, Tensor):
        return {cast}
    if isinstance(value, dict):
        return {{key: _cast(item) for key, item in value.items()}}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_cast, value))
    return value


def {function}(*args, **kwargs):
    return _cast(_right(*args, **kwargs))
"""
CASTS = {
    "double": "value.double() if value.is_floating_point() else value",
    "narrow": "value.to(torch.int32) if value.dtype == torch.int64 else value",
    "real": "value.double() if value.dtype == torch.int64 else value",
    "numbers": "value.long() if value.dtype == torch.bool else value",
}
# What a text may say of the dtype of what is returned, or a requirement of it.
NAMES_ONE = re.compile(r"dtype|float\d\d|int64|[Bb]oolean|half|any precision|stay whole")
# Their dtype is what is asked for: a mask of whole numbers means something else than one of truths.
CONVENTIONS = {("masks.convert_mask", "numbers")}
# These outgrow 32 bits: another number, not another dtype.
LONG = {("seq2seq.gate_reach", "narrow")}


@pytest.mark.sample
@pytest.mark.parametrize("identifier", MODELS)
def test_right_numbers_in_another_dtype_cost_half_a_point_at_most(identifier, section):
    exercise, model = find(identifier), MODELS[identifier]
    for name, cast in CASTS.items():
        if (identifier, name) in CONVENTIONS | LONG:
            continue
        source = CAST.format(function=exercise.function, cast=cast)
        report = grade_source(exercise, f"{model.before}\n\n{model.source}{source}", "07")
        failed = [row for row in report.rows if not row.passed]
        lost = sum(row.points for row in failed)
        assert lost <= 0.5, (name, failed)
        if lost:
            assert NAMES_ONE.search(section(identifier) + failed[0].says), name
