from course_lib.bank.prelude import Tensor, torch
from course_lib.bank.senses.break_recall import exercise


@exercise.answer
def reference() -> tuple[Tensor, list[int]]:
    """Two images with one caption and two; one caption finds its image, the others can't."""
    scores = torch.zeros(2, 3)
    scores[1, 1] = 1
    return scores, [1, 2]


@exercise.mistake("With your counts, which caption goes to a wrong image?")
def one_each():
    """One caption per image is enough for a test."""
    return torch.zeros(2, 2), [1, 1]


@exercise.mistake("Does any caption find an image in your scores, its own or another?")
def nothing_but_draws():
    """With other counts the wrong captions are counted, whatever the scores."""
    return torch.zeros(2, 3), [1, 2]


@exercise.mistake("Where are two of your scores equal?")
def clear_winners():
    """Scores are never equal, so a maximum is a winner."""
    return torch.tensor([[0.9, 0.2, 0.1], [0.1, 0.8, 0.7]]), [1, 2]


@exercise.mistake("To which images does `equal_counts` give three captions?")
def more_in_front():
    """It doesn't matter which of two images has more captions."""
    scores = torch.zeros(2, 3)
    scores[0, 1] = 1
    return scores, [2, 1]


@exercise.mistake("Give each image two captions, in order. What does `equal_counts` do with them?")
def two_each():
    """Several captions for each image are what confuses a diagonal."""
    scores = torch.zeros(2, 4)
    scores[0, 0] = 1
    return scores, [2, 2]


@exercise.mistake("Leave out an image, or a caption. When does a wrong function become right?")
def three_pictures():
    """A third image is needed for a draw."""
    scores = torch.zeros(3, 4)
    scores[0, 1] = scores[2, 3] = 1
    return scores, [1, 1, 2]


@exercise.mistake("Leave out images and captions. When does a wrong function become right?")
def four_pictures():
    """The test has to look like a batch."""
    scores = torch.eye(4).repeat_interleave(torch.tensor([1, 1, 2, 1]), dim=1)
    scores[:, 0] = 1
    return scores, [1, 1, 2, 1]


@exercise.alternative
def plain_lists():
    """Lists; a caption that would be found by the wrong image; prints to stderr."""
    import sys

    print("six scores", file=sys.stderr)
    return [[0.5, 0.7, 0.1], [0.5, 0.2, 0.6]], (1, 2)


@exercise.alternative
def three_by_two():
    """Three captions again, and counts as a tensor."""
    return torch.tensor([[0.2, 0.3, -0.4], [0.1, 0.4, -0.4]]), torch.tensor([1, 2])
