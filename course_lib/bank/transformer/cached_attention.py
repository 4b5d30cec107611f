from course_lib.bank.prelude import Exercise, Tensor, Trial, math, torch
from grader.checks.protocol import Fixture


def attend_anew(x, w_q, w_k, w_v):
    """Causal attention over a whole text x (B, T, D), with all projections computed again."""
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
    return scores.masked_fill(~past, -torch.inf).softmax(dim=-1) @ v


exercise = Exercise(
    id="transformer.cached_attention",
    points=6.5,
    minutes=20,
    difficulty=3,
    chapter="09_cache.html#transformer-cache",
    outcomes=("transformer.cache",),
    example=lambda t: cached(t, 1, 2, 3, 4, 4, 4),
    returns=("the output", "the keys", "the values"),
    forbidden=("attention",),
)


def cached(
    t: Trial, B: int, T: int, S: int, D: int, Dh: int, Dv: int, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, ...]:
    """New tokens, a cache, and three projections."""
    shapes = (B, T, D), (B, S, Dh), (B, S, Dv), (D, Dh), (D, Dh), (D, Dv)
    return tuple(t.randn(*shape, dtype=dtype) for shape in shapes)


@exercise.prop(1, "How many keys are there for a new token after S cached ones?")
def one_new(t: Trial) -> None:
    """one new token looks at everything cached and at itself"""
    # Equal widths: whose root divides the scores is asked further down.
    for S in (1, t.integer(3, 7)):
        arguments = cached(t, 2, 1, S, 4, 4, 4)
        out = t.parts(t.call(*arguments))[0]
        t.close(out, t.want(*arguments)[0], "the output", note=f"T = 1, S = {S}")


@exercise.prop(
    1,
    "The new queries are the last T of S + T positions. What may the first of them see? And what"
    " is left of a later token's weight, if its score is 300 and you add -100?",
)
def several_new(t: Trial) -> None:
    """several new tokens don't look at those that come after them, however well they fit"""
    for T, S in ((2, t.integer(3, 6)), (4, 2), (3, 3)):
        x, keys, values, w_q, _, w_v = cached(t, 2, T, S, 4, 4, 4)
        # Keys are what queries look for; the last token's is 200 times as large as the first's.
        x = 2 * x / x.norm(dim=-1, keepdim=True)
        x[:, -1] = 200 * x[:, 0]
        before = t.parts(t.call(x, keys, values, w_q, w_q, w_v))[0]
        other = torch.cat([x[:, :-1], -x[:, -1:]], dim=1)
        after = t.parts(t.call(other, keys, values, w_q, w_q, w_v))[0]
        t.a_tensor(before, (2, T, 4), "the output")
        note = f"T = {T}, S = {S}, the last token another one"
        t.close(after[:, :-1], before[:, :-1], "the output of those before it", note=note)
        t.expect((after[:, -1] != before[:, -1]).any(), "the last token's output has not changed")


@exercise.prop(0.5, "Begin with keys of shape (B, 0, Dh). What does the first token look at?")
def empty_cache(t: Trial) -> None:
    """with an empty cache it is causal attention"""
    t.same(*cached(t, 2, t.integer(3, 5), 0, 4, 4, 4))
    t.same(*cached(t, 1, 1, 0, 4, 4, 4), note="the very first token")


@exercise.prop(1, "Feed three tokens, then two more with the cache that came back. What differs?")
def in_pieces(t: Trial) -> None:
    """a text read in pieces comes out as it does in one"""
    x, keys, values, *weights = cached(t, 1, 6, t.integer(1, 3), 6, 4, 4)
    # Against the answer's own reading at once: whether that is right is asked above.
    whole = t.a_tensor(t.parts(t.call(x, keys, values, *weights))[0], (1, 6, 4), "the output")
    t.expect((whole[:, 1:] - whole[:, :1]).abs().max() > 1e-3, "all tokens find the same")
    outs = []
    for piece in x.split([1, 3, 1, 1] if t.integer(0, 1) else [2, 1, 3], dim=1):
        out, keys, values = t.parts(t.call(piece, keys, values, *weights))
        outs.append(out)
    t.close(torch.cat(outs, dim=1), whole, "the output, read in pieces")


@exercise.prop(0.5, "Which rows of the keys that you return equal those that you were given?")
def grown(t: Trial) -> None:
    """the cache comes back with the new keys and values after the old ones"""
    arguments = cached(t, 2, t.integer(2, 3), t.integer(2, 4), 5, 4, 4)
    _, *got = t.parts(t.call(*arguments))
    for found, want, what in zip(got, t.want(*arguments)[1:], exercise.returns[1:], strict=True):
        t.close(found, want, what)


@exercise.prop(0.5, "The scores are divided by the root of a width: whose?")
def widths(t: Trial) -> None:
    """keys and values of different widths, large scores, half precision"""
    arguments = cached(t, 2, 1, 3, 9, 4, 7)
    t.close(
        t.parts(t.call(*arguments))[0], t.want(*arguments)[0], "the output", note="Dh = 4, Dv = 7"
    )
    *before, w_q, w_k, w_v = cached(t, 1, 5, 0, 6, 4, 4)
    for size in (1e8, -1e8):
        t.same(*before, size * w_q, w_k, w_v, note=f"queries times {size:g}")
    arguments = cached(t, 1, 1, 3, 6, 4, 4, torch.bfloat16)
    out, want = t.parts(t.call(*arguments))[0], t.want(*arguments)[0]
    t.close(out, want, "the output", note="bfloat16", exact=True)


@exercise.prop(
    0.5, "Does anything in your function cut the graph, or write into what it was given?"
)
def gradients(t: Trial) -> None:
    """gradients reach tokens, cache and projections; nothing is changed in place"""
    t.gradient(*cached(t, 1, 2, 2, 3, 2, 2, torch.float64))
    t.unchanged(*cached(t, 1, 2, 3, 4, 4, 4))


@exercise.prop(
    1.5, "How many scores are needed for two queries? And how large is the mask that you make?"
)
def no_square(t: Trial) -> None:
    """two new tokens on 40,000 cached ones cost no square of the length"""
    shapes = ([1, 2, 4], [1, 40_000, 4], [1, 40_000, 4], [4, 4], [4, 4], [4, 4])
    seeds = [t.integer(0, 10**6) for _ in shapes]
    large = list(zip(shapes, seeds, strict=True))
    # The output has two rows, the caches have many.
    places = [(slice(0, 1), slice(0, 2)), *t.slices((1, 1), (40_002, 20))]
    t.size_probe(
        *(Fixture("normal", {"shape": shape, "seed": seed}) for shape, seed in large),
        keep=places,
        memory=120,
        cpu=3,
        why="two queries have 80,004 scores",
    )
    # Among 40,000 keys one too many is not seen; among 40 it is, if it fits.
    x, keys, values, w_q, _, w_v = cached(t, 1, 2, 40, 4, 4, 4)
    x[:, 1] = 2 * x[:, 0]
    t.same(x, keys, values, w_q, w_q, w_v, note="the same, small")
