from course_lib.bank.cheaper.window_attention import exercise
from course_lib.bank.prelude import F, Tensor, math, torch
from course_lib.efficient import banded_attention


@exercise.answer
def reference(q: Tensor, k: Tensor, v: Tensor, radius: int) -> Tensor:
    """The library's output, without the band of weights."""
    return banded_attention(q, k, v, radius)[0]


@exercise.mistake("A mask hides what has been computed. What would you have to not compute?")
def mask_is_enough(q, k, v, radius):
    """With a mask on them, hidden scores cost nothing."""
    place = torch.arange(q.shape[-2])
    near = (place[:, None] - place).abs() <= radius
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return scores.masked_fill(~near, -torch.inf).softmax(dim=-1) @ v


@exercise.mistake("How many keys does a query in the middle see with radius 1? Count the middle.")
def radius_is_the_width(q, k, v, radius):
    """The window holds `radius` keys, half of them on each side."""
    T = q.shape[-2]
    offsets = range(-(radius // 2), radius // 2 + 1)
    place = torch.arange(T)[:, None] + torch.tensor(list(offsets))
    inside = (place >= 0) & (place < T)
    index = place.clamp(0, T - 1)
    scores = (q.unsqueeze(-2) * k[..., index, :]).sum(-1) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~inside, -torch.inf).softmax(dim=-1)
    return (weights.unsqueeze(-1) * v[..., index, :]).sum(-2)


@exercise.mistake("Which key is one before the first?")
def round_and_round(q, k, v, radius):
    """Before the first position comes the last one."""
    T = q.shape[-2]
    place = torch.arange(T)[:, None] + torch.arange(-radius, radius + 1)
    index = place % T
    scores = (q.unsqueeze(-2) * k[..., index, :]).sum(-1) / math.sqrt(q.shape[-1])
    return (scores.softmax(dim=-1).unsqueeze(-1) * v[..., index, :]).sum(-2)


@exercise.mistake("What weight does a key get whose score is 0? And what did you pad with?")
def zeros_weigh_nothing(q, k, v, radius):
    """Keys that are padded with zeros get no weight."""
    T = q.shape[-2]
    k, v = (F.pad(x, (0, 0, radius, radius)) for x in (k, v))
    index = torch.arange(T)[:, None] + torch.arange(2 * radius + 1)
    scores = (q.unsqueeze(-2) * k[..., index, :]).sum(-1) / math.sqrt(q.shape[-1])
    return (scores.softmax(dim=-1).unsqueeze(-1) * v[..., index, :]).sum(-2)


@exercise.mistake("Do the neighbours that come after a query count, too?")
def only_backwards(q, k, v, radius):
    """A window reaches back only."""
    T = q.shape[-2]
    place = torch.arange(T)[:, None] + torch.arange(-radius, 1)
    index = place.clamp(min=0)
    scores = (q.unsqueeze(-2) * k[..., index, :]).sum(-1) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(place < 0, -torch.inf).softmax(dim=-1)
    return (weights.unsqueeze(-1) * v[..., index, :]).sum(-2)


@exercise.mistake("You moved the keys by an offset. By which one do the values move?")
def values_the_other_way(q, k, v, radius):
    """Keys move one way and values the other."""
    T = q.shape[-2]
    place = torch.arange(T)[:, None] + torch.arange(-radius, radius + 1)
    inside = (place >= 0) & (place < T)
    index = place.clamp(0, T - 1)
    scores = (q.unsqueeze(-2) * k[..., index, :]).sum(-1) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~inside, -torch.inf).softmax(dim=-1)
    return (weights.unsqueeze(-1) * v[..., index.flip(-1), :]).sum(-2)


@exercise.mistake("By what are scores divided, and does the number of keys matter for it?")
def root_of_the_window(q, k, v, radius):
    """Scores are divided by the root of the number of keys in the window."""
    T = q.shape[-2]
    place = torch.arange(T)[:, None] + torch.arange(-radius, radius + 1)
    inside = (place >= 0) & (place < T)
    index = place.clamp(0, T - 1)
    scores = (q.unsqueeze(-2) * k[..., index, :]).sum(-1) / math.sqrt(2 * radius + 1)
    weights = scores.masked_fill(~inside, -torch.inf).softmax(dim=-1)
    return (weights.unsqueeze(-1) * v[..., index, :]).sum(-2)


@exercise.mistake("Clamped indices point at the first key several times. Does it count each time?")
def clamps_and_forgets(q, k, v, radius):
    """An index that is clamped to the sequence needs nothing more."""
    T = q.shape[-2]
    place = torch.arange(T)[:, None] + torch.arange(-radius, radius + 1)
    index = place.clamp(0, T - 1)
    scores = (q.unsqueeze(-2) * k[..., index, :]).sum(-1) / math.sqrt(q.shape[-1])
    return (scores.softmax(dim=-1).unsqueeze(-1) * v[..., index, :]).sum(-2)


@exercise.alternative
def blocks_of_queries(q, k, v, radius):
    """Blocks of queries, each with the stretch of keys around it; warns."""
    import warnings

    warnings.warn("cutting into blocks", stacklevel=1)
    T, parts = q.shape[-2], []
    for start in range(0, T, 64):
        stop = min(start + 64, T)
        first, last = max(0, start - radius), min(T, stop + radius)
        query = torch.arange(start, stop)[:, None]
        near = (query - torch.arange(first, last)).abs() <= radius
        scores = q[..., start:stop, :] @ k[..., first:last, :].mT / q.shape[-1] ** 0.5
        weights = scores.masked_fill(~near, -math.inf).softmax(dim=-1)
        parts.append(weights @ v[..., first:last, :])
    return torch.cat(parts, dim=-2)


@exercise.alternative
def padded_windows(q, k, v, radius):
    """Windows as views into padded keys and values."""
    T, width = q.shape[-2], 2 * radius + 1
    near_k = F.pad(k, (0, 0, radius, radius)).unfold(-2, width, 1)  # (..., T, Dh, width)
    near_v = F.pad(v, (0, 0, radius, radius)).unfold(-2, width, 1)
    there = F.pad(torch.ones(T, dtype=torch.bool), (radius, radius)).unfold(0, width, 1)
    scores = torch.einsum("...td,...tdw->...tw", q / q.shape[-1] ** 0.5, near_k)
    weights = torch.where(there, scores, -torch.inf).softmax(-1)
    return torch.einsum("...tw,...tdw->...td", weights, near_v)


@exercise.alternative
def offset_by_offset(q, k, v, radius):
    """One offset after the other, with sums that are rescaled to the largest score so far."""
    T, scale = q.shape[-2], q.shape[-1] ** -0.5
    wide = torch.float32 if q.dtype is torch.bfloat16 else q.dtype
    largest = torch.full(q.shape[:-1], -math.inf, dtype=wide)
    total = torch.zeros(q.shape[:-1], dtype=wide)
    out = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=wide)
    place = torch.arange(T)
    for offset in sorted(range(-radius, radius + 1), key=abs):
        there = (place + offset >= 0) & (place + offset < T)
        at = (place + offset).clamp(0, T - 1)
        score = (q * k[..., at, :]).sum(-1).to(wide) * scale
        score = score.masked_fill(~there, -math.inf)
        new = torch.maximum(largest, score)
        rescale, weight = (largest - new).exp(), (score - new).exp()
        total = total * rescale + weight
        out = out * rescale[..., None] + weight[..., None] * v[..., at, :].to(wide)
        largest = new
    return (out / total[..., None]).to(v.dtype)


@exercise.alternative
def softmax_in_single(q, k, v, radius):
    """A softmax in single precision, cast back, as large models write it."""
    place = torch.arange(q.shape[-2])[:, None] + torch.arange(-radius, radius + 1)
    index = place.clamp(0, q.shape[-2] - 1)
    scores = torch.einsum("...td,...twd->...tw", q, k[..., index, :]) * q.shape[-1] ** -0.5
    scores = scores.masked_fill(place != index, -torch.inf)
    weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.einsum("...tw,...twd->...td", weights, v[..., index, :])
