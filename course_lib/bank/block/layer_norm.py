from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="block.layer_norm",
    points=6,
    minutes=20,
    difficulty=2,
    chapter="06_block.html#block-norm",
    outcomes=("block.norms",),
    forbidden=("norm",),
    example=lambda t: (t.randn(2, 3, 4), t.randn(4), t.randn(4)),
)


@exercise.prop(1, "Compute mean and variance of one token of four channels by hand.")
def values(t: Trial) -> None:
    """each token normed over its channels, then scaled, then shifted"""
    t.same(3 * t.randn(2, 5, 8) + 1, t.randn(8), t.randn(8))
    # Whole numbers in another order, so that no variance is near epsilon.
    few = t.randn(3, 2, 4).argsort(-1) + 0.3 * t.randn(3, 2, 4)
    t.same(few - 4, t.randn(4), t.randn(4), note="few channels")


@exercise.prop(0.5, "Count axes from the end.")
def leading_axes(t: Trial) -> None:
    """one token alone, a sentence, or more leading axes"""
    x, scale, shift = t.randn(2, 2, 3, 8), t.randn(8), t.randn(8)
    whole = t.a_tensor(t.call(x, scale, shift), x.shape)
    t.expect((whole != x).any(), "nothing has been done")
    for part in ((0, 1, 2), (1, 0), (1,)):
        t.close(t.call(x[part], scale, shift), whole[part], f"x[{part}] alone")


@exercise.prop(1, "Norm a token of variance 1 with an epsilon of 3. By what is it divided?")
def epsilon(t: Trial) -> None:
    """epsilon is added to the variance, whatever its size"""
    # With the answer's own variance v, epsilon shrinks a token by the root of v / (v + eps).
    x, none = t.randn(3, 6), torch.zeros(6)

    def shrunk(eps: float) -> Tensor:
        size = t.a_tensor(t.call(x, none + 1, none, eps=eps), x.shape).double().square().sum(-1)
        return bare / size - 1

    bare = t.a_tensor(t.call(x, none + 1, none, eps=1e-12), x.shape).double().square().sum(-1)
    t.expect((bare > 0).all(), "all channels are 0")
    one, large = shrunk(1.0), float(t.integer(2, 5))
    t.expect((one > 1e-3).all(), "an epsilon of 1 changes nothing")
    t.close((shrunk(large) / one).float(), torch.full((3,), large), "what epsilon adds")
    few = 1e-3 * t.randn(3, 6)
    usual = t.call(few, none + 1, none)
    t.close(usual, t.call(few, none + 1, none, eps=1e-5), note="epsilon not given")
    t.expect((usual.abs() < 1).all(), "a token that hardly varies: epsilon has no say")


@exercise.prop(0.5, "What is its variance, and what does your program think it is?")
def constant(t: Trial) -> None:
    """a token whose channels are all equal comes out as the shift"""
    x = torch.full((2, 8), 0.25 * t.integer(300, 900))
    t.same(x, t.randn(8), t.randn(8), note=f"all channels {x[0, 0]:g}")


@exercise.prop(0.5, "Square 4096.25 in single precision. How many digits of the quarter are left?")
def large_mean(t: Trial) -> None:
    """a large mean does not drown the differences"""
    # Quarters around a power of 2: mean and differences are exact, so all good ways agree.
    x = 4096 + 0.25 * torch.tensor([[-3.0, 3, -2, 2, -1, 1, 0, 0]])[:, t.permutation(8)]
    scale, shift = t.randn(8), t.randn(8)
    near = t.a_tensor(t.call(x - 4096, scale, shift), x.shape)
    t.expect((near != near[:, :1]).any(), "all channels are equal")
    t.close(t.call(x, scale, shift), near, note="numbers around 4096, against those around 0")


@exercise.prop(
    0.5, "What is 300 squared in float16? When is the right moment to convert, and back?"
)
def half_precision(t: Trial) -> None:
    """half precision is computed in single"""
    large = (500 * t.randn(3, 8)).half(), t.randn(8).half(), t.randn(8).half()
    small = tuple(a.bfloat16() for a in (t.randn(3, 8), t.randn(8), t.randn(8)))
    for arguments, note in ((large, "float16, large"), (small, "bfloat16")):
        exact = t.a_tensor(t.call(*(a.float() for a in arguments)), (3, 8))
        t.expect((exact != 0).any(), "all channels are 0")
        t.close(t.call(*arguments), exact.to(arguments[0].dtype), note=f"{note}, against float32")


@exercise.prop(0.5, "Print the dtype of what you return. Convert back last.")
def dtype(t: Trial) -> None:
    """half precision comes out as half precision"""
    for kind in (torch.float16, torch.bfloat16):
        got = t.call(*(t.randn(*shape).to(kind) for shape in ((3, 8), (8,), (8,))))
        t.close(t.a_tensor(got, (3, 8)).dtype, kind, "the dtype")


@exercise.prop(0.5, "Over which axes is your mean taken?")
def neighbours(t: Trial) -> None:
    """a token does not notice when others are exchanged"""
    scale, shift = t.randn(6), t.randn(6)
    x = t.randn(3, 4, 6)
    other = 5 * t.randn(3, 4, 6)
    other[1, 2] = x[1, 2]
    first = t.a_tensor(t.call(x, scale, shift), (3, 4, 6))
    second = t.a_tensor(t.call(other, scale, shift), (3, 4, 6))
    t.close(second[1, 2], first[1, 2], "the token that stayed")
    t.expect(not torch.allclose(first[0], second[0]), "exchanged tokens came out as before")


@exercise.prop(
    0.5,
    "Mean and variance depend on x. Is either of them detached? And tokens that came in double"
    " precision: are they double in every line?",
)
def gradients(t: Trial) -> None:
    """tokens in double precision stay double all the way, and gradients reach the tokens, the scale
    and the shift
    """
    f64 = torch.float64
    # A mean of 1,000 leaves single precision three digits of the differences.
    x, (scale, shift) = t.randn(3, 6, dtype=f64), t.randn(2, 6, dtype=f64)
    far, near = t.call(x + 1000, scale, shift), t.call(x, scale, shift)
    t.close(far, near, note="double precision, 1,000 above", exact=True)
    t.close(t.a_tensor(far, x.shape).dtype, f64, "the dtype")
    t.gradient(t.randn(2, 5, dtype=f64), t.randn(5, dtype=f64), t.randn(5, dtype=f64))


@exercise.prop(0.5, "`x -= mean` changes the caller's tokens. What does `x - mean` do?")
def no_side_effect(t: Trial) -> None:
    """the arguments are left as they were"""
    t.unchanged(t.randn(2, 3, 4), t.randn(4), t.randn(4))
