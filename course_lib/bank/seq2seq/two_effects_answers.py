from course_lib.bank.prelude import Tensor, torch
from course_lib.bank.seq2seq.two_effects import exercise


@exercise.answer
def reference(exact: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """How hard a word is at each length, and what would be right if none had become harder."""
    tokens = lengths + 1
    words = exact ** (1 / tokens)
    return words, words[lengths.argmin()] ** tokens


@exercise.mistake(
    "A sentence is right if *all* of its words are. How often is one word right then?"
)
def sentence_accuracy_is_word_accuracy(exact, lengths):
    """If 60 % of the sentences are right, 60 % of the words are."""
    return exact.clone(), exact[lengths.argmin()].expand_as(exact).clone()


@exercise.mistake("What must the translator write after the last word?")
def end_is_no_word(exact, lengths):
    """A sentence of n words has n chances to go wrong."""
    words = exact ** (1 / lengths)
    return words, words[lengths.argmin()] ** lengths


@exercise.mistake(
    "Half of the words wrong, in sentences of three: is the share of right ones -0.5?"
)
def errors_add_up(exact, lengths):
    """Each word adds its own probability of an error."""
    tokens = lengths + 1
    words = 1 - (1 - exact) / tokens
    return words, (1 - tokens * (1 - words[lengths.argmin()])).clamp(min=0)


@exercise.mistake("Shuffle the rows. Does the second result only change its order?")
def first_row_is_the_shortest(exact, lengths):
    """Curves begin with the shortest sentences."""
    words = exact ** (1 / (lengths + 1))
    return words, words[0] ** (lengths + 1)


@exercise.mistake("At which length can no word have become harder?")
def average_word(exact, lengths):
    """How easy a word is by itself is its average over all lengths."""
    words = exact ** (1 / (lengths + 1))
    return words, words.mean() ** (lengths + 1)


@exercise.mistake("Is one right word enough?")
def one_right_word(exact, lengths):
    """A sentence fails only if all its words fail."""
    tokens = lengths + 1
    words = 1 - (1 - exact) ** (1 / tokens)
    return words, 1 - (1 - words[lengths.argmin()]) ** tokens


@exercise.mistake("As a check, raise your words to the power of their number: are they `exact`?")
def divided(exact, lengths):
    """The share of a sentence is spread evenly over its words."""
    tokens = lengths + 1
    words = exact / tokens
    return words, words[lengths.argmin()] * tokens


@exercise.alternative
def by_logarithms(exact, lengths):
    """Logarithms of shares are proportional to the number of words."""
    per_word = exact.log() / (lengths + 1)
    shortest = per_word[lengths == lengths.min()][0]
    return per_word.exp(), torch.exp(shortest * (lengths + 1))


@exercise.alternative
def row_by_row(exact, lengths):
    """Plain Python numbers, and a warning."""
    import warnings

    warnings.warn("plain Python", stacklevel=1)
    rows = list(zip(exact.tolist(), lengths.tolist(), strict=True))
    words = [share ** (1.0 / (n + 1)) for share, n in rows]
    _, easiest = min((n, word) for (_, n), word in zip(rows, words, strict=True))
    return torch.tensor(words), torch.tensor([easiest ** (n + 1) for _, n in rows])
