from typing import Any

from course_lib.bank.prelude import Exercise, Trial

exercise = Exercise(
    id="heads.head_cost",
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
        t.expect(whole, f"{what}: got {number!r:.40}, expected a whole number (`int`)")
    return list(got)


def _agree(t: Trial, place: int, *args: Any) -> None:
    """Expect one of the three numbers."""
    got, want = _three(t, *args)[place], exercise.reference(*args)[place]
    called = ", ".join(map(str, args))
    what = exercise.returns[place]
    t.expect(got == want, f"{what}: got {got}, expected {want}; called with {called}")


@exercise.prop(
    0.5, "Which matrices does the layer hold, and how many columns does each have for one head?"
)
def parameters(t: Trial) -> None:
    """parameters without bias, for any width and number of heads"""
    for n_heads in (1, 4, 8):
        _agree(t, 0, 8 * t.integer(2, 9), n_heads, t.integer(3, 9), t.integer(3, 9))


@exercise.prop(
    0.5, "One bias for each number that a projection returns. How many projections are there?"
)
def with_bias(t: Trial) -> None:
    """parameters with bias, which multiplies nothing"""
    for n_heads in (1, 4):
        d_model = 8 * t.integer(2, 9)
        (more, most, _), (less, few, _) = (
            _three(t, d_model, n_heads, 5, 7, 3, bias=bias) for bias in (True, False)
        )
        t.expect(most == few, f"biases add {most - few} multiplications; d_model={d_model}")
        t.expect(
            more - less == 4 * d_model,
            f"biases add {more - less} parameters, expected {4 * d_model}; d_model={d_model}",
        )


@exercise.prop(
    1, "Four projections, the scores, the weighted sums. How wide are the last two for one head?"
)
def multiplications(t: Trial) -> None:
    """multiplications of one sentence, as many queries as keys"""
    for n_heads in (1, 2, 8):
        n = t.integer(4, 20)
        _agree(t, 1, 8 * t.integer(1, 6), n_heads, n, n)


@exercise.prop(1, "Which of the projections work on the queries' tokens, and which on the keys'?")
def cross_attention(t: Trial) -> None:
    """multiplications with other numbers of queries and keys, and in a batch"""
    # Cost of more keys: whether the whole is right is asked above.
    few, many, batch = t.integer(2, 6), t.integer(9, 20), t.integer(2, 5)
    for n_queries in (few, many):
        one, more = (_three(t, 16, 4, n_queries, n_keys)[1] for n_keys in (few, many))
        want = 2 * (many - few) * (16**2 + n_queries * 16)
        t.expect(
            more - one == want,
            f"{many} keys in place of {few} cost {more - one} multiplications, expected"
            f" {want}; called with {n_queries} queries",
        )
        several = _three(t, 16, 4, n_queries, many, batch)[1]
        t.expect(several == batch * more, f"{batch} sentences: {several}, expected {batch * more}")


@exercise.prop(1, "How many maps are there for one sentence, and what is the shape of one?")
def weights_to_keep(t: Trial) -> None:
    """weights that are kept for the gradient, in a batch too"""
    few, many = t.integer(2, 6), t.integer(9, 20)
    for n_heads in (1, 4, 8):
        _agree(t, 2, 8 * t.integer(2, 9), n_heads, few, many)
        _agree(t, 2, 16, n_heads, many, few, t.integer(2, 5))
