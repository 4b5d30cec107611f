from fractions import Fraction

from course_lib.bank.prelude import math, torch
from course_lib.bank.seq2seq.card_size import exercise


@exercise.answer
def reference(vocab_size: int, n_words: int, d_model: int, levels: int) -> tuple[int, float]:
    """How long sentences may be, and what share of longer ones a state can tell apart at best."""
    states = levels**d_model
    longest, sentences = 0, vocab_size
    while sentences <= states:
        longest, sentences = longest + 1, sentences * vocab_size
    return longest, float(min(Fraction(1), Fraction(states, vocab_size**n_words)))


@exercise.mistake("How many *different* states are there, if a unit has that many levels?")
def state_holds_any_length(vocab_size, n_words, d_model, levels):
    """A state of real numbers holds sentences of any length."""
    return 10**9, 1.0


@exercise.mistake("With half as many states as sentences, is *every* sentence lost?")
def bottleneck_is_a_wall(vocab_size, n_words, d_model, levels):
    """Sentences that are too long for the state are all lost."""
    states, longest = levels**d_model, 0
    while vocab_size ** (longest + 1) <= states:
        longest += 1
    return longest, float(n_words <= longest)


@exercise.mistake("Two units with ten levels each: how many states are there, 20 or 100?")
def units_add_up(vocab_size, n_words, d_model, levels):
    """D units with k levels have D times k states."""
    states, longest = levels * d_model, 0
    while vocab_size ** (longest + 1) <= states:
        longest += 1
    return longest, min(1.0, states / vocab_size**n_words)


@exercise.mistake("Does it matter for your answer how many different words there are?")
def a_unit_for_a_word(vocab_size, n_words, d_model, levels):
    """Each unit holds one word."""
    return d_model, min(1.0, d_model / n_words)


@exercise.mistake("Sentences one word longer: how many times as many are there?")
def share_of_the_words(vocab_size, n_words, d_model, levels):
    """If half of the words fit, half of the sentences come out right."""
    states, longest = levels**d_model, 0
    while vocab_size ** (longest + 1) <= states:
        longest += 1
    return longest, min(1.0, longest / n_words)


@exercise.mistake("Three words: list all sentences of two by hand. Are there six of them?")
def bags_of_words(vocab_size, n_words, d_model, levels):
    """A longer sentence adds as many possibilities as there are words."""
    states = levels**d_model
    return states // vocab_size, min(1.0, states / (vocab_size * n_words))


@exercise.mistake(
    "The decoder is asked about sentences of exactly n words. Must those of n - 1 words have"
    " states beside them? Try two words and one unit with two levels."
)
def all_up_to_a_length(vocab_size, n_words, d_model, levels):
    """All sentences of up to n words need states of their own at the same time."""
    states, longest, sentences = levels**d_model, 0, vocab_size
    while sentences <= states:
        longest += 1
        sentences += vocab_size ** (longest + 1)
    return longest, 1.0 if n_words <= longest else min(1.0, states / vocab_size**n_words)


@exercise.mistake("Try ten words and one unit with a thousand levels.")
def rounded_logarithms(vocab_size, n_words, d_model, levels):
    """A quotient of logarithms is exact enough to round down."""
    longest = math.floor(d_model * math.log(levels) / math.log(vocab_size))
    bits = d_model * math.log(levels) - n_words * math.log(vocab_size)
    return longest, min(1.0, math.exp(min(bits, 0.0)))


@exercise.alternative
def divided_away(vocab_size, n_words, d_model, levels):
    """Divides the states by the words until nothing is left, and warns."""
    import warnings

    warnings.warn("large numbers ahead", stacklevel=1)
    states, longest = levels**d_model, -1
    left = states
    while left:
        left, longest = left // vocab_size, longest + 1
    most = vocab_size**n_words
    return longest, 1.0 if states >= most else states / most


@exercise.alternative
def corrected_logarithm(vocab_size, n_words, d_model, levels):
    """Guesses by logarithms and corrects the guess by whole numbers."""
    states = levels**d_model
    guess = round(d_model * math.log2(levels) / math.log2(vocab_size))
    while guess and vocab_size**guess > states:
        guess -= 1
    log_share = d_model * math.log(levels) - n_words * math.log(vocab_size)
    return guess, torch.tensor(log_share, dtype=torch.float64).clamp(max=0).exp().item()
