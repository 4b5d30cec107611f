"""Exercise ``lookup.readout``."""

import torch
from torch.nn import functional as F

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.seq2seq import luong_readout

exercise = Exercise(
    id="lookup.readout",
    function="luong_readout",
    reference=luong_readout,
    points=3,
    minutes=12,
    difficulty=2,
    chapter="02_weights.html#lookup-luong",
    outcomes=("lookup.weights",),
    example=lambda t: (t.randn(2, 3, 4), t.randn(2, 3, 4), t.randn(8, 8)),
)


@exercise.prop(
    "the readout follows tanh(W_c [c; s])",
    points=1,
    hint="Go through the formula from the inside: what is joined, what multiplies it, what bends?",
)
def values(t: Trial) -> None:
    t.same(t.randn(2, 3, 4), t.randn(2, 3, 4), 0.3 * t.randn(8, 8))


@exercise.prop(
    "context, decoder state and result may all differ in width",
    points=0.5,
    hint="W_c is (d_out, d_context + d_hidden), as nn.Linear stores it.",
)
def widths(t: Trial) -> None:
    out = t.integer(5, 7)
    t.same(t.randn(2, 3, 2), t.randn(2, 3, 4), 0.3 * t.randn(out, 6))


@exercise.prop(
    "every number stays between -1 and 1, however large the input",
    points=0.5,
    hint="Which operation of the formula bounds the result, and what comes after it?",
)
def bounded(t: Trial) -> None:
    t.same(1e4 * t.randn(1, 3, 3), 1e4 * t.randn(1, 3, 3), 5 * t.randn(6, 6))


@exercise.prop(
    "gradients reach context, decoder state and W_c",
    points=1,
    hint="Which of the three gets no gradient? The encoder learns through the context alone.",
)
def gradients(t: Trial) -> None:
    f64 = torch.float64
    t.gradient(
        t.randn(2, 3, 2, dtype=f64), t.randn(2, 3, 2, dtype=f64), 0.5 * t.randn(4, 4, dtype=f64)
    )


@exercise.mistake("One fault is mended, or none: compare with the formula symbol by symbol.")
def as_it_came(context, hidden, weight):
    """Code that runs and returns the right shape is right."""
    joined = torch.cat([hidden, context.detach()], dim=-1)
    return joined.tanh() @ weight.T


@exercise.mistake("Which half of W_c's columns was trained on the context?")
def swapped(context, hidden, weight):
    """The order in which two vectors are joined makes no difference."""
    return (torch.cat([hidden, context], dim=-1) @ weight.T).tanh()


@exercise.mistake("Can the result exceed 1? Should it?")
def tanh_inside(context, hidden, weight):
    """It is the same whether tanh comes before the matrix or after it."""
    return torch.cat([context, hidden], dim=-1).tanh() @ weight.T


@exercise.mistake("Without tanh, could W_c and the output layer not be one matrix?")
def no_tanh(context, hidden, weight):
    """The readout is a linear layer, the softmax after it is nonlinear enough."""
    return F.linear(torch.cat([context, hidden], dim=-1), weight)


@exercise.mistake("If no gradient passes the context, who teaches the encoder where to look?")
def context_detached(context, hidden, weight):
    """The encoder is trained elsewhere, the decoder only reads from it."""
    return F.linear(torch.cat([context.detach(), hidden], dim=-1), weight).tanh()


@exercise.mistake("W_c has a row for each result. With which of its axes is the input summed?")
def weight_transposed(context, hidden, weight):
    """x @ weight is what a linear layer computes."""
    return (torch.cat([context, hidden], dim=-1) @ weight).tanh()


@exercise.alternative
def two_halves(context, hidden, weight):
    """Cuts the matrix in two instead of joining the vectors."""
    width = context.shape[-1]
    return torch.tanh(context @ weight[:, :width].T + hidden @ weight[:, width:].T)


@exercise.alternative
def through_a_layer(context, hidden, weight):
    """Einstein sums and tanh by its exponentials, with a warning."""
    import warnings

    warnings.warn("writing tanh out", stacklevel=1)
    halves = weight.split([context.size(-1), hidden.size(-1)], dim=1)
    x = sum(
        torch.einsum("btd,od->bto", v, w) for v, w in zip((context, hidden), halves, strict=True)
    )
    return 2 * torch.sigmoid(2 * x) - 1
