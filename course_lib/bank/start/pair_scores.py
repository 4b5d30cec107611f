from course_lib.bank.prelude import Exercise, Trial, torch
from course_lib.bank.start import see

exercise = Exercise(
    id="start.pair_scores",
    points=2,
    minutes=10,
    difficulty=1,
    chapter="00_tools.html#tools-shapes",
    outcomes=("start.shapes", "start.broadcasting"),
    # All lengths alike, so that every wrong way fits, too.
    example=lambda t: (t.randn(3, 3, 3), t.randn(3, 3, 3), t.randn(3, 3)),
)


@exercise.prop(
    0.5, see("shapes", "Which axis is summed, and which of k's axes has to be last but one?")
)
def products(t: Trial) -> None:
    """products of every query with every key of its own sentence"""
    D = t.integer(2, 5)
    for _ in range(2):
        t.same(t.randn(2, 4, D), t.randn(2, 7, D), torch.zeros(2, 7))


@exercise.prop(1, see("broadcasting", "Shapes line up at the right. Under which axis is B?"))
def bias(t: Trial) -> None:
    """the bias is added to its key, for all queries of its sentence"""
    T = t.integer(3, 5)
    t.same(t.randn(T, T, 2), t.randn(T, T, 2), t.randn(T, T), note="B = T = S")
    t.same(t.randn(2, T, 3), t.randn(2, T + 2, 3), t.randn(2, T + 2))


@exercise.prop(0.5, see("shapes", "Look for operations that end in an underscore, and for `+=`."))
def no_side_effect(t: Trial) -> None:
    """the arguments are left as they were"""
    t.unchanged(t.randn(2, 3, 4), t.randn(2, 5, 4), t.randn(2, 5))
