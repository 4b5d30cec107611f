"""Exercise ``masks.break_padding``."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.bank.inputs import counterexample, numbers, tells_apart, whole_numbers
from course_lib.checks.trial import Trial, Wrong


def sentence_by_sentence(scores, lengths):
    """Weights (B, T, T) over the first lengths[b] keys of each sentence b. This one is right."""
    weights = torch.zeros_like(scores)
    for b, n in enumerate(lengths.tolist()):
        weights[b, :, :n] = scores[b, :, :n].softmax(-1)
    return weights


def one_length(scores, lengths):
    """Wrong."""
    keep = torch.arange(scores.shape[-1]) < lengths[0]
    return scores.masked_fill(~keep, -math.inf).softmax(-1)


def one_table(scores, lengths):
    """Wrong."""
    keep = torch.arange(scores.shape[-1]) < lengths[:, None]
    return scores.masked_fill(~keep, -math.inf).softmax(-1)


def reference() -> tuple[Tensor, Tensor]:
    """Two sentences of two words, one of them padded."""
    return torch.zeros(2, 2, 2), torch.tensor([2, 1])


def _input(t: Trial) -> tuple[Tensor, Tensor]:
    scores, lengths = t.values(t.call())
    scores = numbers(scores, 3, "scores")
    B, T, S = scores.shape
    if T != S:
        raise Wrong(f"scores has shape {(B, T, S)}: as many queries as keys are asked for")
    found = numbers(lengths, 1, "lengths")
    if len(found) != B:
        raise Wrong(f"lengths has {len(found)} numbers for {B} sentences")
    return scores, torch.tensor(whole_numbers(found, 1, T, "lengths", "a length"))


def _break(t: Trial, *wrong: Callable[..., Tensor], most: int | None = None) -> None:
    scores, lengths = _input(t)
    for function in wrong:
        tells_apart(t, sentence_by_sentence, function, scores, lengths)
    t.expect(most is None or scores.numel() <= most, f"there are {scores.numel()} scores")


exercise = counterexample(
    "masks.break_padding",
    _break,
    reference=reference,
    given=(sentence_by_sentence, one_length, one_table),
    returns=("scores", "lengths"),
    minutes=10,
    difficulty=2,
    chapter="05_masks.html#masks-heads",
    outcome="masks.axes",
    apart={
        "another length": (
            "`one_length` returns other weights",
            "Whose length does it use for all sentences? In which batch is that no mistake?",
        ),
        "another axis": (
            "`one_table` returns other weights, and doesn't raise",
            "`keep` is (B, T) and the scores are (B, T, T). Line the shapes up from the right:"
            " which axis of the scores does B meet? For which B can it?",
        ),
    },
    unit="scores",
    within={
        "small": (27, "Count all scores, B · T · T of them. Does your input need every sentence?"),
        "smallest": (
            8,
            "How many sentences do two lengths take, and how many words does a padded one?",
        ),
    },
)


@exercise.mistake("With one sentence, whose length do both functions use?")
def one_sentence():
    """A padded sentence on its own shows what is wrong with a mask."""
    return torch.zeros(1, 2, 2), torch.tensor([1])


@exercise.mistake("What do both functions hide in your batch?")
def nothing_padded():
    """Two sentences show what is wrong, whatever their lengths."""
    return torch.zeros(2, 2, 2), torch.tensor([2, 2])


@exercise.mistake("If all sentences are equally long, for which of them is the first length wrong?")
def both_padded():
    """It is enough that keys are hidden in every sentence."""
    return torch.zeros(2, 2, 2), torch.tensor([1, 1])


@exercise.mistake("Run the second function on your batch: what would its author have seen?")
def one_more_word():
    """A batch may have any number of sentences, whatever the number of words."""
    return torch.zeros(2, 3, 3), torch.tensor([3, 1])


@exercise.mistake("Which weight does a key with a score of -100 get if nothing hides it?")
def hidden_by_scores():
    """What stands at a padded key doesn't matter for the test."""
    return torch.tensor([[[0.0, -100], [0, -100]], [[0, -100], [0, -100]]]), torch.tensor([2, 1])


@exercise.mistake("Take out a sentence and a word. Are both functions still wrong?")
def three_sentences():
    """Three sentences of three lengths are the least that shows a mix-up."""
    return torch.zeros(3, 3, 3), torch.tensor([3, 2, 1])


@exercise.mistake("Take out sentences and words. When does a wrong function become right?")
def four_sentences():
    """A test needs a batch as it is met in training."""
    return torch.zeros(4, 4, 4), torch.tensor([4, 3, 2, 1])


@exercise.alternative
def random_scores():
    """Random scores, the padded sentence first."""
    return torch.randn(2, 2, 2, generator=torch.Generator().manual_seed(0)), torch.tensor([1, 2])


@exercise.alternative
def plain_lists():
    """Lists instead of tensors; prints to stderr."""
    import sys

    print("eight scores", file=sys.stderr)
    return [[[1, 2], [3, 4]], [[5, 6], [7, 8]]], [1, 2]
