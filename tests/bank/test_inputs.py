"""What tasks ask of an input, and that only a value that comes back wrong counts."""

import pytest
import torch

from course_lib.bank.inputs import MOST, numbers, tells_apart, whole
from grader.checks.answer_proxy import AnswerProxy
from grader.checks.exercise import find, identifiers
from grader.checks.grading import grade_source
from grader.checks.trial import Trial, Wrong

BREAKS = [i for i in identifiers() if find(i).any_size]


@pytest.mark.parametrize("value", [[[1, 2]], ((1.0, 2.0),), torch.tensor([[1, 2]])])
def test_lists_and_tensors_are_the_same_numbers(value):
    assert torch.equal(numbers(value, 2, "it"), torch.tensor([[1, 2]], dtype=torch.float64))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([[1, 2], [3]], "rows of equally many numbers"),
        ([["a"]], "rows of equally many numbers"),
        (3, "it is an int, not a tensor"),
        ([1.0], "it has shape (1,), not 2 axes"),
        ([[]], "it has shape (1, 0)"),
        (torch.zeros(MOST + 1, 1), f"it has shape ({MOST + 1}, 1)"),
        ([[float("nan")]], "it holds NaN or infinity"),
    ],
)
def test_what_is_no_table_of_numbers_is_named(value, said):
    with pytest.raises(Wrong) as wrong:
        numbers(value, 2, "it")
    assert said in str(wrong.value)


def test_a_whole_number_lies_between_its_bounds():
    assert whole(torch.tensor(3), 1, 3, "it") == 3
    for value in (0, 4, 2.0, True, None):
        with pytest.raises(Wrong, match="it is "):
            whole(value, 1, 3, "it")


def test_a_function_that_raises_or_agrees_is_not_told_apart():
    trial = Trial(find(BREAKS[0]), AnswerProxy.local({}), 0)
    tells_apart(trial, abs, float, -1.0)
    with pytest.raises(Wrong, match="`float` returns on your input what `abs` returns"):
        tells_apart(trial, abs, float, 1.0)
    with pytest.raises(Wrong, match="`len` raises TypeError: .* returns a wrong value"):
        tells_apart(trial, abs, len, -1.0)


def test_every_part_of_the_book_has_a_task_that_asks_for_an_input():
    chapters = sorted(int(find(i).chapter[:2]) for i in BREAKS)
    parts = [range(1, 6), range(6, 11), range(11, 14), range(14, 17), range(17, 19), range(19, 20)]
    assert [sum(c in part for c in chapters) for part in parts] == [1] * 6


@pytest.mark.parametrize("identifier", BREAKS)
def test_a_smaller_input_earns_more(identifier):
    exercise = find(identifier)
    scores = {grade_source(exercise, m.source, "07").score for m in exercise.mistakes}
    assert {2.0, 2.5} < scores and max(scores) < exercise.points
