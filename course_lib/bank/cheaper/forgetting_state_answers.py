from course_lib.bank.cheaper.forgetting_state import exercise, features
from course_lib.bank.prelude import Tensor, changed, torch


def masked_table(
    q: Tensor, k: Tensor, v: Tensor, state: Tensor, total: Tensor, decay: float
) -> tuple[Tensor, Tensor, Tensor]:
    """All pairs at once: products of features under a causal mask, faded by their distance."""
    q, k = features(q), features(k)
    place = torch.arange(q.shape[-2])
    faded = decay ** (place[:, None] - place).clamp(min=0).to(q.dtype)
    weights = (q @ k.mT * faded).tril()
    # The state before the first token has faded once when that token reads.
    since = (decay ** (place + 1).to(q.dtype)).unsqueeze(-1)
    sums = weights.sum(-1, keepdim=True) + since * (q @ total.unsqueeze(-1))
    out = (weights @ v + since * (q @ state)) / sums
    kept = k * faded[-1].unsqueeze(-1)
    return out, since[-1] * state + kept.mT @ v, since[-1] * total + kept.sum(-2)


@exercise.answer
def reference(
    q: Tensor, k: Tensor, v: Tensor, state: Tensor, total: Tensor, decay: float = 1.0
) -> tuple[Tensor, Tensor, Tensor]:
    """The masked table, in pieces of 64 tokens."""
    outs = []
    for a, b, c in zip(q.split(64, -2), k.split(64, -2), v.split(64, -2), strict=True):
        out, state, total = masked_table(a, b, c, state, total, decay)
        outs.append(out)
    return torch.cat(outs, -2), state, total


@exercise.mistake("Follow the very first token. What is in the state when its query arrives?")
def reads_before_it_writes(q, k, v, state, total, decay=1.0):
    """A token reads what the others have left, and then writes."""
    q, k = features(q), features(k)
    outs = []
    for i in range(q.shape[-2]):
        state, total = decay * state, decay * total
        read = (q[..., i : i + 1, :] @ state).squeeze(-2)
        outs.append(read / (q[..., i, :] * total).sum(-1, keepdim=True))
        state = state + k[..., i, :, None] * v[..., i, None, :]
        total = total + k[..., i, :]
    return torch.stack(outs, -2), state, total


@exercise.mistake("Put 1 into every value. Is your output 1?")
def sums_not_averages(q, k, v, state, total, decay=1.0):
    """The output is what the query reads from the state; the total is only handed on."""
    q, k = features(q), features(k)
    outs = []
    for i in range(q.shape[-2]):
        state = decay * state + k[..., i, :, None] * v[..., i, None, :]
        total = decay * total + k[..., i, :]
        outs.append((q[..., i : i + 1, :] @ state).squeeze(-2))
    return torch.stack(outs, -2), state, total


def right(q, k, v, state, total, decay=1.0):
    """Base of the mistakes, itself right."""
    q, k = features(q), features(k)
    outs = []
    for i in range(q.shape[-2]):
        state = decay * state + k[..., i, :, None] * v[..., i, None, :]
        total = decay * total + k[..., i, :]
        read = (q[..., i : i + 1, :] @ state).squeeze(-2)
        outs.append(read / (q[..., i, :] * total).sum(-1, keepdim=True))
    return torch.stack(outs, -2), state, total


@exercise.mistake("Numerator and denominator are sums over the same tokens. With the same factors?")
@changed(right, ("decay * total", "total"))
def total_never_fades():
    """Only the state forgets; the total counts every key in full."""


@exercise.mistake("In the table of weights, which factor is on the diagonal?")
def newest_fades_too(q, k, v, state, total, decay=1.0):
    """A token is written first, and then everything in the state fades."""
    q, k = features(q), features(k)
    outs = []
    for i in range(q.shape[-2]):
        state = decay * (state + k[..., i, :, None] * v[..., i, None, :])
        total = decay * (total + k[..., i, :])
        read = (q[..., i : i + 1, :] @ state).squeeze(-2)
        outs.append(read / (q[..., i, :] * total).sum(-1, keepdim=True))
    return torch.stack(outs, -2), state, total


@exercise.mistake("Take a key that is 0 but for one feature. Which part of the state may change?")
@changed(right, ("state + k", "state + v"), ("* v[...", "* k[..."))
def state_transposed():
    """The state has a row for each channel of the values and a column for each feature."""


@exercise.mistake("Can one of your weights be negative? Print them for two tokens.")
@changed(right, ("q, k = features(q),", "k ="))
def features_of_keys_alone():
    """What is written are features; what reads is the query itself."""


@exercise.mistake("Change the last key. Which outputs change?")
def all_written_then_read(q, k, v, state, total, decay=1.0):
    """The whole text is written into the state, which all queries then read."""
    q, k = features(q), features(k)
    for i in range(k.shape[-2]):
        state = decay * state + k[..., i, :, None] * v[..., i, None, :]
        total = decay * total + k[..., i, :]
    return q @ state / (q @ total.unsqueeze(-1)), state, total


@exercise.mistake("A text goes on in a second call. What does it know of the first?")
def starts_anew(q, k, v, state, total, decay=1.0):
    """Every call begins with an empty state."""
    q, k = features(q), features(k)
    state, total = torch.zeros_like(state), torch.zeros_like(total)
    outs = []
    for i in range(q.shape[-2]):
        state = decay * state + k[..., i, :, None] * v[..., i, None, :]
        total = decay * total + k[..., i, :]
        read = (q[..., i : i + 1, :] @ state).squeeze(-2)
        outs.append(read / (q[..., i, :] * total).sum(-1, keepdim=True))
    return torch.stack(outs, -2), state, total


@exercise.alternative
def a_column_of_ones(q, k, v, state, total, decay=1.0):
    """The total is one more column of the state; prints to stderr."""
    import sys

    print("one state", file=sys.stderr)
    values = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)
    joined = torch.cat([state, total.unsqueeze(-1)], dim=-1)
    outs = []
    for query, key, value in zip(
        features(q).unbind(-2), features(k).unbind(-2), values.unbind(-2), strict=True
    ):
        joined = decay * joined + torch.einsum("...m,...d->...md", key, value)
        read = torch.einsum("...m,...md->...d", query, joined)
        outs.append(read[..., :-1] / read[..., -1:])
    return torch.stack(outs, dim=-2), joined[..., :-1], joined[..., -1]


@exercise.alternative
def piece_by_piece(q, k, v, state, total, decay=1.0):
    """Masked tables of 50 tokens, and the state between them."""
    q, k = features(q), features(k)
    outs = []
    for a, b, c in zip(q.split(50, -2), k.split(50, -2), v.split(50, -2), strict=True):
        n = torch.arange(a.shape[-2], dtype=a.dtype)
        faded = (decay ** (n[:, None] - n).clamp(min=0)).tril()
        weights, before = a @ b.mT * faded, (decay ** (n + 1)).unsqueeze(-1)
        above = weights @ c + before * (a @ state)
        below = weights.sum(-1, keepdim=True) + before * (a @ total.unsqueeze(-1))
        outs.append(above / below)
        rest = b * faded[-1].unsqueeze(-1)
        state = before[-1] * state + rest.mT @ c
        total = before[-1] * total + rest.sum(-2)
    return torch.cat(outs, -2), state, total
