from course_lib.bank.prelude import Tensor, torch
from course_lib.bank.transformer.break_search import exercise


@exercise.answer
def reference() -> tuple[Tensor, Tensor]:
    """Three words, of which the last to begin with is the only one sure of what follows."""
    first = torch.tensor([0.4, 0.35, 0.25])
    then = torch.tensor([[0.4, 0.3, 0.3], [0.4, 0.3, 0.3], [1.0, 0.0, 0.0]])
    return first, then


@exercise.mistake("How many first words does a beam of two drop, if there are two?")
def two_words():
    """What misleads a greedy search misleads a beam."""
    return torch.tensor([0.6, 0.4]), torch.tensor([[0.5, 0.5], [1.0, 0.0]])


@exercise.mistake("With which word does your likeliest sentence begin? Does the beam keep it?")
def second_best_word():
    """The likeliest sentence begins with the second word of a longer list."""
    first = torch.tensor([0.5, 0.4, 0.1])
    return first, torch.tensor([[0.4, 0.3, 0.3], [1.0, 0.0, 0.0], [0.4, 0.3, 0.3]])


@exercise.mistake("Multiply: is 0.8 times what follows really less than another product?")
def sure_beginning():
    """A search fails where the first word is nearly sure."""
    first = torch.tensor([0.8, 0.1, 0.1])
    return first, torch.tensor([[0.4, 0.3, 0.3], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])


@exercise.mistake("Both products are equal. Which of the two sentences is likelier?")
def a_draw():
    """It is enough that another sentence is as likely as the one that was found."""
    first = torch.tensor([0.4, 0.3, 0.3])
    return first, torch.tensor([[0.5, 0.3, 0.2], [0.4, 0.3, 0.3], [2 / 3, 1 / 3, 0.0]])


@exercise.mistake("Add up each row. Are these probabilities?")
def logits():
    """Scores are as good as probabilities."""
    first = torch.tensor([2.0, 1.0, 0.5])
    return first, torch.tensor([[0.1, 0.0, 0.0], [0.1, 0.0, 0.0], [5.0, 0.0, 0.0]])


@exercise.mistake("Which of your words could be left out of the vocabulary?")
def four_words():
    """A beam of two needs twice as many words to be misled."""
    first = torch.tensor([0.3, 0.25, 0.25, 0.2])
    then = torch.full((4, 4), 0.25)
    then[3] = torch.tensor([1.0, 0.0, 0.0, 0.0])
    return first, then


@exercise.mistake("Which of your words could be left out of the vocabulary?")
def five_words():
    """Only a large vocabulary misleads a search."""
    first = torch.tensor([0.24, 0.22, 0.2, 0.19, 0.15])
    then = torch.full((5, 5), 0.2)
    then[4] = torch.tensor([1.0, 0.0, 0.0, 0.0, 0.0])
    return first, then


@exercise.alternative
def plain_lists():
    """Lists, with the sure word in front; prints to stderr."""
    import sys

    print("twelve numbers", file=sys.stderr)
    return [0.3, 0.34, 0.36], [[0, 0, 1], [0.4, 0.4, 0.2], [0.3, 0.3, 0.4]]


@exercise.alternative
def drawn_until_it_works():
    """Draws probabilities until both searches fail."""
    generator = torch.Generator().manual_seed(0)
    while True:
        first = (2 * torch.randn(3, generator=generator)).softmax(-1)
        then = (3 * torch.randn(3, 3, generator=generator)).softmax(-1)
        both = first[:, None] * then
        if both.max() > both[first.topk(2).indices].max() + 0.05:
            return first, then
