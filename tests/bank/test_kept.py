"""No call of an answer may remember the masks, lengths or indices of an earlier one."""

from pathlib import Path

import pytest
from torch import Tensor

from course_lib.checks.answer_proxy import AnswerProxy
from course_lib.checks.exercise import find
from course_lib.checks.report import grade_source
from course_lib.checks.seeds import sample_seed
from course_lib.checks.trial import Trial
from course_lib.grading.authoring import answers

MODELS = answers(Path(__file__).parents[2])
# What comes first with its shapes is taken for all that comes later.
KEEPS = """

_right, _kept = {function}, {{}}


def _shape(value):
    if isinstance(value, (list, tuple)):
        return tuple(map(_shape, value))
    return (value.dtype, value.shape) if isinstance(value, Tensor) else value


def _first(value, first):
    return first if isinstance(value, Tensor) and not value.is_floating_point() else value


def {function}(*args):
    return _right(*map(_first, args, _kept.setdefault(_shape(args), args)))
"""


def discrete(identifier):
    """Whether whole numbers or truths come as tensors in the visible example."""
    exercise = find(identifier)
    trial = Trial(exercise, AnswerProxy.local({}), sample_seed("0", identifier, "example"))
    example = exercise.example(trial)
    return any(isinstance(a, Tensor) and not a.is_floating_point() for a in example)


@pytest.mark.sample("lookup.attend_padded", "lookup.predict_words")
@pytest.mark.parametrize("identifier", list(MODELS))
def test_a_mask_of_an_earlier_call_is_not_the_mask_of_this_one(identifier):
    if not discrete(identifier):
        pytest.skip("no masks, lengths or indices")
    exercise, model = find(identifier), MODELS[identifier]
    source = KEEPS.format(function=exercise.function)
    report = grade_source(exercise, f"{model.before}\n\n{model.source}{source}", "07")
    assert report.score < report.max_points
