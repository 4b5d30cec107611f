from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="vit.accumulated_step",
    points=5,
    minutes=20,
    difficulty=2,
    chapter="12_training.html#vit-memory",
    outcomes=("vit.train",),
    example=lambda t: (t.randn(3, 2), [t.randn(3, 2), t.randn(3, 2)], [2, 2], 0.1),
)


def _step(t: Trial, sizes: list[int]) -> tuple[Tensor, list[Tensor], list[int]]:
    """A weight and gradients whose mean is long."""
    common = 2 * t.randn(4, 3)
    return t.randn(4, 3), [common + t.randn(4, 3) for _ in sizes], sizes


@exercise.prop(0.5, "In which direction is a step of gradient descent, and how long is it?")
def one_piece(t: Trial) -> None:
    """a single piece: a step against its gradient, shortened to clip_norm"""
    t.same(*_step(t, [6]), 0.5)
    t.same(*_step(t, [6]), 0.25, 1.0, note="clipped")
    t.same(*_step(t, [6]), 0.25, 0.0, note="clipped to nothing")


@exercise.prop(
    1, "Each piece's gradient is a mean over its images. What is the mean over all of them?"
)
def equal_pieces(t: Trial) -> None:
    """pieces of one size: the step of the whole batch"""
    n = t.integer(3, 5)
    t.same(*_step(t, [4] * n), 0.5)


@exercise.prop(
    1, "The last piece of a batch is often smaller. Do its images count more than the others'?"
)
def unequal_pieces(t: Trial) -> None:
    """pieces of different sizes: every image counts alike"""
    t.same(*_step(t, [8, 8, t.integer(1, 3)]), 0.5)
    t.same(*_step(t, [t.integer(1, 3), 9]), 0.25)


@exercise.prop(1, "The norm meant is that of the gradient which the step takes.")
def clipped(t: Trial) -> None:
    """a gradient that is longer than clip_norm is shortened to it, once and as a whole"""
    weight, (first, *_), _ = _step(t, [4])
    # Each piece is long and their mean is short: nothing is to be clipped.
    cancelling = [first, -first + 0.01 * t.randn(4, 3)], [4, 4]
    for pieces, sizes in (_step(t, [6])[1:], _step(t, [4, 4, 4])[1:], cancelling):
        step = (weight - t.a_tensor(t.call(weight, pieces, sizes, 0.5), weight.shape)) / 0.5
        t.expect(bool(step.any()), "the step goes nowhere")
        want = step * min(1.0, 1.0 / float(step.norm()))
        got = (weight - t.a_tensor(t.call(weight, pieces, sizes, 0.5, 1.0), weight.shape)) / 0.5
        note = f"{len(pieces)} pieces, compared to your step without clip_norm"
        t.expect((got - want).abs().max() < 1e-4, f"{note}: it is not that step with length 1")


@exercise.prop(0.5, "Clipping is a limit, not a length that all gradients get.")
def not_lengthened(t: Trial) -> None:
    """a shorter one keeps its length"""
    args = *_step(t, [4, 2]), 0.5
    free = t.a_tensor(t.call(*args), (4, 3))
    t.expect(not torch.equal(free, args[0]), "the step goes nowhere")
    t.close(t.call(*args, clip_norm=1000.0), free, note="clip_norm 1000, compared to none")
    t.same(t.randn(3), [torch.zeros(3), torch.zeros(3)], [2, 2], 0.5, clip_norm=1.0, note="zeros")


@exercise.prop(0.5, "Does `+=` on the first gradient change only your sum?")
def unharmed(t: Trial) -> None:
    """the weight and the gradients are left as they were"""
    weight, pieces, sizes = _step(t, [3, 5])
    t.unchanged(weight, pieces, sizes, 0.5, 1.0)


@exercise.prop(0.5, "What does `zip` do when one list is longer? And with `strict=True`?")
def matching(t: Trial) -> None:
    """a size too few or too many: a ValueError"""
    weight, pieces, sizes = _step(t, [4, 6, t.integer(2, 5)])
    t.raises(weight, pieces, sizes[:2], 0.5, why="three gradients and two sizes")
    t.raises(weight, pieces[:2], sizes, 0.5, why="two gradients and three sizes")
    got = t.a_tensor(t.call(weight, pieces, sizes, 0.5), weight.shape)
    t.expect(not torch.equal(got, weight), "the step goes nowhere")
