from course_lib.bank.prelude import Exercise, Tensor, Trial, math, torch


def _projections(
    t: Trial, d_model: int, d_memory: int, d_head: int, d_value: int
) -> tuple[Tensor, ...]:
    shapes = ((d_model, d_head), (d_memory, d_head), (d_memory, d_value), (d_value, d_model))
    return tuple(t.randn(*shape) * 1.5 / math.sqrt(shape[0]) for shape in shapes)


exercise = Exercise(
    id="block.cross_attention",
    points=6,
    minutes=20,
    difficulty=2,
    chapter="06_block.html#block-decoder",
    outcomes=("block.attentions",),
    forbidden=("attention",),
    returns=("the output", "weights"),
    example=lambda t: (t.randn(2, 4, 6), t.randn(2, 4, 6), *_projections(t, 6, 6, 6, 6)),
)


@exercise.prop(
    1.5, "Write beside each of the four products whether it is made from x or from the memory."
)
def values(t: Trial) -> None:
    """output and weights, target and memory alike in length and width"""
    t.same(t.randn(2, 5, 6), t.randn(2, 5, 6), *_projections(t, 6, 6, 6, 6))


@exercise.prop(1.5, "Six widths and lengths come in. Which of them is summed over in a score?")
def other_memory(t: Trial) -> None:
    """the memory may be longer, shorter and of another width than x"""
    d_head = t.integer(2, 3)
    t.same(t.randn(2, 3, 8), t.randn(2, 6, 5), *_projections(t, 8, 5, d_head, 4), note="longer")
    t.same(t.randn(2, 5, 4), t.randn(2, 2, 9), *_projections(t, 4, 9, 6, 3), note="shorter")


@exercise.prop(
    0.5, "Nothing of the source lies in the future of the target. Which step knows of an order?"
)
def shuffled_memory(t: Trial) -> None:
    """shuffling the memory leaves the output as it was, and moves the columns of the weights"""
    x, memory, w = t.randn(2, 5, 4), t.randn(2, 5, 4), _projections(t, 4, 4, 4, 4)
    t.usual(x, memory, *w)
    order = t.permutation(5)
    note = f"memory in the order {order.tolist()}"
    out, weights = _two(t, x, memory, *w)
    moved, moved_weights = _two(t, x, memory[:, order], *w)
    weights = t.a_tensor(weights, (2, 5, 5), "weights")
    t.close(moved, t.a_tensor(out, (2, 5, 4), "the output"), "the output", note=note)
    t.close(moved_weights, weights[:, :, order], "weights", note=note)
    t.expect(not torch.allclose(weights, weights[:, :, order]), "all keys get the same weight")


def _two(t: Trial, *args: object) -> tuple[Tensor, Tensor]:
    output, weights = t.values(t.call(*args))
    return output, weights


@exercise.prop(1, "Compare a sentence alone with the same sentence in a padded batch.")
def padding(t: Trial) -> None:
    """padding of the memory has weight 0 and leaves the other weights as without it"""
    # Against the answer's own weights of each sentence alone.
    x, memory, w = t.randn(3, 6, 4), t.randn(3, 6, 4), _projections(t, 4, 4, 4, 4)
    longer = torch.tensor([6, t.integer(2, 3), t.integer(4, 5)])
    for lengths in (longer, longer.flip(0)):
        weights = t.a_tensor(_two(t, x, memory, *w, lengths)[1], (3, 6, 6), "weights")
        for row, n in enumerate(lengths.tolist()):
            t.expect((weights[row, :, n:] == 0).all(), "padding still has weight")
            alone = _two(t, x[row : row + 1], memory[row : row + 1, :n], *w)[1]
            t.close(weights[row : row + 1, :, :n], alone, "weights of a padded sentence")
            t.expect((alone != 0).any(), "a sentence alone has no weight at all")


@exercise.prop(0.5, "A softmax over nothing is 0/0. What should it be, and where do you step in?")
def empty_memory(t: Trial) -> None:
    """an empty memory gives an output and weights of exactly 0"""
    x, memory, w = t.randn(2, 5, 4), t.randn(2, 5, 4), _projections(t, 4, 4, 4, 4)
    lengths = torch.tensor([0, t.integer(2, 4)])
    found = t.parts(t.call(x, memory, *w, lengths), "the output", "weights")
    for part, (value, what) in enumerate(zip(found, exercise.returns, strict=True)):
        is_what = "has NaN" if value[0].isnan().any() else "is not 0"
        t.expect((value[0] == 0).all(), f"{what} of the sentence without a memory {is_what}")
        t.close(value[1], t.parts(t.call(x[1:], memory[1:], *w, lengths[1:]))[part][0], what)


@exercise.prop(
    0.5, "Does anything take an exponential before the largest score has been subtracted?"
)
def large_scores(t: Trial) -> None:
    """scores of 65,536 and -65,536 do no harm: what is added to all keys changes no weight"""
    # Of whole numbers single precision computes such scores without rounding, and heads 16 wide
    # leave them whole or in quarters, also where the scale is shared between both factors.
    x, memory = (t.integers(-1, 1, 2, 4, 16).float() for _ in range(2))
    x[..., 0], memory[..., 0], one = torch.tensor([1.0, -1.0, 1.0, -1.0]), 1.0, torch.eye(16)
    # A common shift of all keys adds 65,536 to all scores of a query, or takes it away.
    apart, rest = one + 2**18 * one[:1] * one[:, :1], (one, one, one, torch.tensor([4, 2]))
    t.usual(x, memory, one, *rest)
    t.same(x, memory, apart, *rest, note="scores of 65,536 and -65,536")


@exercise.prop(0.25, "Is anything detached, converted to numpy, or computed under no_grad?")
def gradients(t: Trial) -> None:
    """gradients reach x, the memory and all four projections, finite beside an empty memory, too"""
    f64 = torch.float64
    w = [w.double() for w in _projections(t, 4, 4, 4, 4)]
    t.gradient(t.randn(1, 3, 4, dtype=f64), t.randn(1, 3, 4, dtype=f64), *w, output=0)
    # NaN that is overwritten on the way forward comes back with the gradients.
    x, memory = t.randn(2, 3, 4, dtype=f64), t.randn(2, 3, 4, dtype=f64)
    t.gradient(x, memory, *w, torch.tensor([3, 0]), output=0)


@exercise.prop(0.25, "Look for operations that end in an underscore, and for `/=` on an argument.")
def no_side_effect(t: Trial) -> None:
    """the arguments are left as they were"""
    w = _projections(t, 4, 4, 4, 4)
    t.unchanged(t.randn(2, 5, 4), t.randn(2, 5, 4), *w, torch.tensor([5, 3]))
