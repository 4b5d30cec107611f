"""Recurrent cells, one step at a time: what ``nn.RNN``, ``nn.GRU`` and ``nn.LSTM`` do inside.

A step is a function from an input and a state to the next state. Parameters come in the layout of
torch, so that ``unroll(gru_step, x, h, *nn.GRU(...).all_weights[0])`` repeats what the module does.
The fast path is the module.
"""

from collections.abc import Callable
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["gru_step", "lstm_step", "rnn_step", "unroll"]

# Hidden state (B, D); an LSTM carries a second one, its cell.
State = TypeVar("State", Tensor, tuple[Tensor, Tensor])


def rnn_step(
    x: Tensor, h: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias_ih: Tensor, bias_hh: Tensor
) -> Tensor:
    """Mix the input into the state: ``tanh(W x + U h + b)``.

    Source: Elman, Finding Structure in Time (1990), with tanh for the sigmoid.

    Args:
        x: Input ``(B, Dx)``.
        h: State ``(B, D)``.
        weight_ih: ``W``, ``(D, Dx)``.
        weight_hh: ``U``, ``(D, D)``.
        bias_ih: One half of ``b``, ``(D,)``.
        bias_hh: The other half, ``(D,)``.

    Returns:
        The next state ``(B, D)``.

    Raises:
        ValueError: If input, state and parameters don't fit together.

    Example:
        A state that only turns by a quarter forgets nothing, if it is small.

        >>> x, h, zero = torch.zeros(1, 1), torch.tensor([[0.01, 0.0]]), torch.zeros(2)
        >>> turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
        >>> rnn_step(x, h, torch.zeros(2, 1), turn, zero, zero)
        tensor([[0.0000, 0.0100]])
    """
    _check(x, h, weight_ih, weight_hh, gates=1)
    return (F.linear(x, weight_ih, bias_ih) + F.linear(h, weight_hh, bias_hh)).tanh()


def gru_step(
    x: Tensor, h: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias_ih: Tensor, bias_hh: Tensor
) -> Tensor:
    """Keep a share z of the state and fill up the rest: ``z h + (1 - z) n``.

    Source: Cho et al., Learning Phrase Representations using RNN Encoder-Decoder (2014), section
    2.3; as in torch, the reset gate acts after the product with ``U``, not before it.

    Args:
        x: Input ``(B, Dx)``.
        h: State ``(B, D)``.
        weight_ih: Matrices of reset gate, keep gate and candidate, ``(3D, Dx)``.
        weight_hh: The same for the state, ``(3D, D)``.
        bias_ih: ``(3D,)``.
        bias_hh: ``(3D,)``.

    Returns:
        The next state ``(B, D)``.

    Raises:
        ValueError: If input, state and parameters don't fit together.

    Example:
        Without weights and biases both gates are half open and the candidate is 0.

        >>> x, h = torch.ones(1, 1), torch.ones(1, 2)
        >>> gru_step(x, h, torch.zeros(6, 1), torch.zeros(6, 2), torch.zeros(6), torch.zeros(6))
        tensor([[0.5000, 0.5000]])
    """
    _check(x, h, weight_ih, weight_hh, gates=3)
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

    Source: Hochreiter and Schmidhuber, Long Short-Term Memory (1997); the forget gate is due to
    Gers et al., Learning to Forget (2000).

    Args:
        x: Input ``(B, Dx)``.
        state: Hidden state h and cell c, each ``(B, D)``.
        weight_ih: Matrices of input gate, forget gate, candidate and output gate, ``(4D, Dx)``.
        weight_hh: The same for the hidden state, ``(4D, D)``.
        bias_ih: ``(4D,)``.
        bias_hh: ``(4D,)``.

    Returns:
        The next hidden state and cell, each ``(B, D)``.

    Raises:
        ValueError: If input, state and parameters don't fit together.

    Example:
        A wide open forget gate carries the cell on as it is.

        >>> x, state = torch.zeros(1, 1), (torch.zeros(1, 1), torch.full((1, 1), 0.7))
        >>> bias = torch.tensor([0.0, 50.0, 0.0, 0.0])
        >>> h, c = lstm_step(x, state, torch.zeros(4, 1), torch.zeros(4, 1), bias, torch.zeros(4))
        >>> c
        tensor([[0.7000]])
    """
    h, c = state
    _check(x, h, weight_ih, weight_hh, gates=4)
    gates = F.linear(x, weight_ih, bias_ih) + F.linear(h, weight_hh, bias_hh)
    add, forget, new, show = gates.chunk(4, dim=-1)
    c = forget.sigmoid() * c + add.sigmoid() * new.tanh()
    return show.sigmoid() * c.tanh(), c


def unroll(
    step: Callable[..., State], x: Tensor, state: State, *parameters: Tensor
) -> tuple[Tensor, State]:
    """Apply one step to every word in turn; no step can begin before the last one is done.

    Args:
        step: :func:`rnn_step`, :func:`gru_step` or :func:`lstm_step`.
        x: Inputs ``(B, T, Dx)``, T at least 1.
        state: State before the first input, ``(B, D)`` or a pair of these.
        parameters: Passed on to every step, the same each time.

    Returns:
        The hidden states ``(B, T, D)`` and the last state.

    Raises:
        ValueError: If x has not three axes or no step.

    Example:
        >>> gru = torch.nn.GRU(3, 5, batch_first=True)
        >>> x, h = torch.randn(2, 7, 3), torch.zeros(2, 5)
        >>> states, last = unroll(gru_step, x, h, *gru.all_weights[0])
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


def _check(x: Tensor, h: Tensor, weight_ih: Tensor, weight_hh: Tensor, gates: int) -> None:
    if x.ndim != 2 or h.ndim != 2 or x.shape[0] != h.shape[0]:
        raise ValueError(
            f"x has shape {tuple(x.shape)} and the state {tuple(h.shape)}, wanted (B, Dx) and "
            "(B, D)"
        )
    rows = gates * h.shape[-1]
    wanted = (rows, x.shape[-1]), (rows, h.shape[-1])
    came = tuple(weight_ih.shape), tuple(weight_hh.shape)
    if came != wanted:
        raise ValueError(
            f"weights have shapes {came[0]} and {came[1]}, wanted {wanted[0]} and {wanted[1]} for "
            f"an input of width {x.shape[-1]} and a state of width {h.shape[-1]}"
        )
