"""Exercise ``seq2seq.card_size``."""

import math
from fractions import Fraction
from typing import Any

import torch

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(vocab_size: int, n_words: int, d_model: int, levels: int) -> tuple[int, float]:
    """How long sentences may be, and what share of longer ones a state can tell apart at best."""
    states = levels**d_model
    longest, sentences = 0, vocab_size
    while sentences <= states:
        longest, sentences = longest + 1, sentences * vocab_size
    return longest, float(min(Fraction(1), Fraction(states, vocab_size**n_words)))


exercise = Exercise(
    id="seq2seq.card_size",
    function="card_size",
    reference=reference,
    points=3,
    minutes=15,
    difficulty=2,
    chapter="01_seq2seq.html#seq2seq-memory",
    outcomes=("seq2seq.capacity",),
    returns=("the longest length", "the share"),
    example=lambda t: (8, 3, 4, 4),
)


def _two(t: Trial, *args: int) -> list[Any]:
    return t.values(t.call(*args))


def _longest(t: Trial, vocab_size: int, d_model: int, levels: int) -> None:
    want = reference(vocab_size, 1, d_model, levels)[0]
    got = _two(t, vocab_size, 1, d_model, levels)[0]
    note = f"{vocab_size} words, {d_model} units with {levels} levels"
    t.close(got, want, "the longest length", note=note)


@exercise.prop(
    "the largest length n such that all sentences of n words can have states of their own",
    points=1,
    hint="How many different states are there? And how many different sentences of exactly two"
    " words? Shorter sentences need no room beside those of length n.",
)
def longest(t: Trial) -> None:
    for _ in range(3):
        _longest(t, t.integer(20, 99), t.integer(9, 40), t.integer(3, 9))
    # Of two words the shorter sentences are together as many as those of length n, all but two,
    # so whoever gives them states as well is one word short at any number of units.
    _longest(t, 2, t.integer(9, 40), 3)


@exercise.prop(
    "sentences that fit exactly, however large the numbers are",
    points=0.5,
    hint="`math.log(1000) / math.log(10)`: what is it, and what should it be?",
)
def exact_fit(t: Trial) -> None:
    _longest(t, 10, t.integer(1, 4), 1000)
    _longest(t, 5, t.integer(1, 4), 125)
    _longest(t, 2**10, 10 * t.integer(3, 20), 2**16)


@exercise.prop(
    "a state that is too small for two different words",
    points=0.5,
    hint="Is there a length that always fits?",
)
def too_small(t: Trial) -> None:
    _longest(t, t.integer(10, 90), 1, 8)


@exercise.prop(
    "the best share of right sentences of one length, when they don't fit any more",
    points=1,
    hint="A hundred sentences and ten states: how many can be told apart?",
)
def share(t: Trial) -> None:
    for args in (
        (t.integer(5, 9), 4, 3, 4),
        (t.integer(10, 20), t.integer(2, 3), 6, 2),
        (t.integer(3, 9), 2, 20, 3),
        (1000, t.integer(1, 9), 128, 2**16),
        (7, 5, 10, 3),
    ):
        got, want = _two(t, *args)[1], reference(*args)[1]
        t.close(got, want, "the share", note=f"card_size{args}")


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


@exercise.mistake("Sentences one word longer: how many times more of them are there?")
def share_of_the_words(vocab_size, n_words, d_model, levels):
    """If half of the words fit, half of the sentences come out right."""
    states, longest = levels**d_model, 0
    while vocab_size ** (longest + 1) <= states:
        longest += 1
    return longest, min(1.0, longest / n_words)


@exercise.mistake("Is the order of the words part of a sentence? Count those of two words by hand.")
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
    """A quotient of logarithms is exact enough to be cut off."""
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
