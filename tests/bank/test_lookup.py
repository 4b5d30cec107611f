"""Training with an answer to the capstone tells attention from what is none."""

import pytest
import torch

from course_lib.bank.lookup import predict_words
from grader.checks.answer_proxy import AnswerProxy
from grader.checks.exercise import find, namespace
from grader.checks.trial import Trial, attempt
from grader.student.recording import reference_source

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
