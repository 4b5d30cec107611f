"""Exercise ``heads.head_cost``."""

from typing import Any

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(
    d_model: int, n_heads: int, n_queries: int, n_keys: int, batch: int = 1, bias: bool = False
) -> tuple[int, int, int]:
    """Parameters, multiplications and weights to keep."""
    parameters = 4 * d_model**2 + (4 * d_model if bias else 0)
    products = 2 * (n_queries + n_keys) * d_model**2 + 2 * n_queries * n_keys * d_model
    return parameters, batch * products, batch * n_heads * n_queries * n_keys


exercise = Exercise(
    id="heads.head_cost",
    function="head_cost",
    reference=reference,
    points=4,
    minutes=15,
    difficulty=2,
    chapter="04_heads.html#heads-cost",
    outcomes=("heads.cost",),
    returns=("parameters", "multiplications", "weights to keep"),
    example=lambda t: (8, 2, 4, 4),
)


def _three(t: Trial, *args: int, **options: Any) -> list[int]:
    """Three whole numbers, however right."""
    got = t.values(t.call(*args, **options))
    for what, number in zip(exercise.returns, got, strict=True):
        whole = isinstance(number, int) and not isinstance(number, bool)
        t.expect(whole, f"{what}: got {number!r:.40}, wanted a whole number (`int`)")
    return list(got)


def _agree(t: Trial, place: int, *args: Any) -> None:
    """Expect one of the three numbers."""
    got, want = _three(t, *args)[place], reference(*args)[place]
    called = ", ".join(map(str, args))
    what = exercise.returns[place]
    t.expect(got == want, f"{what}: got {got}, wanted {want}; called with {called}")


@exercise.prop(
    "parameters without bias, for any width and number of heads",
    points=0.5,
    hint="Which matrices does the layer hold, and how many columns has each of them for one head?",
)
def parameters(t: Trial) -> None:
    for n_heads in (1, 4, 8):
        _agree(t, 0, 8 * t.integer(2, 9), n_heads, t.integer(3, 9), t.integer(3, 9))


@exercise.prop(
    "parameters with bias",
    points=0.5,
    hint="One bias for each number that a projection returns. How many projections are there?",
)
def with_bias(t: Trial) -> None:
    for n_heads in (1, 4):
        d_model = 8 * t.integer(2, 9)
        more, less = (_three(t, d_model, n_heads, 5, 7, 3, bias=bias)[0] for bias in (True, False))
        t.expect(
            more - less == 4 * d_model,
            f"biases add {more - less} parameters, wanted {4 * d_model}; d_model={d_model}",
        )


@exercise.prop(
    "multiplications of one sentence, as many queries as keys",
    points=1,
    hint="Four projections, the scores, the weighted sums. How wide are the last two for one head?",
)
def multiplications(t: Trial) -> None:
    for n_heads in (1, 2, 8):
        n = t.integer(4, 20)
        _agree(t, 1, 8 * t.integer(1, 6), n_heads, n, n)


@exercise.prop(
    "multiplications with other numbers of queries and keys, and in a batch",
    points=1,
    hint="Which of the projections work on the queries' tokens, and which on the keys'?",
)
def cross_attention(t: Trial) -> None:
    # What more keys cost: whether the whole is right is asked above.
    few, many, batch = t.integer(2, 6), t.integer(9, 20), t.integer(2, 5)
    for n_queries in (few, many):
        one, more = (_three(t, 16, 4, n_queries, n_keys)[1] for n_keys in (few, many))
        want = 2 * (many - few) * (16**2 + n_queries * 16)
        t.expect(
            more - one == want,
            f"{many} keys in place of {few} cost {more - one} multiplications, wanted"
            f" {want}; called with {n_queries} queries",
        )
        several = _three(t, 16, 4, n_queries, many, batch)[1]
        t.expect(several == batch * more, f"{batch} sentences: {several}, wanted {batch * more}")


@exercise.prop(
    "weights that are kept for the gradient, in a batch too",
    points=1,
    hint="How many maps are there for one sentence, and what is the shape of one?",
)
def weights_to_keep(t: Trial) -> None:
    few, many = t.integer(2, 6), t.integer(9, 20)
    for n_heads in (1, 4, 8):
        _agree(t, 2, 8 * t.integer(2, 9), n_heads, few, many)
        _agree(t, 2, 16, n_heads, many, few, t.integer(2, 5))


@exercise.mistake("How many channels does one head get its queries from, and how many has it?")
def full_width_heads(d_model, n_heads, n_queries, n_keys, batch=1, bias=False):
    """Each head has projections of the full width, so heads multiply the parameters."""
    size = 4 * n_heads * (d_model**2 + bias * d_model)
    work = 2 * (n_queries + n_keys) * d_model**2 + 2 * n_queries * n_keys * d_model
    return size, batch * work, batch * n_heads * n_queries * n_keys


@exercise.mistake("A head is narrower. But how many of them are there?")
def heads_save_parameters(d_model, n_heads, n_queries, n_keys, batch=1, bias=False):
    """Narrow heads make the layer smaller."""
    width = d_model // n_heads
    size = 4 * (d_model * width + bias * width)
    work = 2 * (n_queries + n_keys) * d_model**2 + 2 * n_queries * n_keys * d_model
    return size, batch * work, batch * n_heads * n_queries * n_keys


@exercise.mistake("What happens to the heads once they stand side by side?")
def three_projections(d_model, n_heads, n_queries, n_keys, batch=1, bias=False):
    """Attention has three projections, for queries, keys and values."""
    size = 3 * d_model**2 + 3 * bias * d_model
    work = (n_queries + 2 * n_keys) * d_model**2 + 2 * n_queries * n_keys * d_model
    return size, batch * work, batch * n_heads * n_queries * n_keys


@exercise.mistake("Does a score of one head sum over d_model products?")
def each_head_works_in_full(d_model, n_heads, n_queries, n_keys, batch=1, bias=False):
    """H heads take H times the work of one for scores and weighted sums."""
    size = 4 * d_model**2 + 4 * bias * d_model
    work = 2 * (n_queries + n_keys) * d_model**2 + 2 * n_heads * n_queries * n_keys * d_model
    return size, batch * work, batch * n_heads * n_queries * n_keys


@exercise.mistake("Has each head a map of its own, or do they share one?")
def one_map(d_model, n_heads, n_queries, n_keys, batch=1, bias=False):
    """What is cut into heads costs no more memory than one head."""
    size = 4 * d_model**2 + 4 * bias * d_model
    work = 2 * (n_queries + n_keys) * d_model**2 + 2 * n_queries * n_keys * d_model
    return size, batch * work, batch * n_queries * n_keys


@exercise.mistake("Keys and values: from whose tokens are they made, and how many are those?")
def all_from_queries(d_model, n_heads, n_queries, n_keys, batch=1, bias=False):
    """All four projections work on the tokens that ask."""
    size = 4 * d_model**2 + 4 * bias * d_model
    work = 4 * n_queries * d_model**2 + 2 * n_queries * n_keys * d_model
    return size, batch * work, batch * n_heads * n_queries * n_keys


@exercise.mistake("Two products are made with every weight's place. Which one is missing?")
def scores_only(d_model, n_heads, n_queries, n_keys, batch=1, bias=False):
    """Once the weights are there, using them costs nothing."""
    size = 4 * d_model**2 + 4 * bias * d_model
    work = 2 * (n_queries + n_keys) * d_model**2 + n_queries * n_keys * d_model
    return size, batch * work, batch * n_heads * n_queries * n_keys


@exercise.alternative
def list_of_products(d_model, n_heads, n_queries, n_keys, batch=1, bias=False):
    """Lists every matrix product of every head, and warns."""
    import warnings

    warnings.warn("counting", stacklevel=1)
    d, h = d_model, n_heads
    w = d // h
    products = [(n_queries, d, w), (n_keys, d, w), (n_keys, d, w),
                (n_queries, w, n_keys), (n_queries, n_keys, w), (n_queries, w, d)] * h  # fmt: skip
    numbers = sum(3 * d * w + w * d + (3 * w if bias else 0) for _ in range(h))
    return (
        numbers + (d if bias else 0),
        batch * sum(a * b * c for a, b, c in products),
        batch * h * n_queries * n_keys,
    )


@exercise.alternative
def asked_of_torch(d_model, n_heads, n_queries, n_keys, batch=1, bias=False):
    """Lets torch hold the parameters and count them."""
    import torch
    from torch import nn

    with torch.device("meta"):
        layer = nn.MultiheadAttention(d_model, n_heads, bias=bias)
        maps = torch.empty(batch, n_heads, n_queries, n_keys)
    square = layer.out_proj.weight.numel()
    per_sentence = 2 * square * n_queries + 2 * square * n_keys
    return (
        sum(p.numel() for p in layer.parameters()),
        batch * (per_sentence + 2 * d_model * n_queries * n_keys),
        maps.numel(),
    )
