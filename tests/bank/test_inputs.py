"""Exercises that ask for an input, and the training that tells attention from what is none."""

import pytest
import torch

from course_lib.bank.inputs import MOST, numbers, tells_apart, whole
from course_lib.bank.lookup import predict_words
from course_tests.grader.checks.matrix import reference_source
from grader.checks.answer_proxy import AnswerProxy
from grader.checks.exercise import find, identifiers, namespace
from grader.checks.grading import grade_source
from grader.checks.trial import Trial, Wrong, attempt

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


EXERCISE = find("lookup.predict_words")
BROKEN = {
    "equal": "(0 * scores).masked_fill(padding, -torch.inf).softmax(-1)",
    "last state": "F.one_hot(lengths - 1, 8).float()[:, None].expand_as(scores)",
    "no mask": "scores.softmax(-1)",
    "no softmax": "scores.masked_fill(padding, 0.0)",
    "each weight alone": "scores.sigmoid().masked_fill(padding, 0.0)",
    "over queries": "scores.softmax(1).masked_fill(padding, 0.0)",
    "no gradient": "scores.masked_fill(padding, -torch.inf).softmax(-1).detach()",
}
ANSWER = """
def predict_words(hidden, states, lengths, w_a, w_c, w_out):
    padding = torch.arange(states.shape[1]) >= lengths[:, None, None]
    scores = hidden @ w_a @ states.mT
    weights = {}
    readout = torch.cat([weights @ states, hidden], -1) @ w_c.T
    return readout.tanh() @ w_out.T, weights
"""


def reached(source, seed=0):
    """Why the last requirement does not hold; None when it does."""
    trial = Trial(EXERCISE, AnswerProxy.local(namespace(EXERCISE, source)), seed)
    return attempt(predict_words.reach, trial)[1]


@pytest.mark.parametrize("weights", BROKEN.values(), ids=BROKEN)
def test_what_is_no_attention_stays_far_above_the_loss(weights, monkeypatch):
    monkeypatch.setattr(predict_words, "LOSS", 1.2 * predict_words.LOSS)
    said = f"after {predict_words.STEPS} steps the loss is"
    assert reached(ANSWER.format(weights)).startswith(said)


@pytest.mark.parametrize("seed", range(3))
def test_attention_comes_far_below_the_loss(seed, monkeypatch):
    monkeypatch.setattr(predict_words, "LOSS", predict_words.LOSS / 4)
    assert reached(reference_source(EXERCISE), seed) is None


def test_an_answer_that_raises_or_returns_something_else_is_told_so():
    assert reached("").startswith("raised NameError: `predict_words` is not defined")
    said = reached("def predict_words(*args): return args[0]")
    assert said.startswith("the result is a float32 tensor of shape (24, 4, 3), expected 2 tensors")


def test_padding_of_the_small_task_repeats_places_of_its_sentence():
    trial = Trial(find("lookup.predict_words"), AnswerProxy.local({}), 0)
    hidden, states, lengths, wanted = predict_words._sentences(trial, 50, 2)
    for asked, keys, n, word in zip(hidden, states, lengths.tolist(), wanted, strict=True):
        places = torch.cdist(asked[:, :2], keys[:, :2]) < 1e-5
        # The place is there once among the words, and what is wanted stands there.
        assert places[:, :n].sum(1).tolist() == [1, 1]
        found = keys[places[:, :n].int().argmax(1), 2:].argmax(1)
        assert (word % predict_words.WORDS).equal(found)
    assert lengths.min() >= 3 and lengths.max() < states.shape[1]
