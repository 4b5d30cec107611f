from course_lib.attention import scaled_dot_product_attention
from course_lib.bank.prelude import Tensor, changed, math, torch
from course_lib.bank.transformer.rotary_step import colleagues_rotary_step, exercise, turn
from course_lib.masks import causal_mask


@exercise.answer
def reference(
    q: Tensor, k: Tensor, v: Tensor, keys: Tensor, values: Tensor, base: float = 10_000.0
) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs of the new tokens, and the grown cache of turned keys."""
    T, S = q.shape[-2], keys.shape[-2]
    places = torch.arange(S, S + T)
    keys = torch.cat([keys, turn(k, places, base)], dim=-2)
    values = torch.cat([values, v], dim=-2)
    mask = causal_mask(T, S + T)
    out, _ = scaled_dot_product_attention(turn(q, places, base), keys, values, mask=mask)
    return out, keys, values


# The notebook hands this function out, so its source must not begin with a decorator.
exercise.mistake("Several things are wrong. Begin with the queries: at which positions are they?")(
    colleagues_rotary_step
)


def right(q, k, v, keys, values, base=10_000.0):
    """Base of the mistakes, itself right."""
    T, S = q.shape[-2], keys.shape[-2]
    places = torch.arange(S, S + T)
    keys = torch.cat([keys, turn(k, places, base)], -2)
    values = torch.cat([values, v], -2)
    past = torch.ones(T, S + T, dtype=torch.bool).tril(S)
    scores = turn(q, places, base) @ keys.mT / math.sqrt(q.shape[-1])
    return scores.masked_fill(~past, -torch.inf).softmax(-1) @ values, keys, values


@exercise.mistake("A model that writes calls you with one token at a time. Where is each?")
@changed(right, ("(S, S +", "("))
def counts_from_zero():
    """Every call begins at position 0."""


@exercise.mistake("How often has the first key been turned after three of your calls?")
def turned_at_every_call(q, k, v, keys, values, base=10_000.0):
    """All keys are turned to their positions at each call."""
    T, S = q.shape[-2], keys.shape[-2]
    keys = turn(torch.cat([keys, k], -2), torch.arange(S + T), base)
    values = torch.cat([values, v], -2)
    past = torch.ones(T, S + T, dtype=torch.bool).tril(S)
    scores = turn(q, torch.arange(S, S + T), base) @ keys.mT / math.sqrt(q.shape[-1])
    return scores.masked_fill(~past, -torch.inf).softmax(-1) @ values, keys, values


@exercise.mistake("One new token after ten cached ones: which keys does your mask let it see?")
@changed(right, ("tril(S)", "tril()"))
def mask_from_the_top_left():
    """The first query sees the first key, however many keys are cached."""


@exercise.mistake("Shift a whole text by 5 places. Should what is found in it change?")
@changed(right, ("v], -2)", "turn(v, places, base)], -2)"))
def values_turned_too():
    """A position belongs to all three: query, key and value."""


@exercise.mistake("Your scores are right once. What does the next call find cached?")
def cached_before_turning(q, k, v, keys, values, base=10_000.0):
    """Keys are cached as they come and turned for the scores only."""
    T, S = q.shape[-2], keys.shape[-2]
    places = torch.arange(S, S + T)
    turned = torch.cat([keys, turn(k, places, base)], -2)
    values = torch.cat([values, v], -2)
    past = torch.ones(T, S + T, dtype=torch.bool).tril(S)
    scores = turn(q, places, base) @ turned.mT / math.sqrt(q.shape[-1])
    out = scores.masked_fill(~past, -torch.inf).softmax(-1) @ values
    return out, torch.cat([keys, k], -2), values


@exercise.mistake("The cached keys have positions 0 to S - 1. Which one comes next?")
@changed(right, ("(S, S +", "(S + 1, S + T + 1) if S else torch.arange("))
def one_too_far():
    """S keys are cached, the last of them at position S, so the next one is at S + 1."""


@exercise.alternative
def token_by_token(q, k, v, keys, values, base=10_000.0):
    """One new token after the other, without a mask; warns."""
    import warnings

    warnings.warn("token by token", stacklevel=1)
    outs = []
    for t in range(q.shape[2]):
        place = torch.tensor([keys.shape[2]])
        keys = torch.cat([keys, turn(k[:, :, t : t + 1], place, base)], dim=2)
        values = torch.cat([values, v[:, :, t : t + 1]], dim=2)
        asked = turn(q[:, :, t : t + 1], place, base) @ keys.transpose(-1, -2)
        outs.append((asked / q.shape[-1] ** 0.5).softmax(dim=-1) @ values)
    return torch.cat(outs, dim=2), keys, values


@exercise.alternative
def complex_numbers(q, k, v, keys, values, base=10_000.0):
    """Turns by multiplying complex numbers, and compares positions for the mask."""
    *_, S, D = keys.shape
    T = k.shape[-2]
    rates = torch.exp(-torch.arange(D // 2).double() * 2 / D * math.log(base))
    at = torch.arange(S, S + T)

    def turned(x):
        pairs = torch.view_as_complex(x.double().unflatten(-1, (D // 2, 2)).contiguous())
        spun = pairs * torch.polar(torch.ones(T, D // 2).double(), torch.outer(at.double(), rates))
        return torch.view_as_real(spun).flatten(-2).to(x.dtype)

    keys = torch.cat((keys, turned(k)), dim=-2)
    values = torch.cat((values, v), dim=-2)
    scores = torch.einsum("...td,...sd->...ts", turned(q), keys) * D**-0.5
    later = torch.arange(S + T) > at[:, None]
    scores = scores + torch.zeros_like(scores).masked_fill(later, float("-inf"))
    return torch.softmax(scores, dim=-1) @ values, keys, values
