from course_lib.bank.prelude import Exercise, Trial, math, torch
from course_lib.bank.start import see

exercise = Exercise(
    id="start.log_sum_exp",
    points=3,
    minutes=10,
    difficulty=2,
    chapter="00_tools.html#tools-logsumexp",
    outcomes=("start.logsumexp",),
    example=lambda t: (t.randn(3, 3),),
)


@exercise.prop(
    1, see("logsumexp", "Two scores of 0: what must come out? And over which axis is summed?")
)
def values(t: Trial) -> None:
    """the soft maximum of each row"""
    t.same(t.randn(3, t.integer(4, 7)))
    t.same(t.randn(2, 3, 4), note="three axes")


@exercise.prop(
    1, see("logsumexp", "What is the largest number whose exponential fits into a float?")
)
def large(t: Trial) -> None:
    """very large and very small scores do no harm"""
    t.same(1e3 * t.randn(4, 5))
    t.same(t.randn(3, 5) + torch.tensor([[-2000.0], [0.0], [2000.0]]), note="rows far apart")


@exercise.prop(0.5, see("logsumexp", "What is minus infinity minus minus infinity?"))
def nothing(t: Trial) -> None:
    """a row of minus infinity has the soft maximum minus infinity"""
    scores = t.randn(3, 4)
    scores[t.integer(0, 2)] = -math.inf
    t.same(scores)


@exercise.prop(0.5, see("autograd", "Is the record of what was done cut somewhere?"))
def gradients(t: Trial) -> None:
    """gradients are the softmax"""
    t.gradient(t.randn(2, 3, dtype=torch.float64))
