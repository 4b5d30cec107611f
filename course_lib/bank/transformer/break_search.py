"""Exercise ``transformer.break_search``."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.bank.inputs import counterexample, numbers
from course_lib.checks.trial import Trial, Wrong

LEAD = 0.01


def likeliest(first, then):
    """Two words whose product of probabilities is largest. This one tries all pairs."""
    return divmod(int((first[:, None] * then).argmax()), len(first))


def greedy(first, then):
    """The likeliest first word, and the word that is likeliest after it."""
    word = int(first.argmax())
    return word, int(then[word].argmax())


def beam_of_two(first, then):
    """The better of two sentences that begin with the two likeliest first words."""
    pairs = [(word, int(then[word].argmax())) for word in first.topk(2).indices.tolist()]
    return max(pairs, key=lambda pair: float(first[pair[0]] * then[pair]))


def reference() -> tuple[Tensor, Tensor]:
    """Three words, of which the last to begin with is the only one sure of what follows."""
    first = torch.tensor([0.4, 0.35, 0.25])
    then = torch.tensor([[0.4, 0.3, 0.3], [0.4, 0.3, 0.3], [1.0, 0.0, 0.0]])
    return first, then


def _chances(t: Trial) -> tuple[Tensor, Tensor]:
    first, then = t.values(t.call())
    first, then = numbers(first, 1, "first"), numbers(then, 2, "then")
    V = len(first)
    if V < 2 or then.shape != (V, V):
        raise Wrong(f"first is ({V},) and then {tuple(then.shape)}, not (V,) and (V, V), V > 1")
    for what, rows in (("first", first[None]), ("a row of then", then)):
        if (rows < 0).any():
            raise Wrong(f"{what} has a negative probability")
        if ((rows.sum(-1) - 1).abs() > 1e-3).any():
            raise Wrong(f"{what} doesn't sum to 1")
    return first, then


def _misses(t: Trial, *searches: Callable[..., tuple[int, int]], most: int | None = None) -> None:
    first, then = _chances(t)
    both = first[:, None] * then
    for search in searches:
        found = float(both[search(first, then)])
        lead = float(both.max()) - found
        said = f"`{search.__name__}` finds a sentence of {found:.4g}, the likeliest has"
        t.expect(lead >= LEAD, f"{said} {found + lead:.4g}")
    size = first.numel() + then.numel()
    t.expect(most is None or size <= most, f"there are {size} probabilities")


exercise = counterexample(
    "transformer.break_search",
    _misses,
    reference=reference,
    given=(likeliest, greedy, beam_of_two),
    returns=("first", "then"),
    minutes=15,
    difficulty=2,
    chapter="09_transformer.html#transformer-decoding",
    outcome="transformer.decode",
    apart={
        "greedy misses": (
            "`greedy` misses the likeliest sentence by 0.01 or more",
            "After which first word is one word nearly certain, and after which is everything"
            " open?",
        ),
        "beam misses": (
            "`beam_of_two` misses it, too",
            "Which first words does it keep? The likeliest sentence must begin with none of them.",
        ),
    },
    unit="probabilities",
    within={
        "small": (20, "A vocabulary of V words has V + V² probabilities."),
        "smallest": (12, "How many first words must there be so that a beam of two drops one?"),
    },
)


@exercise.mistake("How many first words does a beam of two drop, if there are two?")
def two_words():
    """What misleads a greedy search misleads a beam."""
    return torch.tensor([0.6, 0.4]), torch.tensor([[0.5, 0.5], [1.0, 0.0]])


@exercise.mistake("With which word does your likeliest sentence begin? Does the beam keep it?")
def second_best_word():
    """The likeliest sentence begins with the second word of a longer list."""
    first = torch.tensor([0.5, 0.4, 0.1])
    return first, torch.tensor([[0.4, 0.3, 0.3], [1.0, 0.0, 0.0], [0.4, 0.3, 0.3]])


@exercise.mistake("Multiply: is 0.6 times what follows really less than another product?")
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
