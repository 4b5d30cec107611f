from typing import Any

from course_lib.bank.prelude import Exercise, Tensor, Trial, math, torch
from course_lib.masks import causal_mask


def turn(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """Turn the pairs of channels of x (..., T, Dh) by positions (T,), as RoPE does."""
    rates = base ** -(torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])
    angles = positions[:, None].double() * rates
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


exercise = Exercise(
    id="transformer.rotary_step",
    points=6,
    minutes=20,
    difficulty=3,
    chapter="09_cache.html#transformer-rotary",
    outcomes=("transformer.cache",),
    example=lambda t: step(t, 2, 3),
    given=(turn,),
    returns=("the output", "the keys", "the values"),
)


def step(t: Trial, T: int, S: int, B: int = 1, H: int = 2, Dh: int = 6) -> tuple[Tensor, ...]:
    """Queries, keys and values of T new tokens, and a cache of S."""
    return tuple(2 * t.randn(B, H, n, Dh) for n in (T, T, T, S, S))


@exercise.prop(
    1.5,
    "Compare the first S keys that you return with those that you were given. How often has the"
    " first one been turned after three calls? And are the values turned at all?",
)
def cache(t: Trial) -> None:
    """the cache comes back as it was, with the new keys turned to their places after it"""
    for T, S in ((1, t.integer(2, 5)), (3, t.integer(2, 5)), (2, 0)):
        arguments = step(t, T, S)
        _, keys, values = t.parts(t.call(*arguments))
        _, want_keys, want_values = t.want(*arguments)
        note = f"T = {T}, S = {S}"
        t.a_tensor(keys, want_keys.shape, "the keys")
        t.close(keys[..., :S, :], arguments[3], "the keys that were cached before", note=note)
        t.close(keys[..., S:, :], want_keys[..., S:, :], "the new keys", note=note)
        t.close(values, want_values, "the values", note=note)
    t.unchanged(*arguments)


@exercise.prop(
    1.5, "The cache holds S keys, at positions 0 to S - 1. At which position is the new token?"
)
def positions(t: Trial) -> None:
    """queries are where their tokens are: after the cached ones, one after the other"""
    # Judged whatever the mask, and however often cached keys are turned: the last query is asked,
    # keys near it score next to nothing, cached keys but the first are zeros.
    for S in (1, t.integer(2, 3)):
        T = S + 1
        q, k, v, keys, values = step(t, T, S)
        last = q[..., -1:, :]
        for place in range(1, T):
            away = turn(last, torch.tensor([float(T - 1 - place)]))
            k[..., place : place + 1, :] = -60 * away / last.square().sum(-1, keepdim=True)
        keys[..., 1:, :] = 0
        arguments = q, k, v * 0, keys, values
        out = t.a_tensor(t.parts(t.call(*arguments))[0], q.shape, "the output")
        want = t.want(*arguments)[0][..., -1, :]
        t.close(out[..., -1, :], want, "what the last token finds", note=f"T = {T}, S = {S}")


@exercise.prop(2, "T queries, S + T keys: what may the first query see? Where is it?")
def mask(t: Trial) -> None:
    """a token finds the values of all cached tokens, earlier new ones and itself, and no later"""
    for T, S in ((1, t.integer(1, 3)), (3, t.integer(2, 4)), (2, 0)):
        # Small queries: every key that may be seen has some weight.
        q, k, v, keys, values = step(t, T, S)
        before = t.a_tensor(t.parts(t.call(q / 8, k, v, keys, values))[0], q.shape, "the output")
        sees = torch.zeros(T, S + T, dtype=torch.bool)
        for key in range(S + T):
            every = torch.cat([values, v], dim=-2)
            every[..., key, :] += 100
            after = t.parts(t.call(q / 8, k, every[..., S:, :], keys, every[..., :S, :]))[0]
            moved = (t.a_tensor(after, q.shape, "the output") - before).abs()
            sees[:, key] = moved.amax(dim=(0, 1, 3)) > 1e-3
        t.close(sees, causal_mask(T, S + T), "which token finds which", note=f"T = {T}, S = {S}")


@exercise.prop(
    0.5, "Feed a text token by token, always with the cache that came back, and compare."
)
def in_pieces(t: Trial) -> None:
    """a text in pieces comes out as it does at once, very large scores included"""
    q, k, v, keys, values = step(t, 5, 0)
    whole = t.want(q, k, v, keys, values)
    outs = []
    for piece in torch.arange(5).split([1, 1, 3] if t.integer(0, 1) else [2, 1, 2]):
        out, keys, values = t.parts(t.call(*(x[..., piece, :] for x in (q, k, v)), keys, values))
        outs.append(out)
    t.close(torch.cat(outs, dim=-2), whole[0], "the output, read in pieces")
    t.close(values, whole[2], "the values, read in pieces")
    q, *rest = step(t, 3, 0)
    for size in (1e8, -1e8):
        got, want = t.parts(t.call(size * q, *rest))[0], t.want(size * q, *rest)[0]
        t.close(got, want, "the output", note=f"queries times {size:g}")


@exercise.prop(0.5, "Is every argument used? Are positions exact wherever they are?")
def other_settings(t: Trial) -> None:
    """another base turns queries and keys; several sentences; keys beyond position 2,000"""
    base = float(t.integer(5, 50))
    settings: tuple[Any, ...] = (
        (step(t, 2, 6, B=3, H=1, Dh=4), {"base": base}, f"base {base:g}"),
        (step(t, 1, 2049 + 2 * t.integer(0, 9), H=1, Dh=4), {}, "far along"),
    )
    t.usual(*settings[0][0])
    got, want = (f(*settings[0][0], base=base)[0] for f in (t.call, t.want))
    t.close(got, want, "the output", note=f"base {base:g}")
    for arguments, options, note in settings:
        keys, want = t.parts(t.call(*arguments, **options))[1], t.want(*arguments, **options)[1]
        t.a_tensor(keys, want.shape, "the keys")
        # Angles in single precision are good enough.
        t.expect((keys - want).abs().max() < 1e-2, f"{note}: the keys are not where they should be")


def colleagues_rotary_step(q, k, v, keys, values, base=10_000.0):
    """What is right for a whole text is right for its next token."""
    new = q.shape[-2]
    keys, values = torch.cat([keys, k], dim=-2), torch.cat([values, v], dim=-2)
    q = turn(q, torch.arange(new), base)
    keys = turn(keys, torch.arange(keys.shape[-2]), base)
    scores = q @ keys.mT / math.sqrt(q.shape[-1])
    past = torch.ones(new, keys.shape[-2], dtype=torch.bool).tril()
    weights = scores.masked_fill(~past, -torch.inf).softmax(dim=-1)
    return weights @ values, keys, values
