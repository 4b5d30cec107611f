from course_lib.bank.prelude import Exercise, Trial
from course_lib.bank.start import see

exercise = Exercise(
    id="start.loss_gradient",
    points=2,
    minutes=10,
    difficulty=2,
    chapter="00_tools.html#tools-autograd",
    outcomes=("start.gradients",),
    example=lambda t: (t.randn(4), t.randn(6, 4), t.randn(6)),
    forbidden=("autograd",),
)


@exercise.prop(1, see("autograd", "Move a weight a little, up and down: how does the loss change?"))
def values(t: Trial) -> None:
    """the gradient of the mean squared error"""
    S = t.integer(2, 4)
    t.same(t.randn(S), t.randn(S + 3, S), t.randn(S + 3))
    t.same(t.randn(5), t.randn(3, 5), t.randn(3), note="more weights than examples")


@exercise.prop(0.5, see("shapes", "Which axis is summed when there is only one example?"))
def single(t: Trial) -> None:
    """a single example, and a single weight"""
    t.same(t.randn(3), t.randn(1, 3), t.randn(1))
    B = t.integer(3, 6)
    t.same(t.randn(1), t.randn(B, 1), t.randn(B))


@exercise.prop(
    0.5, see("autograd", "If every prediction is right, what is the loss, and can it fall?")
)
def at_the_best(t: Trial) -> None:
    """at the best weights the gradient is 0, and away from them it is not"""
    w, x = t.randn(3), t.randn(8, 3)
    best, away = (t.a_tensor(t.call(v, x, x @ w), (3,)) for v in (w, w + 1))
    t.expect(best.abs().max() < 1e-4, "at the best weights the gradient is not 0")
    t.expect(away.abs().max() > 1e-3, "away from them it is 0, too")
