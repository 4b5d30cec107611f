from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="attention.scaled_dot_product",
    function="scaled_dot_product_attention",
    points=6,
    minutes=20,
    difficulty=2,
    chapter="03_attention.html#attention-formula",
    outcomes=("attention.formula",),
    returns=("the output", "weights"),
    example=lambda t: (t.randn(2, 4, 8), t.randn(2, 4, 8), t.randn(2, 4, 8)),
    forbidden=("attention",),
    severe={"softmax_over_queries": "no row of weights sums to 1, with a mask or without"},
)


@exercise.prop(
    1.5, "Compute the two matrix products and the softmax by hand for one query and two keys."
)
def values(t: Trial) -> None:
    """output and weights follow softmax(q kᵀ / √d_head) v"""
    t.same(t.randn(2, 3, 5, 4), t.randn(2, 3, 5, 4), t.randn(2, 3, 5, 4))


@exercise.prop(
    1.5, "Write the shape of every product down: which axis is summed, which is normalised?"
)
def rectangular(t: Trial) -> None:
    """queries and keys may differ in number, values in width"""
    heads, width = t.integer(1, 3), t.integer(2, 5)
    t.same(
        t.randn(2, heads, 3, width), t.randn(2, heads, 7, width), t.randn(2, heads, 7, width + 6)
    )
    t.same(t.randn(4, width), t.randn(6, width), t.randn(6, 1), note="without batch and heads")


@exercise.prop(1.5, "What must a score be for its softmax to be exactly 0? When must it be so?")
def mask(t: Trial) -> None:
    """where the mask is False the weight is exactly 0 and each row still sums to 1"""
    # Against the answer's own weights without a mask: whether these are right is asked above.
    q, k, v = t.randn(2, 1, 4, 6), t.randn(2, 1, 5, 6), t.randn(2, 1, 5, 3)
    for shape in ((2, 1, 4, 5), (2, 1, 4, 5), (2, 1, 1, 5)):
        keep = t.keep_mask(*shape)
        _, weights = t.parts(t.call(q, k, v, keep), "the output", "weights")
        _, unmasked = t.parts(t.call(q, k, v), "the output", "weights")
        t.a_tensor(weights, (2, 1, 4, 5), "weights")
        hidden = ~keep.expand_as(weights)
        t.expect((weights[hidden] == 0).all(), "a masked key still has weight")
        t.close(weights.sum(-1), torch.ones(2, 1, 4), "the sum of a row")
        left = t.a_tensor(unmasked, (2, 1, 4, 5), "weights without a mask") * keep
        t.close(weights, left / left.sum(-1, keepdim=True), "weights of the keys that are left")
    keep = t.keep_mask(2, 1, 4, 5)
    out, weights = t.parts(t.call(q, k, v, keep), "the output", "weights")
    t.close(out, weights @ v, "the output")


def _weighted(t: Trial, shape: tuple[int, ...], *arguments: Tensor) -> list[Tensor]:
    """The output and weights: a number for every query and key, none below 0 and not all 0."""
    found = t.parts(t.call(*arguments), "the output", "weights")
    weights = t.a_tensor(found[1], shape, "weights")
    t.expect((weights >= 0).all() and (weights > 0).any(), "a weight is negative or all are 0")
    return found


@exercise.prop(0.5, "Is the largest score subtracted before exp, as torch's own softmax does?")
def large_scores(t: Trial) -> None:
    """very large scores do no harm, whichever key leads, with a mask as without"""
    # Of whole numbers single precision computes such scores without rounding, and a width of 16
    # leaves them whole or in quarters, also where the scale is shared between both factors.
    q, k = (t.integers(-1, 1, 1, 3, 16).float() for _ in range(2))
    # As far below 0 in one row as above it in another: each has a largest score of its own.
    q[0, 0], q[0, 1], v = 1.0, -1.0, t.randn(1, 3, 4)
    mask = t.keep_mask(1, 3, 3)
    mask[0, 1] = torch.arange(3) != t.integer(0, 2)
    for keep in ((), (mask,)):
        t.usual(q, k, v, *keep)
        # A common shift of all keys adds the same to all scores of a query: the weights stay.
        t.same(q, k + 2**16, v, *keep, note="scores of 260,000")


@exercise.prop(0.5, "Which numbers fit into float16? Its largest is 65504: is a product larger?")
def half_precision(t: Trial) -> None:
    """half precision works, mask and all, with large entries, too, and stays half precision"""
    q, k, v = (t.randn(2, 3, 4, dtype=torch.float16) for _ in range(3))
    # Two of three keys for every query: a mask that is read the other way round leaves one.
    keep = ~torch.eye(3).bool().roll(t.integer(0, 2), 0).expand(2, 3, 3)
    _weighted(t, (2, 3, 3), q, k, v)
    found = t.parts(t.call(q, k, v, keep), "the output", "weights")
    exact = t.parts(t.call(q.float(), k.float(), v.float(), keep), "the output", "weights")
    for got, want, what in zip(found, exact, exercise.returns, strict=True):
        t.close(got, want.half(), what, note="against single precision", exact=True)
    # Products of 102,400 and scores of 12,800.
    q = 40 * torch.tensor([[1.0], [-1.0]], dtype=torch.float16).expand(2, 64)
    t.usual(q.float() / 40, q.float() / 40, v[0, :2].float())
    t.same(q, q, v[0, :2], note="width 64, entries of 40 and -40")


@exercise.prop(0.25, "Is anything detached, converted to numpy, or computed under no_grad?")
def gradients(t: Trial) -> None:
    """gradients reach q, k and v"""
    f64 = torch.float64
    t.gradient(
        t.randn(1, 3, 4, dtype=f64), t.randn(1, 5, 4, dtype=f64), t.randn(1, 5, 2, dtype=f64)
    )


@exercise.prop(0.25, "Look for operations that end in an underscore, and for `/=` on an argument.")
def no_side_effect(t: Trial) -> None:
    """the arguments are left as they were"""
    q, k, v = t.randn(2, 3, 4), t.randn(2, 3, 4), t.randn(2, 3, 4)
    t.unchanged(q, k, v, t.keep_mask(2, 3, 3))
