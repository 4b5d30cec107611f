from course_lib.bank.masks.break_padding import exercise
from course_lib.bank.prelude import Tensor, torch


@exercise.answer
def reference() -> tuple[Tensor, Tensor]:
    """Two sentences of two words, one of them padded."""
    return torch.zeros(2, 2, 2), torch.tensor([2, 1])


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


@exercise.mistake("Run `one_table` on your batch: what would its author have seen?")
def one_more_word():
    """A batch may have any number of sentences, whatever the number of words."""
    return torch.zeros(2, 3, 3), torch.tensor([3, 1])


@exercise.mistake("Which weight does a key with a score of -100 get if nothing hides it?")
def hidden_by_scores():
    """The score at a padded key doesn't matter for the test."""
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
