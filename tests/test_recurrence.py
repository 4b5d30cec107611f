"""The explicit recurrent cells against torch's modules."""

import pytest
import torch
from torch import nn

from course_lib.recurrence import gru_step, lstm_step, rnn_step, unroll

CELLS = {"rnn": (nn.RNN, rnn_step), "gru": (nn.GRU, gru_step), "lstm": (nn.LSTM, lstm_step)}


@pytest.mark.parametrize("name", CELLS)
def test_values_and_gradients_are_those_of_the_module(name: str) -> None:
    torch.manual_seed(0)
    kind, step = CELLS[name]
    module = kind(3, 5, batch_first=True, dtype=torch.float64)
    x = torch.randn(2, 7, 3, dtype=torch.float64, requires_grad=True)
    pair = torch.randn(2, 1, 2, 5, dtype=torch.float64)
    start = (pair[0], pair[1]) if name == "lstm" else pair[0]
    mine_start = (pair[0, 0], pair[1, 0]) if name == "lstm" else pair[0, 0]

    states, last = unroll(step, x, mine_start, *module.all_weights[0])
    wanted, wanted_last = module(x, start)
    torch.testing.assert_close(states, wanted)
    if name == "lstm":
        torch.testing.assert_close(last[1], wanted_last[1][0])

    inputs = (x, *module.parameters())
    cotangent = torch.randn_like(wanted)
    ours = torch.autograd.grad(states, inputs, cotangent)
    theirs = torch.autograd.grad(wanted, inputs, cotangent)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)


def test_last_state_is_the_state_after_the_last_word() -> None:
    module = nn.LSTM(3, 5, batch_first=True)
    x, zero = torch.randn(2, 4, 3), torch.zeros(2, 5)
    states, (h, _) = unroll(lstm_step, x, (zero, zero), *module.all_weights[0])
    assert torch.equal(states[:, -1], h)


@pytest.mark.parametrize("shape", [(2, 3), (2, 0, 3)])
def test_unroll_names_a_wrong_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="wanted \\(B, T, Dx\\)"):
        unroll(rnn_step, torch.zeros(shape), torch.zeros(2, 5))


def test_weights_of_another_cell_are_refused() -> None:
    parameters = nn.LSTM(3, 5).all_weights[0]
    with pytest.raises(ValueError, match=r"\(20, 3\) and \(20, 5\), wanted \(15, 3\)"):
        gru_step(torch.zeros(1, 3), torch.zeros(1, 5), *parameters)


@pytest.mark.parametrize("step, gates", [(rnn_step, 1), (gru_step, 3)])
def test_one_state_is_not_spread_over_a_batch(step, gates):
    weights = torch.randn(gates * 2, 3), torch.randn(gates * 2, 2), *torch.randn(2, gates * 2)
    with pytest.raises(ValueError, match=r"x has shape \(4, 3\) and the state \(1, 2\)"):
        step(torch.randn(4, 3), torch.zeros(1, 2), *weights)
