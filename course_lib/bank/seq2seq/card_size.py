from course_lib.bank.prelude import Exercise, Trial

exercise = Exercise(
    id="seq2seq.card_size",
    points=3,
    minutes=15,
    difficulty=2,
    chapter="01_seq2seq.html#seq2seq-memory",
    outcomes=("seq2seq.capacity",),
    returns=("the longest length", "the share"),
    example=lambda t: (8, 3, 4, 4),
)


def _longest(t: Trial, vocab_size: int, d_model: int, levels: int) -> None:
    want = exercise.reference(vocab_size, 1, d_model, levels)[0]
    got = t.values(t.call(vocab_size, 1, d_model, levels))[0]
    note = f"{vocab_size} words, {d_model} units with {levels} levels"
    t.close(got, want, "the longest length", note=note)


@exercise.prop(
    1,
    "How many different states are there? And how many different sentences of exactly two words?"
    " Shorter sentences need no room beside those of length n.",
)
def longest(t: Trial) -> None:
    """the largest length n such that all sentences of n words can have states of their own"""
    for _ in range(3):
        _longest(t, t.integer(20, 99), t.integer(9, 40), t.integer(3, 9))
    # Of two words the shorter sentences are together as many as those of length n, all but two,
    # so whoever gives them states as well is one word short at any number of units.
    _longest(t, 2, t.integer(9, 40), 3)


@exercise.prop(0.5, "`math.log(1000) / math.log(10)`: what is it, and what should it be?")
def exact_fit(t: Trial) -> None:
    """sentences that fit exactly, however large the numbers are"""
    _longest(t, 10, t.integer(1, 4), 1000)
    _longest(t, 5, t.integer(1, 4), 125)
    _longest(t, 2**10, 10 * t.integer(3, 20), 2**16)


@exercise.prop(0.5, "Is there a length that always fits?")
def too_small(t: Trial) -> None:
    """a state too small to tell all words apart"""
    _longest(t, t.integer(10, 90), 1, 8)


@exercise.prop(1, "A hundred sentences and ten states: how many can be told apart?")
def share(t: Trial) -> None:
    """the best share of right sentences of one length, whether they fit or not"""
    for args in (
        (t.integer(5, 9), 4, 3, 4),
        (t.integer(10, 20), t.integer(2, 3), 6, 2),
        (t.integer(3, 9), 2, 20, 3),
        (1000, t.integer(1, 9), 128, 2**16),
        (7, 5, 10, 3),
    ):
        got, want = t.values(t.call(*args))[1], exercise.reference(*args)[1]
        t.close(got, want, "the share", note=f"card_size{args}")
