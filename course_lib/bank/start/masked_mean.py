from course_lib.bank.prelude import Exercise, Trial, math, torch
from course_lib.bank.start import see

exercise = Exercise(
    id="start.masked_mean",
    points=3,
    minutes=10,
    difficulty=2,
    chapter="00_start.html#start-check",
    outcomes=("start.broadcasting",),
    example=lambda t: (t.randn(3, 4, 3), t.keep_mask(3, 4)),
)


@exercise.prop(
    1,
    see(
        "broadcasting",
        "By which count is each sentence's sum divided? Does the count have an axis to line up?",
    ),
)
def values(t: Trial) -> None:
    """each sentence's average over the words that count"""
    mask = torch.tensor([[1, 0, 0, 0, 0], [1, 1, 1, 0, 0], [1, 1, 0, 1, 1]]).bool()
    t.same(t.randn(3, 5, 3), mask, note="B = D")
    t.same(t.randn(3, 5, t.integer(4, 6)), mask)


@exercise.prop(
    1,
    see(
        "logsumexp",
        "0 divided by 0 is not a number, and a number is what was asked for."
        " What would be a safe divisor?",
    ),
)
def empty(t: Trial) -> None:
    """a sentence without words that count has the average 0"""
    t.same(t.randn(2, 4, 3), torch.tensor([[False] * 4, [True, False, True, False]]))


@exercise.prop(1, see("logsumexp", "What is infinity times 0?"))
def anything_hidden(t: Trial) -> None:
    """what doesn't count may be anything, infinity too"""
    # As many words in one sentence as in the other: what each is divided by is asked above.
    x, mask = t.randn(2, 4, 3), t.randn(2, 4).argsort(-1) < t.integer(1, 3)
    t.same(x.masked_fill(~mask[..., None], math.inf), mask)
    t.same(x.masked_fill(~mask[..., None], math.nan), mask)
