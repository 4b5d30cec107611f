"""Recurrent cells, one step at a time: what ``nn.RNN``, ``nn.GRU`` and ``nn.LSTM`` do inside.

A step is a function from an input ``(B, Dx)`` and a state ``(B, D)`` to the next state. Parameters
come in the layout of torch, so that ``unroll(gru_step, x, h, *nn.GRU(...).all_weights[0])`` repeats
what the module does. The fast path is the module.
"""

from collections.abc import Callable
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

# Hidden state (B, D); an LSTM carries a second one, its cell.
State = TypeVar("State", Tensor, tuple[Tensor, Tensor])


def rnn_step(
    x: Tensor, h: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias_ih: Tensor, bias_hh: Tensor
) -> Tensor:
    """Mix the input into the state: ``tanh(W x + U h + b)``.

    Weights are ``W``, ``(D, Dx)``, and ``U``, ``(D, D)``; the two biases ``(D,)`` add up to b.
    Source: Elman, Finding Structure in Time (1990), with tanh for the sigmoid.
    """
    _check(x, h, weight_ih, weight_hh, bias_ih, bias_hh)
    return (F.linear(x, weight_ih, bias_ih) + F.linear(h, weight_hh, bias_hh)).tanh()


def gru_step(
    x: Tensor, h: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias_ih: Tensor, bias_hh: Tensor
) -> Tensor:
    """Keep a share z of the state and fill up the rest: ``z h + (1 - z) n``.

    Weights ``(3D, Dx)`` and ``(3D, D)`` hold matrices of reset gate, keep gate and candidate.
    Source: Cho et al., Learning Phrase Representations using RNN Encoder-Decoder (2014), section
    2.3; as in torch, the reset gate acts after the product with ``U``, not before it.
    """
    _check(x, h, weight_ih, weight_hh, bias_ih, bias_hh, gates=3)
    x_reset, x_keep, x_new = F.linear(x, weight_ih, bias_ih).chunk(3, dim=-1)
    h_reset, h_keep, h_new = F.linear(h, weight_hh, bias_hh).chunk(3, dim=-1)
    reset = (x_reset + h_reset).sigmoid()
    keep = (x_keep + h_keep).sigmoid()
    new = (x_new + reset * h_new).tanh()
    return keep * h + (1 - keep) * new


def lstm_step(
    x: Tensor,
    state: tuple[Tensor, Tensor],
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Tensor,
    bias_hh: Tensor,
) -> tuple[Tensor, Tensor]:
    """Forget a share of the cell, add to it, and show a share: ``c = f c + i g``, ``h = o tanh c``.

    The state is h and c, each ``(B, D)``; weights ``(4D, Dx)`` and ``(4D, D)`` hold matrices of
    input gate, forget gate, candidate and output gate. Source: Hochreiter and Schmidhuber, Long
    Short-Term Memory (1997); the forget gate is due to Gers et al., Learning to Forget (2000).
    """
    h, c = state
    if c.shape != h.shape:
        raise ValueError(f"h has shape {tuple(h.shape)} and c {tuple(c.shape)}, wanted one shape")
    _check(x, h, weight_ih, weight_hh, bias_ih, bias_hh, gates=4)
    gates = F.linear(x, weight_ih, bias_ih) + F.linear(h, weight_hh, bias_hh)
    add, forget, new, show = gates.chunk(4, dim=-1)
    c = forget.sigmoid() * c + add.sigmoid() * new.tanh()
    return show.sigmoid() * c.tanh(), c


def unroll(
    step: Callable[..., State], x: Tensor, state: State, *parameters: Tensor
) -> tuple[Tensor, State]:
    """Apply a step to every word ``(B, T, Dx)`` in turn: states ``(B, T, D)``, and the last one.

    No step can begin before the last one is done; all get the same parameters.

    Example:
        >>> gru, x = torch.nn.GRU(3, 5, batch_first=True), torch.randn(2, 7, 3)
        >>> states, last = unroll(gru_step, x, torch.zeros(2, 5), *gru.all_weights[0])
        >>> torch.allclose(states, gru(x)[0], atol=1e-6), torch.equal(states[:, -1], last)
        (True, True)
    """
    if x.ndim != 3 or x.shape[1] < 1:
        raise ValueError(f"x has shape {tuple(x.shape)}, wanted (B, T, Dx) with T at least 1")
    states = []
    for x_t in x.unbind(dim=1):
        state = step(x_t, state, *parameters)
        states.append(state[0] if isinstance(state, tuple) else state)
    return torch.stack(states, dim=1), state


def _check(x: Tensor, h: Tensor, *parameters: Tensor, gates: int = 1) -> None:
    if x.ndim != 2 or h.ndim != 2 or x.shape[0] != h.shape[0]:
        raise ValueError(
            f"x has shape {tuple(x.shape)} and the state {tuple(h.shape)}, wanted (B, Dx) and "
            "(B, D)"
        )
    rows = gates * h.shape[-1]
    found = [tuple(p.shape) for p in parameters]
    fitting = [(rows, x.shape[-1]), (rows, h.shape[-1]), (rows,), (rows,)]
    if found != fitting:
        raise ValueError(
            f"parameters have shapes {found}, wanted {fitting} for an input of width "
            f"{x.shape[-1]} and a state of width {h.shape[-1]}"
        )
