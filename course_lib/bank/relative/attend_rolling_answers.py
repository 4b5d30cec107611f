from course_lib.attention import scaled_dot_product_attention
from course_lib.bank.prelude import Tensor, changed, math, torch
from course_lib.bank.relative.attend_rolling import colleagues_attend_rolling, exercise, turn
from course_lib.positions import rotary_angles, rotate


@exercise.answer
def reference(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    keys: Tensor,
    values: Tensor,
    window: int,
    base: float = 10_000.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs of the new tokens, and the last keys and values, as they came."""
    P, T = keys.shape[-2], k.shape[-2]
    keys, values = torch.cat([keys, k], dim=-2), torch.cat([values, v], dim=-2)
    places = torch.arange(P + T)
    distance = places[P:, None] - places
    angles = rotary_angles(places, q.shape[-1], base=base)
    out, _ = scaled_dot_product_attention(
        rotate(q, angles[P:], "half_split"),
        rotate(keys, angles, "half_split"),
        values,
        mask=(distance >= 0) & (distance < window),
    )
    return out, keys[..., -window:, :], values[..., -window:, :]


# The notebook hands this function out, so its source must not begin with a decorator.
exercise.mistake("Several things are wrong. Begin with the first symptom: where is the query?")(
    colleagues_attend_rolling
)


def right(q, k, v, keys, values, window, base=10_000.0):
    """Base of the mistakes, itself right."""
    P, T = keys.shape[-2], q.shape[-2]
    keys, values = torch.cat([keys, k], dim=-2), torch.cat([values, v], dim=-2)
    places = torch.arange(P + T)
    distance = places[P:, None] - places
    mask = (distance >= 0) & (distance < window)
    scores = turn(q, places[P:], base) @ turn(keys, places, base).mT / math.sqrt(q.shape[-1])
    out = scores.masked_fill(~mask, -math.inf).softmax(-1) @ values
    return out, keys[..., -window:, :], values[..., -window:, :]


@exercise.mistake("Three keys were kept. At which place is the first new query?")
@changed(right, ("P:], base", ":T], base"))
def queries_anew():
    """The first query of a call is at place 0."""


@exercise.mistake("What happens at the next call to keys that you return turned?")
def turned_keys_kept(q, k, v, keys, values, window, base=10_000.0):
    """What is kept is what entered the scores."""
    P, T = keys.shape[-2], q.shape[-2]
    keys, values = torch.cat([keys, k], dim=-2), torch.cat([values, v], dim=-2)
    places = torch.arange(P + T)
    distance = places[P:, None] - places
    mask = (distance >= 0) & (distance < window)
    keys = turn(keys, places, base)
    scores = turn(q, places[P:], base) @ keys.mT / math.sqrt(q.shape[-1])
    out = scores.masked_fill(~mask, -math.inf).softmax(-1) @ values
    return out, keys[..., -window:, :], values[..., -window:, :]


@exercise.mistake("Which keys may the first of two new queries see, if three were kept?")
@changed(right, ("P:, None", ":T, None"))
def top_left_mask():
    """Query number i of a call may see the keys up to number i."""


@exercise.mistake("Window 3, one token after the other: how many keys does each see? All at once?")
def whole_past(q, k, v, keys, values, window, base=10_000.0):
    """Only what is kept has to fit into the window, not what a query sees."""
    P, T = keys.shape[-2], q.shape[-2]
    keys, values = torch.cat([keys, k], dim=-2), torch.cat([values, v], dim=-2)
    places = torch.arange(P + T)
    mask = places[P:, None] >= places
    scores = turn(q, places[P:], base) @ turn(keys, places, base).mT / math.sqrt(q.shape[-1])
    out = scores.masked_fill(~mask, -math.inf).softmax(-1) @ values
    return out, keys[..., -window:, :], values[..., -window:, :]


@exercise.mistake("Window 1 is the query's own key alone. How many does your mask let it see?")
@changed(right, ("< window", "<= window"))
def one_too_many():
    """A window of w keys reaches back to distance w."""


@exercise.mistake(
    "Four keys kept, three tokens new, window 4: which keys has the *first* new one lost?"
)
def cut_before_looking(q, k, v, keys, values, window, base=10_000.0):
    """The cache can be cut to the window before the queries look."""
    T = q.shape[-2]
    keys = torch.cat([keys, k], dim=-2)[..., -window:, :]
    values = torch.cat([values, v], dim=-2)[..., -window:, :]
    places = torch.arange(keys.shape[-2])
    rows = torch.arange(T) + keys.shape[-2] - T
    distance = rows[:, None] - places
    mask = (distance >= 0) & (distance < window)
    scores = turn(q, rows, base) @ turn(keys, places, base).mT / math.sqrt(q.shape[-1])
    out = scores.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num(0.0) @ values
    return out, keys, values


@exercise.mistake("A text moved by ten places: does your output stay the same?")
@changed(right, ("@ values", "@ turn(values, places, base)"))
def values_turn_too():
    """Values are somewhere, too, so they are turned like keys."""


@exercise.alternative
def query_by_query(q, k, v, keys, values, window, base=10_000.0):
    """One query after the other, each at place 0 and its keys after it; warns."""
    import warnings

    warnings.warn("one by one", stacklevel=1)
    P, T = keys.shape[-2], k.shape[-2]
    keys, values = torch.cat([keys, k], dim=-2), torch.cat([values, v], dim=-2)
    outs = []
    for i in range(T):
        end = P + i + 1
        start = max(0, end - window)
        seen = turn(keys[..., start:end, :], torch.arange(start, end) - (end - 1), base)
        scores = (seen @ q[..., i, :, None]).squeeze(-1) / math.sqrt(q.shape[-1])
        outs.append((scores.softmax(-1)[..., None] * values[..., start:end, :]).sum(-2))
    kept = max(0, P + T - window)
    return torch.stack(outs, dim=-2), keys[..., kept:, :], values[..., kept:, :]


@exercise.alternative
def from_far_away(q, k, v, keys, values, window, base=10_000.0):
    """Counts positions from an arbitrary place, with an additive mask and einsum."""
    old, new = keys.size(2), q.size(2)
    everything = torch.cat((keys, k), 2)
    all_values = torch.cat((values, v), 2)
    first = 1000
    rotated_q = turn(q, torch.arange(first + old, first + old + new), base)
    rotated_k = turn(everything, torch.arange(first, first + old + new), base)
    scores = torch.einsum("bhtd,bhsd->bhts", rotated_q, rotated_k) * q.size(-1) ** -0.5
    seen = torch.ones(new, old + new).tril(old).triu(old - window + 1)
    weights = torch.softmax(scores + seen.log(), dim=-1)
    return weights @ all_values, everything[:, :, -window:], all_values[:, :, -window:]
