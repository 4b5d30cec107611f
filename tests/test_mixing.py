"""Layers that mix a sequence: their costs and reach, and recurrent cells beside torch's."""

from typing import get_args

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from course_lib.masks import causal_mask, sliding_window_mask
from course_lib.mixing import (
    Kind,
    convolution,
    layer_cost,
    longest_chain,
    recurrent,
    restricted_attention,
    self_attention,
)
from course_lib.recurrence import gru_step, lstm_step, rnn_step, unroll
from course_tests.dependence import layers_until_reached
from course_tests.refusals import refusals

WINDOW = 4


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def run(kind, x, layer=0):
    d = x.shape[-1]
    w_q, w_k, w_v = randn(3, d, d).requires_grad_() / d
    if kind == "self-attention":
        return self_attention(x, w_q, w_k, w_v)[0]
    if kind == "restricted":
        return restricted_attention(x, w_q, w_k, w_v, window=WINDOW)[0]
    if kind == "recurrent":
        return recurrent(x, w_q, w_k)
    weight = randn(WINDOW, d, d).requires_grad_() / d
    return convolution(x, weight, dilation=WINDOW**layer if kind == "dilated" else 1)


@pytest.mark.parametrize("kind", get_args(Kind))
@pytest.mark.parametrize("n", [2, 13])
def test_multiplications_are_those_that_torch_counts(kind, n):
    counter = FlopCounterMode(display=False)
    with counter:
        run(kind, randn(1, n, 6))
    assert layer_cost(kind, n, 6, WINDOW).multiplications == counter.get_total_flops() // 2


@pytest.mark.parametrize("kind", get_args(Kind))
def test_only_recurrence_makes_the_chain_grow(kind):
    short, long = (longest_chain(run(kind, randn(1, n, 4).requires_grad_())) for n in (4, 24))
    growth = layer_cost(kind, 24, 4, WINDOW).sequential - layer_cost(kind, 4, 4, WINDOW).sequential
    assert long - short == growth


@pytest.mark.parametrize("kind", [k for k in get_args(Kind) if k != "recurrent"])
@pytest.mark.parametrize("n", [2, 4, 5, 16, 17, 60])
def test_path_is_the_number_of_layers_that_a_signal_needs(kind, n):
    x = randn(1, n, 2)
    found = layers_until_reached(lambda x, i: run(kind, x, i), x, most=n)
    assert found == layer_cost(kind, n, 2, WINDOW).path


def test_recurrent_path_is_one_state_after_the_other():
    x = randn(1, 9, 3).requires_grad_()
    w_in, w_state = randn(2, 3, 3)
    out = recurrent(x, w_in, w_state)[:, -1]
    assert longest_chain(out) == 9 == layer_cost("recurrent", 9, 3).path + 1


@pytest.mark.parametrize("window", [1, 2, 7, 99])
def test_restricted_attention_is_attention_under_a_window_mask(window):
    x = randn(2, 3, 10, 4)
    w_q, w_k, w_v = randn(4, 3), randn(4, 3, seed=1), randn(4, 5, seed=2)
    out, weights = restricted_attention(x, w_q, w_k, w_v, window=window)
    band = causal_mask(10) & sliding_window_mask(10, window - 1)
    want, _ = self_attention(x, w_q, w_k, w_v, band)
    torch.testing.assert_close(out, want)
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


def test_self_attention_is_equivariant_and_a_causal_mask_ends_that():
    x, order = randn(1, 6, 4), torch.tensor([3, 0, 5, 1, 4, 2])
    w = randn(3, 4, 4)
    torch.testing.assert_close(
        self_attention(x[:, order], *w)[0], self_attention(x, *w)[0][:, order]
    )
    mask = causal_mask(6)
    moved = self_attention(x[:, order], *w, mask)[0] - self_attention(x, *w, mask)[0][:, order]
    assert moved.abs().max() > 0.1


def test_recurrent_is_torchs_rnn():
    x = randn(2, 7, 3)
    rnn = nn.RNN(3, 4, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        want, _ = rnn(x)
        got = recurrent(x, rnn.weight_ih_l0.T, rnn.weight_hh_l0.T)
    torch.testing.assert_close(got, want)


W = torch.ones(2, 2)
test_what_cannot_be_is_refused = refusals(
    (lambda: self_attention(randn(1, 4, 2), W, randn(3, 2), W), "w_k has shape"),
    (lambda: restricted_attention(randn(1, 4, 2), W, W, W, window=0), "at least 1"),
    (lambda: layer_cost("attention", 4, 2), "wanted one of"),
    (lambda: layer_cost("convolution", 4, 2, window=1), "at least 2"),
    (lambda: layer_cost("recurrent", 0, 2), "at least 1"),
    (lambda: layers_until_reached(lambda x, i: x, randn(1, 4, 2), most=2), "does not reach"),
)


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


X = torch.zeros(2, 3)
test_what_does_not_fit_is_refused = refusals(
    (lambda: unroll(rnn_step, torch.zeros(2, 3), torch.zeros(2, 5)), r"wanted \(B, T, Dx\)"),
    (lambda: unroll(rnn_step, torch.zeros(2, 0, 3), torch.zeros(2, 5)), r"wanted \(B, T, Dx\)"),
    (
        lambda: gru_step(torch.zeros(1, 3), torch.zeros(1, 5), *nn.LSTM(3, 5).all_weights[0]),
        r"\[\(20, 3\), \(20, 5\), \(20,\), \(20,\)\], wanted \[\(15, 3\)",
    ),
    (
        lambda: lstm_step(X, (X, X[:1]), *nn.LSTM(3, 3).all_weights[0]),
        r"h has shape \(2, 3\) and c \(1, 3\)",
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
