from course_lib.bank.prelude import F, Tensor, changed, torch
from course_lib.bank.seq2seq.recurrent_step import exercise
from course_lib.recurrence import gru_step, lstm_step, rnn_step


@exercise.answer
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


def right(cell, x, state, weight_ih, weight_hh, bias_ih, bias_hh):
    """Base of the mistakes, itself right."""
    a, b = F.linear(x, weight_ih, bias_ih), F.linear(state[0], weight_hh, bias_hh)
    if cell == "rnn":
        return (a + b).tanh()[None]
    if cell == "gru":
        (xr, xz, xn), (hr, hz, hn) = a.chunk(3, -1), b.chunk(3, -1)
        r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
        return (z * state[0] + (1 - z) * (xn + r * hn).tanh())[None]
    i, f, g, o = (a + b).chunk(4, -1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return torch.stack([o.sigmoid() * c.tanh(), c])


@exercise.mistake("In which order do the rows of the LSTM's matrices come? The docstring says it.")
@changed(right, ("f, g, o", "f, o, g"))
def order_of_the_formula():
    """The blocks lie in the order in which the formulas name them: i, f, o, g."""


@exercise.mistake("May the state of an LSTM be larger than 1? May its cell?")
@changed(right, (".tanh(),", ","))
def cell_shown_as_it_is():
    """The output gate shows the cell as it is."""


@exercise.mistake("Which cell is shown: the one before the word or the one after it?")
@changed(right, ("c.tanh(", "state[1].tanh("))
def shows_the_old_cell():
    """State and cell are renewed at the same time, each from the old values."""


@exercise.mistake("A gate is between 0 and 1. Is what it lets in between 0 and 1 as well?")
@changed(right, ("tanh())", "sigmoid())"), ("g.tanh(", "g.sigmoid("))
def all_sigmoids():
    """In a gated cell everything goes through a sigmoid."""


@exercise.mistake("Where has `bias_hh` gone? In a GRU it is not even beside the other one.")
@changed(right, ("weight_hh, bias_hh", "weight_hh"))
def one_bias():
    """Two biases in one sum are one bias, so the second can be left out."""


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
