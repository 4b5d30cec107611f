from course_lib.bank.prelude import Exercise, Trial, torch

exercise = Exercise(
    id="lookup.luong_general",
    points=3,
    minutes=10,
    difficulty=1,
    chapter="02_weights.html#lookup-luong",
    outcomes=("lookup.scores",),
    example=lambda t: (t.randn(1, 1, 7), t.randn(1, 3, 7), t.randn(7, 7)),
)


@exercise.prop(1, "Write the score of one query and one key as a sum over two indices, in order.")
def values(t: Trial) -> None:
    """score (b, t, j) is s_t W_a h_j, for state t of the decoder and state j of the encoder"""
    t.same(t.randn(2, 3, 5), t.randn(2, 3, 5), t.randn(5, 5))


@exercise.prop(0.5, "W_a is (d_query, d_key). Which side of it fits the query?")
def widths(t: Trial) -> None:
    """queries and keys may differ in number and in width"""
    wide = t.integer(5, 7)
    t.same(t.randn(2, 3, 4), t.randn(2, 6, wide), t.randn(4, wide))
    t.same(t.randn(3, 1, wide), t.randn(3, 2, 1), t.randn(wide, 1), note="keys of width 1")


@exercise.prop(0.5, "Does anything in your function bend or normalise? Weights come a step later.")
def linear(t: Trial) -> None:
    """a score is linear in the query: twice the query, twice the score"""
    query, keys, weight = t.randn(2, 3, 4), t.randn(2, 5, 4), t.randn(4, 4)
    once = t.a_tensor(t.call(query, keys, weight), (2, 3, 5))
    t.close(t.call(3 * query, keys, weight), 3 * once, "the score of three times the query")
    t.expect((once.abs() > 0.1).any(), "all scores are nearly 0")


@exercise.prop(0.5, "Is anything detached, converted to numpy, or computed under no_grad?")
def gradients(t: Trial) -> None:
    """gradients reach query, keys and W_a"""
    f64 = torch.float64
    t.gradient(t.randn(1, 2, 3, dtype=f64), t.randn(1, 4, 3, dtype=f64), t.randn(3, 3, dtype=f64))


@exercise.prop(0.5, "Does a new tensor, or a conversion, bring another dtype in?")
def half(t: Trial) -> None:
    """half precision stays half precision"""
    bf16 = torch.bfloat16
    args = t.randn(1, 2, 4, dtype=bf16), t.randn(1, 3, 4, dtype=bf16), t.randn(4, 4, dtype=bf16)
    got = t.a_tensor(t.call(*args), (1, 2, 3))
    t.expect(got.dtype == bf16, f"the result has dtype {got.dtype}, expected {bf16}")
    exact = t.a_tensor(t.call(*(a.double() for a in args)), (1, 2, 3))
    # Rounding depends on the order of the sums, but is bounded by the sizes of their terms.
    size = t.want(*(a.double().abs() for a in args)).clamp(min=1)
    t.expect(((got - exact).abs() <= 0.05 * size).all(), "the result is further off than rounding")
    t.expect((got != 0).any(), "all scores are 0")
