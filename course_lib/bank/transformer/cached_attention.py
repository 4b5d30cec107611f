"""Exercise ``transformer.cached_attention``."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.checks.exercise import Exercise
from course_lib.checks.fixtures import normal
from course_lib.checks.protocol import Fixture
from course_lib.checks.trial import Trial
from course_lib.masks import causal_mask


def reference(
    x: Tensor, keys: Tensor, values: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs of the new tokens, and the grown cache."""
    keys = torch.cat([keys, x @ w_k], dim=1)
    values = torch.cat([values, x @ w_v], dim=1)
    mask = causal_mask(x.shape[1], keys.shape[1])
    out, _ = scaled_dot_product_attention(x @ w_q, keys, values, mask=mask)
    return out, keys, values


def attend_anew(x, w_q, w_k, w_v):
    """Causal attention over a whole text x (B, T, D), with all projections made anew."""
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
    return scores.masked_fill(~past, -torch.inf).softmax(dim=-1) @ v


exercise = Exercise(
    id="transformer.cached_attention",
    function="cached_attention",
    reference=reference,
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


def _three(t: Trial, *args: Tensor) -> list[Tensor]:
    return t.parts(t.call(*args), *exercise.returns)


@exercise.prop(
    "one new token looks at everything cached and at itself",
    points=1,
    hint="How many keys are there for a new token behind S cached ones?",
)
def one_new(t: Trial) -> None:
    # Equal widths: whose root divides the scores is asked further down.
    for S in (1, t.integer(3, 7)):
        arguments = cached(t, 2, 1, S, 4, 4, 4)
        out = _three(t, *arguments)[0]
        t.close(out, t.want(*arguments)[0], "the output", note=f"T = 1, S = {S}")


@exercise.prop(
    "several new tokens don't look at those that come after them, however well they fit",
    points=1,
    hint="The new queries are the last T of S + T positions. What may the first of them see? And"
    " what is left of a later token's weight, if its score is 300 and you add -100?",
)
def several_new(t: Trial) -> None:
    for T, S in ((2, t.integer(3, 6)), (4, 2), (3, 3)):
        x, keys, values, w_q, _, w_v = cached(t, 2, T, S, 4, 4, 4)
        # Keys are what queries look for; the last token's is 200 times as large as the first's.
        x = 2 * x / x.norm(dim=-1, keepdim=True)
        x[:, -1] = 200 * x[:, 0]
        before = _three(t, x, keys, values, w_q, w_q, w_v)[0]
        other = torch.cat([x[:, :-1], -x[:, -1:]], dim=1)
        after = _three(t, other, keys, values, w_q, w_q, w_v)[0]
        t.a_tensor(before, (2, T, 4), "the output")
        note = f"T = {T}, S = {S}, the last token another one"
        t.close(after[:, :-1], before[:, :-1], "the output of those before it", note=note)
        t.expect((after[:, -1] != before[:, -1]).any(), "the last token's output has not changed")


@exercise.prop(
    "with an empty cache it is causal attention",
    points=0.5,
    hint="Begin with keys of shape (B, 0, Dh). What does the first token look at?",
)
def empty_cache(t: Trial) -> None:
    t.same(*cached(t, 2, t.integer(3, 5), 0, 4, 4, 4))
    t.same(*cached(t, 1, 1, 0, 4, 4, 4), note="the very first token")


@exercise.prop(
    "a text read in pieces comes out as it does in one",
    points=1,
    hint="Feed three tokens, then two more with the cache that came back. What differs?",
)
def in_pieces(t: Trial) -> None:
    x, keys, values, *weights = cached(t, 1, 6, t.integer(1, 3), 6, 4, 4)
    # Against the answer's own reading at once: whether that is right is asked above.
    whole = t.a_tensor(_three(t, x, keys, values, *weights)[0], (1, 6, 4), "the output")
    t.expect((whole[:, 1:] - whole[:, :1]).abs().max() > 1e-3, "all tokens find the same")
    outs = []
    for piece in x.split([1, 3, 1, 1] if t.integer(0, 1) else [2, 1, 3], dim=1):
        out, keys, values = _three(t, piece, keys, values, *weights)
        outs.append(out)
    t.close(torch.cat(outs, dim=1), whole, "the output, read in pieces")


@exercise.prop(
    "the cache comes back with the new keys and values behind the old ones",
    points=0.5,
    hint="Which rows of the keys that you return equal those that you were given?",
)
def grown(t: Trial) -> None:
    arguments = cached(t, 2, t.integer(2, 3), t.integer(2, 4), 5, 4, 4)
    _, *got = _three(t, *arguments)
    for found, want, what in zip(got, t.want(*arguments)[1:], exercise.returns[1:], strict=True):
        t.close(found, want, what)


@exercise.prop(
    "keys and values of different widths, large scores, half precision",
    points=0.5,
    hint="The scores are divided by the root of a width: whose?",
)
def widths(t: Trial) -> None:
    arguments = cached(t, 2, 1, 3, 9, 4, 7)
    t.close(_three(t, *arguments)[0], t.want(*arguments)[0], "the output", note="Dh = 4, Dv = 7")
    x, *rest = cached(t, 1, 1, 3, 6, 4, 4)
    out, want = _three(t, 1e3 * x, *rest)[0], t.want(1e3 * x, *rest)[0]
    t.close(out, want, "the output", note="large scores")
    arguments = cached(t, 1, 1, 3, 6, 4, 4, torch.bfloat16)
    out, want = _three(t, *arguments)[0], t.want(*arguments)[0]
    t.close(out, want, "the output", note="bfloat16", exact=True)


@exercise.prop(
    "gradients reach tokens, cache and projections; nothing is changed in place",
    points=0.5,
    hint="Does anything in your function cut the graph, or write into what it was given?",
)
def gradients(t: Trial) -> None:
    t.gradient(*cached(t, 1, 2, 2, 3, 2, 2, torch.float64))
    t.unchanged(*cached(t, 1, 2, 3, 4, 4, 4))


@exercise.prop(
    "two new tokens on 40,000 cached ones cost no square of the length",
    points=1.5,
    hint="How many scores are needed for two queries? And how large is the mask that you make?",
)
def no_square(t: Trial) -> None:
    shapes = ([1, 2, 4], [1, 40_000, 4], [1, 40_000, 4], [4, 4], [4, 4], [4, 4])
    seeds = [t.integer(0, 10**6) for _ in shapes]
    large = list(zip(shapes, seeds, strict=True))
    want = reference(*(normal(shape, seed) for shape, seed in large))
    # The output has two rows, the caches have many.
    places = [(slice(0, 1), slice(0, 2)), *t.slices((1, 1), (40_002, 20))]
    t.size_probe(
        *(Fixture("normal", {"shape": shape, "seed": seed}) for shape, seed in large),
        want=[[part[place] for part in want] for place in places],
        keep=places,
        memory=120,
        cpu=3,
        why="two queries have 80,004 scores",
    )
    # Among 40,000 keys one too many is not seen; among 40 it is, if it fits.
    x, keys, values, w_q, _, w_v = cached(t, 1, 2, 40, 4, 4, 4)
    x[:, 1] = 2 * x[:, 0]
    t.same(x, keys, values, w_q, w_q, w_v, note="the same, small")


@exercise.mistake("Print how many keys your queries meet.")
def cache_kept_but_not_read(x, keys, values, w_q, w_k, w_v):
    """The cache is handed on for later; a call attends among its own tokens."""
    k, v = x @ w_k, x @ w_v
    T = x.shape[1]
    scores = x @ w_q @ k.mT / math.sqrt(k.shape[-1])
    past = torch.ones(T, T, dtype=torch.bool).tril()
    out = scores.masked_fill(~past, -torch.inf).softmax(-1) @ v
    return out, torch.cat([keys, k], 1), torch.cat([values, v], 1)


@exercise.mistake("One new token behind ten cached ones: which keys does your mask let it see?")
def mask_from_the_top_left(x, keys, values, w_q, w_k, w_v):
    """The first query sees the first key, however many keys are cached."""
    k, v = torch.cat([keys, x @ w_k], 1), torch.cat([values, x @ w_v], 1)
    scores = x @ w_q @ k.mT / math.sqrt(k.shape[-1])
    past = torch.ones(x.shape[1], k.shape[1], dtype=torch.bool).tril()
    return scores.masked_fill(~past, -torch.inf).softmax(-1) @ v, k, v


@exercise.mistake("Three tokens arrive at once. May the first of them look at the third?")
def no_mask(x, keys, values, w_q, w_k, w_v):
    """With a cache everything that is there is the past, so no mask is needed."""
    k, v = torch.cat([keys, x @ w_k], 1), torch.cat([values, x @ w_v], 1)
    scores = x @ w_q @ k.mT / math.sqrt(k.shape[-1])
    return scores.softmax(-1) @ v, k, v


@exercise.mistake("Read two pieces one after the other and look at the order of the keys.")
def put_in_front(x, keys, values, w_q, w_k, w_v):
    """The order of the keys does not matter, so new ones may stand in front."""
    T, S = x.shape[1], keys.shape[1]
    k, v = torch.cat([x @ w_k, keys], 1), torch.cat([x @ w_v, values], 1)
    scores = x @ w_q @ k.mT / math.sqrt(k.shape[-1])
    old = torch.ones(T, S, dtype=torch.bool)
    past = torch.cat([torch.ones(T, T, dtype=torch.bool).tril(), old], 1)
    return scores.masked_fill(~past, -torch.inf).softmax(-1) @ v, k, v


@exercise.mistake("Between which vectors is the inner product taken, and how wide are they?")
def root_of_the_model_width(x, keys, values, w_q, w_k, w_v):
    """Scores are divided by the root of the width of the tokens."""
    k, v = torch.cat([keys, x @ w_k], 1), torch.cat([values, x @ w_v], 1)
    scores = x @ w_q @ k.mT / math.sqrt(x.shape[-1])
    past = torch.ones(x.shape[1], k.shape[1], dtype=torch.bool).tril(keys.shape[1])
    return scores.masked_fill(~past, -torch.inf).softmax(-1) @ v, k, v


@exercise.mistake("Right numbers. How many rows has your mask, and how many of them do you use?")
def square_of_the_length(x, keys, values, w_q, w_k, w_v):
    """A causal mask is square; the rows that are needed are cut out of it."""
    k, v = torch.cat([keys, x @ w_k], 1), torch.cat([values, x @ w_v], 1)
    scores = x @ w_q @ k.mT / math.sqrt(k.shape[-1])
    past = torch.ones(k.shape[1], k.shape[1], dtype=torch.bool).tril()[keys.shape[1] :]
    return scores.masked_fill(~past, -torch.inf).softmax(-1) @ v, k, v


@exercise.mistake("Is a token among the things that it may look at? Try an empty cache.")
def old_ones_only(x, keys, values, w_q, w_k, w_v):
    """A new token looks at what is cached, and is cached itself afterwards."""
    k, v = torch.cat([keys, x @ w_k], 1), torch.cat([values, x @ w_v], 1)
    scores = x @ w_q @ k.mT / math.sqrt(k.shape[-1])
    past = torch.ones(x.shape[1], k.shape[1], dtype=torch.bool).tril(keys.shape[1] - 1)
    return scores.masked_fill(~past, -torch.inf).softmax(-1) @ v, k, v


@exercise.alternative
def token_by_token(x, keys, values, w_q, w_k, w_v):
    """Takes in one new token after the other, so that no mask is needed; prints to stderr."""
    import sys

    print("token by token", file=sys.stderr)
    outs = []
    for t in range(x.shape[1]):
        new = x[:, t : t + 1]
        keys = torch.cat((keys, new @ w_k), dim=1)
        values = torch.cat((values, new @ w_v), dim=1)
        weights = torch.softmax((new @ w_q) @ keys.mT * keys.shape[-1] ** -0.5, dim=-1)
        outs.append(weights @ values)
    return torch.cat(outs, dim=1), keys, values


@exercise.alternative
def positions_compared(x, keys, values, w_q, w_k, w_v):
    """Compares positions and adds what is hidden as minus infinity."""
    S, T = keys.shape[1], x.shape[1]
    k, v = (torch.cat(pair, 1) for pair in ((keys, x @ w_k), (values, x @ w_v)))
    scores = torch.einsum("btd,bsd->bts", x @ w_q, k) / k.shape[-1] ** 0.5
    later = torch.arange(S + T)[None, :] > torch.arange(S, S + T)[:, None]
    bias = torch.zeros(T, S + T, dtype=x.dtype).masked_fill(later, float("-inf"))
    return torch.einsum("bts,bsd->btd", (scores + bias).softmax(-1), v), k, v


@exercise.alternative
def two_sums(x, keys, values, w_q, w_k, w_v):
    """Adds up powers over old keys and over new ones, and divides once."""
    q, k, v = (x @ w_q) / math.sqrt(keys.shape[-1]), x @ w_k, x @ w_v
    old, new = q @ keys.mT, q @ k.mT
    T = x.shape[1]
    new = new.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), float("-inf"))
    top = torch.cat([old, new], -1).amax(-1, keepdim=True)
    old, new = (old - top).exp(), (new - top).exp()
    total = old.sum(-1, keepdim=True) + new.sum(-1, keepdim=True)
    out = (old @ values + new @ v) / total
    return out, torch.cat([keys, k], 1), torch.cat([values, v], 1)


@exercise.alternative
def softmax_in_single(x, keys, values, w_q, w_k, w_v):
    """A softmax in single precision, cast back, as large models write it."""
    keys = torch.cat([keys, x @ w_k], dim=1)
    values = torch.cat([values, x @ w_v], dim=1)
    T, S = x.shape[1], keys.shape[1]
    future = torch.arange(S) > torch.arange(S - T, S)[:, None]
    scores = (x @ w_q @ keys.mT * keys.shape[-1] ** -0.5).masked_fill(future, -torch.inf)
    weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(x.dtype)
    return weights @ values, keys, values
