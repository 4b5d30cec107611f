"""What the samples of a few seeds hold answers few of another seed: a table is no answer."""

import copy

import pytest

from grader.checks.answer_proxy import AnswerProxy
from grader.checks.exercise import find
from grader.checks.grading import grade, quiet
from grader.checks.protocol import pack
from grader.checks.recorded import SEEDS

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
