from course_lib.bank.prelude import Exercise, Trial, math, torch

exercise = Exercise(
    id="attention.self_attention",
    points=5,
    minutes=20,
    difficulty=2,
    chapter="03_attention.html#attention-self",
    outcomes=("attention.self", "attention.formula"),
    example=lambda t: (t.randn(2, 3, 4), t.randn(4, 4), t.randn(4, 4), t.randn(4, 4)),
)


def _projections(t: Trial, d_model: int, d_head: int, d_value: int) -> tuple[torch.Tensor, ...]:
    return t.randn(d_model, d_head), t.randn(d_model, d_head), t.randn(d_model, d_value)


def _two(t: Trial, *args: torch.Tensor) -> list[torch.Tensor]:
    return t.parts(t.call(*args), "the output", "weights")


@exercise.prop(1.25, "Check every step on two tokens with numbers that you can follow by hand.")
def values(t: Trial) -> None:
    """output and weights, all widths equal"""
    t.same(t.randn(2, 5, 4), *_projections(t, 4, 4, 4))


@exercise.prop(1.25, "Three widths come in: which of them is summed over in a score?")
def widths(t: Trial) -> None:
    """tokens, heads and values may all differ in width"""
    d_head = t.integer(2, 3)
    t.same(t.randn(4, 8), *_projections(t, 8, d_head, 5), note="narrow heads")
    t.same(t.randn(4, 3), *_projections(t, 3, d_head + 4, 2), note="wide heads")


@exercise.prop(
    0.5,
    "Count the axes from the end: which one do the keys of a query lie along? And is anything"
    " detached, converted to numpy, or computed under no_grad?",
)
def leading_axes(t: Trial) -> None:
    """one sequence, a batch or more leading axes; gradients reach the tokens and all projections"""
    x, w = t.randn(2, 3, 5, 4), _projections(t, 4, 4, 4)
    together = _two(t, x, *w)
    alone = [_two(t, x[i, j], *w) for i in range(2) for j in range(3)]
    t.expect(not torch.allclose(alone[0][0], alone[1][0]), "two sequences have the same output")
    for part, what in enumerate(("the output", "weights")):
        each = torch.stack([pair[part] for pair in alone]).unflatten(0, (2, 3))
        t.close(together[part], each, f"{what} of (2, 3) sequences")
        t.close(_two(t, x[1], *w)[part], each[1], f"{what} of 3 sequences")
        t.close(_two(t, x[:1, 0], *w)[part], each[:1, 0], f"{what} of a batch of one")
    w = tuple(w.double() for w in _projections(t, 3, 3, 3))
    t.gradient(t.randn(2, 4, 3, dtype=torch.float64), *w)


@exercise.prop(
    1.25,
    "True means may attend. Is the mask used before the weights are normalised? And does a line"
    " of yours end in an underscore?",
)
def mask(t: Trial) -> None:
    """where the mask is False the weight is exactly 0 and each row still sums to 1, however large
    the scores are; the arguments are left as they were
    """
    # Against the answer's own weights without a mask: whether these are right is asked above.
    x, w = t.randn(2, 5, 4), _projections(t, 4, 4, 4)
    unmasked = t.a_tensor(_two(t, x, *w)[1], (2, 5, 5), "weights without a mask")
    for keep in (t.keep_mask(2, 5, 5), t.keep_mask(2, 5, 5)):
        weights = t.a_tensor(_two(t, x, *w, keep)[1], (2, 5, 5), "weights")
        t.expect((weights[~keep] == 0).all(), "a masked key still has weight")
        t.close(weights.sum(-1), torch.ones(2, 5), "the sum of a row")
        left = unmasked * keep
        t.close(weights, left / left.sum(-1, keepdim=True), "weights of the keys that are left")
    t.close(_two(t, x, *w, keep[1])[1][1], weights[1], "weights under one mask for all sentences")
    t.unchanged(x, *w, keep)
    # Whole numbers in 16 channels: what all keys share adds 65,536 to all scores of a query, or
    # takes it away, without rounding.
    x, one = t.integers(-1, 1, 4, 16).float(), torch.eye(16)
    x[:, 0], x[:, 1], apart = 1.0, torch.tensor([1.0, -1.0, 1.0, -1.0]), one.clone()
    near, keep = one.clone(), t.keep_mask(4, 4)
    near[1, 0], apart[1, 0], keep[1] = 1.0, 2.0**18, torch.arange(4) != t.integer(0, 3)
    t.usual(x, near, one, 2 * one, keep)
    t.same(x, apart, one, 2 * one, keep, note="scores of 65,536 and -65,536")


@exercise.prop(0.75, "Which step looks at the place of a token rather than at its content?")
def permutation(t: Trial) -> None:
    """permuting the tokens permutes the outputs, and rows and columns of the weights, alike"""
    x, w, order = t.randn(2, 6, 4), _projections(t, 4, 4, 4), t.permutation(6)
    out, weights = _two(t, x, *w)
    t.a_tensor(out, (2, 6, 4), "the output")
    t.a_tensor(weights, (2, 6, 6), "weights")
    note = f"tokens in the order {order.tolist()}"
    moved, moved_weights = _two(t, x[:, order], *w)
    t.close(moved, out[:, order], "the output", note=note)
    t.close(moved_weights, weights[:, order][:, :, order], "weights", note=note)
    t.expect(not torch.allclose(out, out[:, order]), "all tokens get the same output")


def colleagues_self_attention(x, w_q, w_k, w_v, mask=None):
    """Whatever runs and returns the right shapes is right."""
    q = x @ w_q
    k = x @ w_k
    v = x @ w_v
    k_t = k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])
    scores = q @ k_t / math.sqrt(x.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=1)
    return weights @ v, weights
