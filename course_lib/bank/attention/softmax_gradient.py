from course_lib.bank.prelude import Exercise, Trial, torch

exercise = Exercise(
    id="attention.softmax_gradient",
    points=4,
    minutes=15,
    difficulty=3,
    chapter="03_scale.html#attention-saturation",
    outcomes=("attention.saturation",),
    example=lambda t: (t.randn(2, 3, 5).softmax(-1), t.randn(2, 3, 5)),
    forbidden=("autograd",),
)


@exercise.prop(
    1.5,
    "Write the derivative of one weight with respect to one score, for the same key and for"
    " another one. Then apply the chain rule: a score is reached through every weight of its row.",
)
def values(t: Trial) -> None:
    """it is the gradient that torch finds"""
    scores = t.randn(4, 6, dtype=torch.float64).requires_grad_()
    grad_weights = t.randn(4, 6, dtype=torch.float64)
    weights = scores.softmax(-1)
    (want,) = torch.autograd.grad(weights, scores, grad_weights)
    t.close(t.call(weights.detach(), grad_weights), want)


@exercise.prop(1, "One softmax runs over the last axis alone: over which axes do you sum?")
def leading_axes(t: Trial) -> None:
    """one row, or any leading axes; every row for itself"""
    weights, grad = t.randn(2, 3, 4, 5).softmax(-1), t.randn(2, 3, 4, 5)
    together = t.a_tensor(t.call(weights, grad), weights.shape)
    t.expect((together != t.call(weights, -grad)).any(), "what comes in changes nothing")
    for row in ((0, 1, 2), (1, 2, 0), (1, 0), (0,)):
        t.close(t.call(weights[row], grad[row]), together[row], f"[{row}] alone")


@exercise.prop(0.5, "What do weights do if all scores rise alike?")
def row_sums(t: Trial) -> None:
    """a row sums to 0"""
    got = t.same(t.randn(5).softmax(-1), t.randn(5))
    t.expect(got.sum().abs() < 1e-5, "the row does not sum to 0")


@exercise.prop(0.25, "The weights of a row always sum to 1. Can all of them grow at once?")
def constant_gradient(t: Trial) -> None:
    """adding a constant to a row of the incoming gradient changes nothing"""
    weights, grad_weights = t.randn(5).softmax(-1), t.randn(5)
    before = t.a_tensor(t.call(weights, grad_weights), (5,))
    t.expect((before != t.call(weights, -grad_weights)).any(), "what comes in changes nothing")
    got = t.call(weights, grad_weights + 3 + t.randn(1).abs())
    t.close(got, before, "after adding a constant, the result")


@exercise.prop(0.25, "What is left of your formula where a weight is exactly 0, or exactly 1?")
def exact_zeros(t: Trial) -> None:
    """exactly 0 for a key without weight, for a row with one winner and for a row of zeros"""
    some = t.randn(6).masked_fill(~t.keep_mask(6, keep=0.7), -torch.inf).softmax(-1)
    some[0] = 0
    some = some + torch.tensor([0.0, 0, 0, 0, 0.5, 0.5])
    winner = torch.eye(6)[t.integer(0, 5)]
    for weights in (some / some.sum(), winner, torch.zeros(6)):
        got = t.a_tensor(t.call(weights, 1 + t.randn(6).abs()), (6,))
        t.expect((got[weights == 0] == 0).all(), "a key without weight still gets a gradient")
        if weights is winner:
            t.expect((got == 0).all(), "a winner that has all weight still gets a gradient")
        elif weights.any():
            t.expect(got.isfinite().all() and (got != 0).any(), "keys with weight have no gradient")


@exercise.prop(0.5, "Does a tensor of another dtype join in? And is an argument changed in place?")
def half_and_no_side_effect(t: Trial) -> None:
    """half precision comes back as half precision; the arguments are left as they were"""
    weights, grad = t.randn(3, 4).softmax(-1).half(), t.randn(3, 4).half()
    exact = t.a_tensor(t.call(weights.float(), grad.float()), (3, 4))
    note = "half precision, against single precision"
    t.close(t.call(weights, grad), exact.half(), note=note, exact=True)
    t.unchanged(t.randn(3, 4).softmax(-1), t.randn(3, 4))
