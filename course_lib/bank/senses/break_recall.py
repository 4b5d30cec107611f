"""Exercise ``senses.break_recall``."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.bank.inputs import counterexample, numbers, tells_apart, whole_numbers
from course_lib.checks.trial import Trial, Wrong


def recall(scores, counts):
    """Share of the captions whose own picture beats all others. This one is right.

    The captions of picture 0 come first, counts[0] of them, then those of picture 1, and so on.
    """
    own = [picture for picture, count in enumerate(counts) for _ in range(count)]
    found = 0
    for caption, picture in enumerate(own):
        others = [s for i, s in enumerate(scores[:, caption].tolist()) if i != picture]
        found += all(scores[picture, caption] > s for s in others)
    return found / len(own)


def equal_counts(scores, counts):
    """Wrong."""
    captions = scores.shape[1]
    shared = [caption * len(counts) // captions for caption in range(captions)]
    return recall(scores, [shared.count(picture) for picture in range(len(counts))])


def best_score(scores, counts):
    """Wrong."""
    own = [picture for picture, count in enumerate(counts) for _ in range(count)]
    found = [scores[p, c] == scores[:, c].max() for c, p in enumerate(own)]
    return sum(map(int, found)) / len(own)


def reference() -> tuple[Tensor, list[int]]:
    """Two pictures with one caption and two; one caption finds its picture, the others can't."""
    scores = torch.zeros(2, 3)
    scores[1, 1] = 1
    return scores, [1, 2]


def _input(t: Trial) -> tuple[Tensor, list[int]]:
    scores, counts = t.values(t.call())
    scores, found = numbers(scores, 2, "scores"), numbers(counts, 1, "counts")
    counts = whole_numbers(found, 1, scores.shape[1], "counts", "a count")
    if scores.shape != (len(counts), sum(counts)):
        wanted = f"{len(counts)} pictures with {sum(counts)} captions"
        raise Wrong(f"scores has shape {tuple(scores.shape)}, but counts are of {wanted}")
    t.expect(scores.abs().max() <= 1, "scores has a number that is no cosine")
    return scores, counts


def _break(t: Trial, *wrong: Callable[..., float], most: int | None = None) -> None:
    scores, counts = _input(t)
    for function in wrong:
        tells_apart(t, recall, function, scores, counts)
    t.expect(most is None or scores.numel() <= most, f"there are {scores.numel()} scores")


exercise = counterexample(
    "senses.break_recall",
    _break,
    reference=reference,
    given=(recall, equal_counts, best_score),
    returns=("scores", "counts"),
    minutes=15,
    difficulty=2,
    chapter="19_senses.html#senses-matches",
    outcome="senses.matches",
    apart={
        "unequal": (
            "`equal_counts` gives another share",
            "Which captions does it give to the wrong picture? At least one of them has to find"
            " its own, or to be found by a wrong one.",
        ),
        "draws": (
            "`best_score` gives another share",
            "Whose score is a maximum without beating anything?",
        ),
    },
    unit="scores",
    within={
        "small": (12, "Count pictures times captions. Which of them does neither function need?"),
        "smallest": (6, "How many captions do two pictures have at least, if not equally many?"),
    },
)


@exercise.mistake("With your counts, which caption goes to a wrong picture?")
def one_each():
    """One caption a picture is enough for a test."""
    return torch.zeros(2, 2), [1, 1]


@exercise.mistake("Does any caption find a picture in your scores, its own or another?")
def nothing_but_draws():
    """With other counts the wrong captions are counted, whatever the scores."""
    return torch.zeros(2, 3), [1, 2]


@exercise.mistake("Where are two of your scores equal?")
def clear_winners():
    """Scores are never equal, so a maximum is a winner."""
    return torch.tensor([[0.9, 0.2, 0.1], [0.1, 0.8, 0.7]]), [1, 2]


@exercise.mistake("To which pictures does the first function give three captions?")
def more_in_front():
    """It doesn't matter which of two pictures has more captions."""
    scores = torch.zeros(2, 3)
    scores[0, 1] = 1
    return scores, [2, 1]


@exercise.mistake(
    "Give each picture two captions, in order. What does the first function do with them?"
)
def two_each():
    """Several captions for each picture are what confuses a diagonal."""
    scores = torch.zeros(2, 4)
    scores[0, 0] = 1
    return scores, [2, 2]


@exercise.mistake("Leave out a picture, or a caption. When does a wrong function become right?")
def three_pictures():
    """A third picture is needed for a draw."""
    scores = torch.zeros(3, 4)
    scores[0, 1] = scores[2, 3] = 1
    return scores, [1, 1, 2]


@exercise.mistake("Leave out pictures and captions. When does a wrong function become right?")
def four_pictures():
    """The test has to look like a batch."""
    scores = torch.eye(4).repeat_interleave(torch.tensor([1, 1, 2, 1]), dim=1)
    scores[:, 0] = 1
    return scores, [1, 1, 2, 1]


@exercise.alternative
def plain_lists():
    """Lists; a caption that would be found by the wrong picture; prints to stderr."""
    import sys

    print("six scores", file=sys.stderr)
    return [[0.5, 0.7, 0.1], [0.5, 0.2, 0.6]], (1, 2)


@exercise.alternative
def three_by_two():
    """Three captions again, and counts as a tensor."""
    return torch.tensor([[0.2, 0.3, -0.4], [0.1, 0.4, -0.4]]), torch.tensor([1, 2])
