"""A dtype is judged once, and only where the text names one: numbers are what answers are about."""

import re
from pathlib import Path

import pytest
import torch

from course_lib.bank.space.axial_rotate import exercise
from grader.authoring import answers
from grader.checks.answer_proxy import AnswerProxy
from grader.checks.exercise import find
from grader.checks.grading import grade_source
from grader.checks.trial import Trial, attempt

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


(KIND,) = (each for each in exercise.properties if each.run.__name__ == "kind")


def turning(frequencies, angle, cosine):
    """An answer with a dtype for each step."""

    def axial_rotate(x, rows, columns, n_prefix=0, base=100.0):
        half = x.shape[-1] // 2
        rates = (base ** -(torch.arange(0, half, 2, dtype=frequencies) / half)).to(angle)
        n = torch.arange(rows * columns)[:, None]
        angles = torch.cat([n // columns * rates, n % columns * rates], dim=-1)
        cos, sin = angles.cos().to(cosine), angles.sin().to(cosine)
        first, grid = x[..., :n_prefix, :], x[..., n_prefix:, :]
        a, b = grid[..., 0::2], grid[..., 1::2]
        turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
        return torch.cat([first, turned.to(x.dtype)], dim=-2)

    return axial_rotate


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    ("dtypes", "right"),
    [
        ((torch.float64, torch.float64, torch.float64), True),
        ((torch.float64, torch.float64, torch.float32), True),
        ((torch.float32, torch.float64, torch.float64), False),
        ((torch.float64, torch.float32, torch.float64), False),
        ((torch.float32, torch.float32, torch.float32), False),
    ],
)
def test_the_precision_of_angles_decides(dtypes, right, seed):
    proxy = AnswerProxy.local({"axial_rotate": turning(*dtypes)})
    why = attempt(KIND.run, Trial(exercise, proxy, seed))[1]
    assert (why is None) == right, why
    assert right or "float64, a row of" in why
