"""Exercise ``lookup.luong_general``."""

import math

import torch
from torch.nn import functional as F

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.seq2seq import luong_general

exercise = Exercise(
    id="lookup.luong_general",
    function="luong_general",
    reference=luong_general,
    points=3,
    minutes=10,
    difficulty=1,
    chapter="02_weights.html#lookup-luong",
    outcomes=("lookup.scores",),
    example=lambda t: (t.randn(1, 1, 7), t.randn(1, 3, 7), t.randn(7, 7)),
)


@exercise.prop(
    "score (b, t, s) is the number s_t W_a h_s of sentence b",
    points=1,
    hint="Write the score of one query and one key as a sum over two indices, in order.",
)
def values(t: Trial) -> None:
    t.same(t.randn(2, 3, 5), t.randn(2, 3, 5), t.randn(5, 5))


@exercise.prop(
    "queries and keys may differ in number and in width",
    points=0.5,
    hint="W_a is (d_query, d_key). Which side of it fits the query?",
)
def widths(t: Trial) -> None:
    wide = t.integer(5, 7)
    t.same(t.randn(2, 3, 4), t.randn(2, 6, wide), t.randn(4, wide))
    t.same(t.randn(3, 1, wide), t.randn(3, 2, 1), t.randn(wide, 1), note="keys of width 1")


@exercise.prop(
    "a score is linear in the query: twice the query, twice the score",
    points=0.5,
    hint="Is anything in your function that bends or normalises? Weights come a step later.",
)
def linear(t: Trial) -> None:
    query, keys, weight = t.randn(2, 3, 4), t.randn(2, 5, 4), t.randn(4, 4)
    once = t.a_tensor(t.call(query, keys, weight), (2, 3, 5))
    t.close(t.call(3 * query, keys, weight), 3 * once, "the score of three times the query")
    t.expect((once.abs() > 0.1).any(), "all scores are nearly 0")


@exercise.prop(
    "gradients reach query, keys and W_a",
    points=0.5,
    hint="Is anything detached, converted to numpy, or computed under no_grad?",
)
def gradients(t: Trial) -> None:
    f64 = torch.float64
    t.gradient(t.randn(1, 2, 3, dtype=f64), t.randn(1, 4, 3, dtype=f64), t.randn(3, 3, dtype=f64))


@exercise.prop(
    "half precision stays half precision",
    points=0.5,
    hint="Does a new tensor, or a conversion, bring another dtype in?",
)
def half(t: Trial) -> None:
    bf16 = torch.bfloat16
    args = t.randn(1, 2, 4, dtype=bf16), t.randn(1, 3, 4, dtype=bf16), t.randn(4, 4, dtype=bf16)
    got = t.a_tensor(t.call(*args), (1, 2, 3))
    t.expect(got.dtype == bf16, f"the result has dtype {got.dtype}, wanted {bf16}")
    exact = t.a_tensor(t.call(*(a.double() for a in args)), (1, 2, 3))
    # Rounding depends on the order of the sums, but is bounded by the sizes of their terms.
    size = t.want(*(a.double().abs() for a in args)).clamp(min=1)
    t.expect(((got - exact).abs() <= 0.05 * size).all(), "the result is further off than rounding")
    t.expect((got != 0).any(), "all scores are 0")


@exercise.mistake("Which index of W_a is summed with the query: the first or the second?")
def weight_transposed(query, keys, weight):
    """W_a belongs to the keys, so it is the keys that are multiplied from the right."""
    return query @ (keys @ weight).transpose(-2, -1)


@exercise.mistake("Double W_a: what should happen to the scores, and what happens to yours?")
def plain_dot(query, keys, weight):
    """A score is the plain inner product; W_a acts elsewhere in the model."""
    return query @ keys.transpose(-2, -1)


@exercise.mistake("Which numbers does softmax turn into weights, and have you returned those?")
def already_weights(query, keys, weight):
    """Scores are the numbers that sum to 1."""
    return (query @ weight @ keys.transpose(-2, -1)).softmax(-1)


@exercise.mistake("Luong's formula has a learned matrix. Does it have a scale as well?")
def scaled(query, keys, weight):
    """Every inner product in attention is divided by the root of the width."""
    return query @ weight @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1])


@exercise.mistake("Of the two papers of 2015, whose score has a tanh in it?")
def bent_query(query, keys, weight):
    """A learned score passes through tanh, as Bahdanau's does."""
    return torch.tanh(query @ weight) @ keys.transpose(-2, -1)


@exercise.mistake("How often does W_a stand in the formula, and on how many sides of your product?")
def both_projected(query, keys, weight):
    """W_a takes queries and keys into the space in which they are compared."""
    return (query @ weight) @ (keys @ weight).transpose(-2, -1)


@exercise.mistake("May a long key score higher than a short one of the same direction?")
def cosine(query, keys, weight):
    """Similarity is the cosine of the angle, whatever the lengths."""
    query, keys = F.normalize(query @ weight, dim=-1), F.normalize(keys, dim=-1)
    return query @ keys.transpose(-2, -1)


@exercise.alternative
def one_einsum(query, keys, weight):
    """All three factors in one Einstein sum."""
    return torch.einsum("btq,qk,bsk->bts", query, weight, keys)


@exercise.alternative
def keys_first(query, keys, weight):
    """Projects the keys, which a decoder could do once for all its steps."""
    projected = F.linear(keys, weight)
    return torch.bmm(query, projected.mT)


@exercise.alternative
def pair_by_pair(query, keys, weight):
    """One number at a time, by elementwise products, with a word on stderr."""
    import sys

    print("three nested loops", file=sys.stderr)
    rows = []
    for b in range(len(query)):
        for q in query[b]:
            asks = (q[:, None] * weight).sum(0)
            rows.append(torch.stack([(asks * key).sum() for key in keys[b]]))
    return torch.stack(rows).reshape(query.shape[0], query.shape[1], keys.shape[1])
