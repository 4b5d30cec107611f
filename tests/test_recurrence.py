"""The explicit recurrent cells against torch's modules."""

import pytest
import torch
from torch import nn

from course_lib.recurrence import gru_step, lstm_step, rnn_step, unroll
from course_tests.refusals import refusals

CELLS = {"rnn": (nn.RNN, rnn_step), "gru": (nn.GRU, gru_step), "lstm": (nn.LSTM, lstm_step)}


@pytest.mark.parametrize("name", CELLS)
def test_values_and_gradients_are_those_of_the_module(name):
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
    pairs = zip(last, wanted_last, strict=True) if name == "lstm" else [(last, wanted_last)]
    for one, other in pairs:
        torch.testing.assert_close(one, other[0])

    inputs = (x, *module.parameters())
    cotangent = torch.randn_like(wanted)
    ours = torch.autograd.grad(states, inputs, cotangent)
    theirs = torch.autograd.grad(wanted, inputs, cotangent)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b)


test_what_does_not_fit_is_refused = refusals(
    (lambda: unroll(rnn_step, torch.zeros(2, 3), torch.zeros(2, 5)), r"wanted \(B, T, Dx\)"),
    (lambda: unroll(rnn_step, torch.zeros(2, 0, 3), torch.zeros(2, 5)), r"wanted \(B, T, Dx\)"),
    (
        lambda: gru_step(torch.zeros(1, 3), torch.zeros(1, 5), *nn.LSTM(3, 5).all_weights[0]),
        r"\(20, 3\) and \(20, 5\), wanted \(15, 3\)",
    ),
    *(
        (
            lambda kind=kind, step=step: step(
                torch.randn(4, 3), torch.zeros(1, 2), *kind(3, 2).all_weights[0]
            ),
            r"x has shape \(4, 3\) and the state \(1, 2\)",
        )
        for kind, step in ((nn.RNN, rnn_step), (nn.GRU, gru_step))
    ),
)
