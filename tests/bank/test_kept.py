"""Answers that keep an earlier mask or result, or a table of all that is recorded, lose points."""

import copy

import pytest
from torch import Tensor

from grader.checks.answer_proxy import AnswerProxy
from grader.checks.exercise import find
from grader.checks.grading import grade, grade_source, quiet
from grader.checks.protocol import pack
from grader.checks.recorded import SEEDS
from grader.checks.seeds import sample_seed
from grader.checks.trial import Trial

from .test_bad_input import MODELS

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

KEEPS_RESULTS = """

_right, _kept = {function}, {{}}


def {function}(*args, **kwargs):
    given = [*args, *kwargs.values()]
    key = str([(v.shape, v.dtype) if isinstance(v, Tensor) else type(v) for v in given])
    if key not in _kept:
        _kept[key] = _right(*args, **kwargs)
    return _kept[key]
"""


def example(identifier):
    exercise = find(identifier)
    trial = Trial(exercise, AnswerProxy.local({}), sample_seed("0", identifier, "example"))
    return [a for a in exercise.example(trial) if isinstance(a, Tensor)]


@pytest.mark.sample("lookup.attend_padded", "lookup.predict_words")
@pytest.mark.parametrize("identifier", list(MODELS))
def test_a_mask_of_an_earlier_call_is_not_the_mask_of_this_one(identifier):
    if all(tensor.is_floating_point() for tensor in example(identifier)):
        pytest.skip("no masks, lengths or indices")
    assert loses(identifier, KEEPS)


@pytest.mark.sample("start.pair_scores")
@pytest.mark.parametrize("identifier", list(MODELS))
def test_the_result_of_an_earlier_call_is_not_that_of_this_one(identifier):
    if not any(tensor.is_floating_point() for tensor in example(identifier)):
        pytest.skip("its arguments are no numbers that are drawn")
    assert loses(identifier, KEEPS_RESULTS)


def loses(identifier, keeps):
    exercise, model = find(identifier), MODELS[identifier]
    source = keeps.format(function=exercise.function)
    report = grade_source(exercise, f"{model.before}\n\n{model.source}{source}", "07")
    return report.score < report.max_points


# Their arguments are a few whole numbers, or what follows from them.
IDS = """masks.causal_mask masks.pack_documents masks.window_mask senses.joint_mask
space.grid_positions swin.corner_block swin.relative_index swin.shift_mask""".split()
FRESH = ("a", "b", "c", "d")


@pytest.mark.parametrize("identifier", IDS)
def test_a_table_of_all_that_is_recorded_earns_few_points(identifier):
    exercise, table = find(identifier), {}

    def place(args, kwargs):
        return pack({"args": args, "kwargs": kwargs})

    def asked(*args, **kwargs):
        value = exercise.reference(*args, **kwargs)
        table[place(args, kwargs)] = copy.deepcopy(value)
        return value

    def looked_up(*args, **kwargs):
        return copy.deepcopy(table[place(args, kwargs)])

    def points(answer, seed):
        with quiet():
            return grade(exercise, AnswerProxy.local({exercise.function: answer}), seed).score

    assert {points(asked, seed) for seed in SEEDS} == {exercise.points}
    earned = [points(looked_up, seed) for seed in FRESH]
    assert sum(earned) <= len(FRESH) * exercise.points / 3, earned
