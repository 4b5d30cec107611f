from course_lib.bank.prelude import Exercise, Trial, torch

exercise = Exercise(
    id="informer.divergences",
    points=4,
    minutes=15,
    difficulty=2,
    chapter="17_informer.html#informer-measure",
    outcomes=("informer.measure",),
    example=lambda t: (t.randn(3, 5),),
    returns=("KL(U ‖ P)", "KL(P ‖ U)"),
)


@exercise.prop(1, "Every key has the same share 1/S in this sum. What comes after the share?")
def from_uniform(t: Trial) -> None:
    """KL(U ‖ P), the mean over the keys of ln U - ln P"""
    scores = 2 * t.randn(t.integer(2, 4), t.integer(5, 9))
    got = t.values(t.call(scores))
    t.close(got[0], t.want(scores)[0], "KL(U ‖ P)")


@exercise.prop(
    1, "For weights (1/2, 1/2, 0, 0) it is ln 2. Which share does a key have in this sum?"
)
def to_uniform(t: Trial) -> None:
    """KL(P ‖ U), the mean under the weights of ln P - ln U"""
    scores = 2 * t.randn(t.integer(2, 4), t.integer(5, 9))
    got = t.values(t.call(scores))
    t.close(got[1], t.want(scores)[1], "KL(P ‖ U)")


@exercise.prop(0.5, "What are the weights of three equal scores? And the logarithm of each?")
def uniform(t: Trial) -> None:
    """both are 0 for scores that are all alike, whatever their number"""
    # An answer that is 0 everywhere has said nothing.
    t.same(t.randn(4, t.integer(3, 6)))
    t.same(torch.full((2, t.integer(3, 40)), float(t.integer(-3, 3))), note="equal scores")
    t.same(t.randn(3, 1), note="a single key")


@exercise.prop(
    0.5, "A weight of exactly 0 has no logarithm. Which function gives the logarithm itself?"
)
def large(t: Trial) -> None:
    """scores in the ten thousands"""
    scores = 1e4 * t.randn(3, 6, dtype=torch.float64)
    # Two best keys in one row: its weights are no zeros and ones.
    scores[0, :2] = scores.max()
    t.usual(scores / 1e4)
    t.same(scores)


@exercise.prop(0.5, "Which axis has the keys? Count it from the end.")
def axes(t: Trial) -> None:
    """batches and heads before the keys, and gradients"""
    scores = t.randn(2, 3, 4, 5)
    many = t.parts(t.call(scores))
    alone = t.parts(t.call(scores[1, 2, 3]))
    for part, one, what in zip(many, alone, exercise.returns, strict=True):
        t.a_tensor(part, (2, 3, 4), what)
        t.close(part[1, 2, 3], one, what, note="the last query, compared to alone")
    t.gradient(t.randn(2, 4, dtype=torch.float64))


@exercise.prop(0.5, "Look for operations that end in an underscore.")
def no_side_effect(t: Trial) -> None:
    """the scores are left as they were"""
    t.unchanged(t.randn(3, 5))
