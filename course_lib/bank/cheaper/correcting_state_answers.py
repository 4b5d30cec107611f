from course_lib.bank.cheaper.correcting_state import exercise
from course_lib.bank.prelude import Tensor, changed, torch


@exercise.answer
def reference(
    q: Tensor, k: Tensor, v: Tensor, state: Tensor, keep: Tensor, rate: Tensor
) -> tuple[Tensor, Tensor]:
    """Token by token; q and k ``(..., T, Dh)``, v ``(..., T, Dv)``, state ``(..., Dh, Dv)``."""
    outs = []
    for i in range(q.shape[-2]):
        key = k[..., i, :, None]
        state = keep[..., i, None, None] * state
        lacks = v[..., i, None, :] - key.mT @ state
        state = state + rate[..., i, None, None] * key @ lacks
        outs.append(q[..., i, None, :] @ state)
    return torch.cat(outs, -2), state


@exercise.mistake("A key comes twice, with other values. What is returned for it?")
@changed(reference, ("- key.mT @ state", ""))
def adds_without_correcting():
    """The state fades and the new value is added, as in the exercise before."""


@exercise.mistake("How much of what the newest token writes is left when its query reads?")
def corrects_before_it_fades(q, k, v, state, keep, rate):
    """A token corrects the state first, and then everything fades."""
    outs = []
    for i in range(q.shape[-2]):
        key = k[..., i, :, None]
        lacks = v[..., i, None, :] - key.mT @ state
        state = state + rate[..., i, None, None] * key @ lacks
        state = keep[..., i, None, None] * state
        outs.append(q[..., i, None, :] @ state)
    return torch.cat(outs, -2), state


@exercise.mistake("Which state do you ask what it returns: the one before or after fading?")
@changed(
    reference,
    ("        state = keep[..., i, None, None] * state\n", ""),
    ("state +", "keep[..., i, None, None] * state +"),
)
def subtracts_what_was_there():
    """What is subtracted is what the state returned before it faded."""


@exercise.mistake("With a rate of 0 a token changes nothing. Is that so in your code?")
@changed(
    reference,
    ("lacks = v[..., i, None, :] -", "state = state - key @ ("),
    ("mT @ state", "mT @ state)"),
    ("@ lacks", "@ v[..., i, None, :]"),
)
def corrects_all_the_way():
    """The old value is taken away as a whole, and part of the new one is written."""


@exercise.mistake("For a single token: when does its query read?")
def reads_before_it_writes(q, k, v, state, keep, rate):
    """A query reads what the tokens before it have left."""
    outs = []
    for i in range(q.shape[-2]):
        key = k[..., i, :, None]
        state = keep[..., i, None, None] * state
        outs.append(q[..., i, None, :] @ state)
        lacks = v[..., i, None, :] - key.mT @ state
        state = state + rate[..., i, None, None] * key @ lacks
    return torch.cat(outs, -2), state


@exercise.mistake("Change the last key. Which outputs change?")
def all_written_then_read(q, k, v, state, keep, rate):
    """The whole text is written before any query reads."""
    for i in range(q.shape[-2]):
        key = k[..., i, :, None]
        state = keep[..., i, None, None] * state
        lacks = v[..., i, None, :] - key.mT @ state
        state = state + rate[..., i, None, None] * key @ lacks
    return q @ state, state


@exercise.mistake("A text goes on in a second call. What does it know of the first?")
@changed(reference, ("    outs = []\n", "    state = torch.zeros_like(state)\n    outs = []\n"))
def starts_anew():
    """Every call begins with an empty state."""


@exercise.mistake("keep and rate are numbers between 0 and 1 already. Which is which?")
@changed(reference, ("= keep[", "= rate["), ("+ rate[", "+ keep["))
def shares_exchanged():
    """`keep` says how far a correction goes, `rate` what is kept."""


@exercise.alternative
def by_a_matrix(q, k, v, state, keep, rate):
    """Fading and taking away are one product with a matrix; prints to stderr."""
    import sys

    print("a matrix for each token", file=sys.stderr)
    one = torch.eye(k.shape[-1], dtype=k.dtype)
    pairs = k.unsqueeze(-1) * k.unsqueeze(-2)
    steps = keep[..., None, None] * (one - rate[..., None, None] * pairs)
    outs = []
    for query, step, key, value, b in zip(
        q.unbind(-2), steps.unbind(-3), k.unbind(-2), v.unbind(-2), rate.unbind(-1), strict=True
    ):
        state = step @ state + torch.einsum("...,...k,...v->...kv", b, key, value)
        outs.append(torch.einsum("...k,...kv->...v", query, state))
    return torch.stack(outs, dim=-2), state


@exercise.alternative
def a_step_downhill(q, k, v, state, keep, rate):
    """A step of gradient descent on half the squared error, by hand and with a transposed state."""
    returns, outs = state.mT, []
    for i in range(q.shape[-2]):
        returns = returns * keep[..., i].unsqueeze(-1).unsqueeze(-1)
        error = (returns * k[..., i, :].unsqueeze(-2)).sum(-1) - v[..., i, :]
        slope = error.unsqueeze(-1) * k[..., i, :].unsqueeze(-2)
        returns = returns - rate[..., i].unsqueeze(-1).unsqueeze(-1) * slope
        outs.append((returns * q[..., i, :].unsqueeze(-2)).sum(-1))
    return torch.stack(outs, -2), returns.mT
