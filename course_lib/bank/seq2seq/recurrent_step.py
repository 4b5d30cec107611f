"""Exercise ``seq2seq.recurrent_step``."""

import itertools

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.recurrence import gru_step, lstm_step, rnn_step

GATES = {"rnn": 1, "gru": 3, "lstm": 4}


def reference(
    cell: str,
    x: Tensor,
    state: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Tensor,
    bias_hh: Tensor,
) -> Tensor:
    """The library's three steps, with the state in one tensor."""
    parameters = weight_ih, weight_hh, bias_ih, bias_hh
    if cell == "lstm":
        return torch.stack(lstm_step(x, (state[0], state[1]), *parameters))
    step = rnn_step if cell == "rnn" else gru_step
    return step(x, state[0], *parameters)[None]


def _arguments(
    t: Trial,
    cell: str,
    batch: int = 3,
    width: int = 4,
    width_in: int = 5,
    dtype: torch.dtype = torch.float32,
) -> tuple[str, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    rows = GATES[cell] * width
    return (
        cell,
        t.randn(batch, width_in, dtype=dtype),
        t.randn(2 if cell == "lstm" else 1, batch, width, dtype=dtype),
        t.randn(rows, width_in, dtype=dtype),
        t.randn(rows, width, dtype=dtype),
        t.randn(rows, dtype=dtype),
        t.randn(rows, dtype=dtype),
    )


exercise = Exercise(
    id="seq2seq.recurrent_step",
    function="recurrent_step",
    reference=reference,
    points=5,
    minutes=20,
    difficulty=2,
    chapter="01_seq2seq.html#seq2seq-reach",
    outcomes=("seq2seq.cells",),
    example=lambda t: _arguments(t, "gru"),
    forbidden=("recurrence",),
)


@exercise.prop(
    'a step of the plain network, `"rnn"`',
    points=0.5,
    hint="One matrix for the input, one for the state, two halves of a bias, one tanh."
    " The result has the leading axis that the state has.",
)
def plain(t: Trial) -> None:
    *arguments, bias = _arguments(t, "rnn")
    t.same(*arguments, torch.zeros_like(bias), note="rnn")


@exercise.prop(
    'a step of the GRU, `"gru"`',
    points=1.5,
    hint="Set all weights and biases to 0: what must come out? Then open one gate by its bias.",
)
def gated(t: Trial) -> None:
    t.same(*_arguments(t, "gru", width=t.integer(3, 6)), note="gru")


@exercise.prop(
    'a step of the LSTM, `"lstm"`: state and cell',
    points=1.5,
    hint="Compute the new cell first. Which four rows of the matrices make which gate?",
)
def with_cell(t: Trial) -> None:
    *arguments, bias = _arguments(t, "lstm", width=t.integer(3, 6))
    t.same(*arguments, torch.zeros_like(bias), note="lstm")


@exercise.prop(
    "sentences don't see each other, and inputs may be narrower or wider than the state",
    points=0.5,
    hint="Count axes from the end, and cut the rows by the state's width, not by the input's. An"
    " input of 0 must count as no input.",
)
def widths(t: Trial) -> None:
    pairs = (t.integer(2, 3), t.integer(6, 8)), (t.integer(5, 6), 3)
    for cell, (width, wide) in itertools.product(GATES, pairs):
        _, x, state, weight, *rest = _arguments(t, cell, 2, width, wide)
        both = t.a_tensor(t.call(cell, x, state, weight, *rest), state.shape)
        t.expect((both[:, 0] != both[:, 1]).any(), "two sentences come out alike")
        alone = t.call(cell, x[1:], state[:, 1:], weight, *rest)
        t.close(alone, both[:, 1:], "the second sentence alone", note=cell)
        x[:, 1:] = 0
        narrow = t.call(cell, x[:, :1], state, weight[:, :1], *rest)
        all_of_it = t.call(cell, x, state, weight, *rest)
        t.close(narrow, all_of_it, note=f"{cell}, inputs of width 1 and the same with zeros")


@exercise.prop(
    "gradients reach the input, the state and all parameters",
    points=0.5,
    hint="Is anything detached, or written into the state in place?",
)
def gradients(t: Trial) -> None:
    for cell in GATES:
        t.gradient(*_arguments(t, cell, 2, 3, 2, torch.float64))


@exercise.prop(
    "the old state is left as it was",
    points=0.5,
    hint="Whoever calls you may need the state before the step again: a beam search does.",
)
def no_side_effect(t: Trial) -> None:
    for cell in GATES:
        t.unchanged(*_arguments(t, cell))


@exercise.mistake(
    "With z = 1, is the state kept or thrown away? Read the last line of the formula."
)
def new_share(cell, x, state, weight_ih, weight_hh, bias_ih, bias_hh):
    """The gate z of a GRU says how much of the state is renewed."""
    a, b = F.linear(x, weight_ih, bias_ih), F.linear(state[0], weight_hh, bias_hh)
    if cell == "rnn":
        return (a + b).tanh()[None]
    if cell == "gru":
        (xr, xz, xn), (hr, hz, hn) = a.chunk(3, -1), b.chunk(3, -1)
        r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
        return ((1 - z) * state[0] + z * (xn + r * hn).tanh())[None]
    i, f, g, o = (a + b).chunk(4, -1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return torch.stack([o.sigmoid() * c.tanh(), c])


@exercise.mistake("In the formula of n, what does r multiply: h itself, or something made of h?")
def reset_before_product(cell, x, state, weight_ih, weight_hh, bias_ih, bias_hh):
    """It is all the same whether the reset gate acts before the product with U or after it."""
    a, b = F.linear(x, weight_ih, bias_ih), F.linear(state[0], weight_hh, bias_hh)
    if cell == "rnn":
        return (a + b).tanh()[None]
    if cell == "gru":
        (xr, xz, xn), (hr, hz, _) = a.chunk(3, -1), b.chunk(3, -1)
        r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
        D = state.shape[-1]
        n = (xn + F.linear(r * state[0], weight_hh[2 * D :], bias_hh[2 * D :])).tanh()
        return (z * state[0] + (1 - z) * n)[None]
    i, f, g, o = (a + b).chunk(4, -1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return torch.stack([o.sigmoid() * c.tanh(), c])


@exercise.mistake("In which order do the rows of the LSTM's matrices come? The docstring says it.")
def order_of_the_formula(cell, x, state, weight_ih, weight_hh, bias_ih, bias_hh):
    """The blocks lie in the order in which the formulas name them: i, f, o, g."""
    a, b = F.linear(x, weight_ih, bias_ih), F.linear(state[0], weight_hh, bias_hh)
    if cell == "rnn":
        return (a + b).tanh()[None]
    if cell == "gru":
        (xr, xz, xn), (hr, hz, hn) = a.chunk(3, -1), b.chunk(3, -1)
        r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
        return (z * state[0] + (1 - z) * (xn + r * hn).tanh())[None]
    i, f, o, g = (a + b).chunk(4, -1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return torch.stack([o.sigmoid() * c.tanh(), c])


@exercise.mistake("May the state of an LSTM be larger than 1? May its cell?")
def cell_shown_as_it_is(cell, x, state, weight_ih, weight_hh, bias_ih, bias_hh):
    """The output gate shows the cell as it is."""
    a, b = F.linear(x, weight_ih, bias_ih), F.linear(state[0], weight_hh, bias_hh)
    if cell == "rnn":
        return (a + b).tanh()[None]
    if cell == "gru":
        (xr, xz, xn), (hr, hz, hn) = a.chunk(3, -1), b.chunk(3, -1)
        r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
        return (z * state[0] + (1 - z) * (xn + r * hn).tanh())[None]
    i, f, g, o = (a + b).chunk(4, -1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return torch.stack([o.sigmoid() * c, c])


@exercise.mistake("Which cell is shown: the one before the word or the one after it?")
def shows_the_old_cell(cell, x, state, weight_ih, weight_hh, bias_ih, bias_hh):
    """State and cell are renewed at the same time, each from the old values."""
    a, b = F.linear(x, weight_ih, bias_ih), F.linear(state[0], weight_hh, bias_hh)
    if cell == "rnn":
        return (a + b).tanh()[None]
    if cell == "gru":
        (xr, xz, xn), (hr, hz, hn) = a.chunk(3, -1), b.chunk(3, -1)
        r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
        return (z * state[0] + (1 - z) * (xn + r * hn).tanh())[None]
    i, f, g, o = (a + b).chunk(4, -1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return torch.stack([o.sigmoid() * state[1].tanh(), c])


@exercise.mistake("A gate is between 0 and 1. Is what it lets in between 0 and 1 as well?")
def all_sigmoids(cell, x, state, weight_ih, weight_hh, bias_ih, bias_hh):
    """In a gated cell everything goes through a sigmoid."""
    a, b = F.linear(x, weight_ih, bias_ih), F.linear(state[0], weight_hh, bias_hh)
    if cell == "rnn":
        return (a + b).tanh()[None]
    if cell == "gru":
        (xr, xz, xn), (hr, hz, hn) = a.chunk(3, -1), b.chunk(3, -1)
        r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
        return (z * state[0] + (1 - z) * (xn + r * hn).sigmoid())[None]
    i, f, g, o = (a + b).chunk(4, -1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.sigmoid()
    return torch.stack([o.sigmoid() * c.tanh(), c])


@exercise.mistake("Where has `bias_hh` gone? In a GRU it is not even beside the other one.")
def one_bias(cell, x, state, weight_ih, weight_hh, bias_ih, bias_hh):
    """Two biases in one sum are one bias, so the second can be left out."""
    a, b = F.linear(x, weight_ih, bias_ih), F.linear(state[0], weight_hh)
    if cell == "rnn":
        return (a + b).tanh()[None]
    if cell == "gru":
        (xr, xz, xn), (hr, hz, hn) = a.chunk(3, -1), b.chunk(3, -1)
        r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
        return (z * state[0] + (1 - z) * (xn + r * hn).tanh())[None]
    i, f, g, o = (a + b).chunk(4, -1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return torch.stack([o.sigmoid() * c.tanh(), c])


@exercise.mistake("Call your function twice with the same tensors: is the second result the first?")
def overwrites_the_state(cell, x, state, weight_ih, weight_hh, bias_ih, bias_hh):
    """The old state is not needed any more, so the new one is written over it."""
    a, b = F.linear(x, weight_ih, bias_ih), F.linear(state[0], weight_hh, bias_hh)
    if cell == "rnn":
        new = (a + b).tanh()[None]
    elif cell == "gru":
        (xr, xz, xn), (hr, hz, hn) = a.chunk(3, -1), b.chunk(3, -1)
        r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
        new = (z * state[0] + (1 - z) * (xn + r * hn).tanh())[None]
    else:
        i, f, g, o = (a + b).chunk(4, -1)
        c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
        new = torch.stack([o.sigmoid() * c.tanh(), c])
    with torch.no_grad():
        state.copy_(new)
    return new


@exercise.alternative
def gate_by_gate(cell, x, state, weight_ih, weight_hh, bias_ih, bias_hh):
    """Cuts the matrices into gates first, and warns about it."""
    import warnings

    warnings.warn("one product for each gate", stacklevel=1)
    h, D = state[0], state.shape[2]

    def part(k):
        rows = slice(k * D, (k + 1) * D)
        return x @ weight_ih[rows].T + bias_ih[rows], h @ weight_hh[rows].T + bias_hh[rows]

    def gate(k):
        return torch.sigmoid(sum(part(k)))

    if cell == "rnn":
        return torch.tanh(sum(part(0))).unsqueeze(0)
    if cell == "gru":
        from_x, from_h = part(2)
        return torch.lerp(torch.tanh(from_x + gate(0) * from_h), h, gate(1)).unsqueeze(0)
    c = torch.addcmul(gate(1) * state[1], gate(0), torch.tanh(sum(part(2))))
    return torch.cat([(gate(3) * torch.tanh(c)).unsqueeze(0), c.unsqueeze(0)])


@exercise.alternative
def one_long_vector(cell, x, state, weight_ih, weight_hh, bias_ih, bias_hh):
    """Input, state and a 1 in one vector, and one matrix for all of it; sigmoids by tanh."""
    h, D = state[0], state.shape[-1]
    ones = torch.ones_like(x[:, :1])
    matrix = torch.cat([weight_ih, weight_hh, (bias_ih + bias_hh)[:, None]], dim=1)
    everything = torch.einsum("bi,gi->gb", torch.cat([x, h, ones], dim=1), matrix)
    pieces = [p.mT for p in everything.split(D)]
    share = [(p / 2).tanh() / 2 + 0.5 for p in pieces]
    if cell == "rnn":
        return pieces[0].tanh()[None]
    if cell == "gru":
        from_h = h @ weight_hh[-D:].mT + bias_hh[-D:]
        new = (pieces[2] - (1 - share[0]) * from_h).tanh()
        return (new + share[1] * (h - new))[None]
    c = share[1] * state[1] + share[0] * pieces[2].tanh()
    return torch.stack((share[3] * c.tanh(), c))
