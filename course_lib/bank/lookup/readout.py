from course_lib.bank.prelude import Exercise, Trial, torch

exercise = Exercise(
    id="lookup.readout",
    function="luong_readout",
    points=3,
    minutes=12,
    difficulty=2,
    chapter="02_weights.html#lookup-luong",
    outcomes=("lookup.weights",),
    example=lambda t: (t.randn(2, 3, 4), t.randn(2, 3, 4), t.randn(8, 8)),
)


@exercise.prop(
    1, "Go through the formula from the inside: what is joined, what multiplies it, what bends?"
)
def values(t: Trial) -> None:
    """the readout follows tanh(W_c [c; s])"""
    t.same(t.randn(2, 3, 4), t.randn(2, 3, 4), 0.3 * t.randn(8, 8))


@exercise.prop(0.5, "W_c is (d_out, d_context + d_hidden), as nn.Linear stores it.")
def widths(t: Trial) -> None:
    """context, decoder state and result may all differ in width"""
    out = t.integer(5, 7)
    t.same(t.randn(2, 3, 2), t.randn(2, 3, 4), 0.3 * t.randn(out, 6))


@exercise.prop(0.5, "Which operation of the formula bounds the result, and what comes after it?")
def bounded(t: Trial) -> None:
    """every number stays between -1 and 1, however large the input"""
    t.same(1e4 * t.randn(1, 3, 3), 1e4 * t.randn(1, 3, 3), 5 * t.randn(6, 6))


@exercise.prop(
    1, "Which of the three gets no gradient? The encoder learns through the context alone."
)
def gradients(t: Trial) -> None:
    """gradients reach context, decoder state and W_c"""
    f64 = torch.float64
    t.gradient(
        t.randn(2, 3, 2, dtype=f64), t.randn(2, 3, 2, dtype=f64), 0.5 * t.randn(4, 4, dtype=f64)
    )
