"""References of the exercises on recurrence, which stand in no other module, against torch."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_lib.bank.seq2seq import (
    card_size_answers as card_size,
)
from course_lib.bank.seq2seq import (
    gate_reach_answers as gate_reach,
)
from course_lib.bank.seq2seq import (
    read_both_ways_answers as read_both_ways,
)
from course_lib.bank.seq2seq import (
    recurrent_step_answers as recurrent_step,
)
from course_lib.bank.seq2seq import (
    shift_targets_answers as shift_targets,
)
from course_lib.bank.seq2seq import (
    state_jacobians_answers as state_jacobians,
)
from course_lib.bank.seq2seq import (
    two_effects_answers as two_effects,
)


@pytest.mark.parametrize(("cell", "kind"), [("rnn", nn.RNN), ("gru", nn.GRU), ("lstm", nn.LSTM)])
def test_a_step_is_that_of_the_module(cell, kind):
    torch.manual_seed(0)
    module, x = kind(3, 4), torch.randn(2, 3)
    state = torch.randn(2 if cell == "lstm" else 1, 2, 4)
    given = (state[:1], state[1:]) if cell == "lstm" else state
    _, last = module(x[None], given)
    wanted = torch.cat(last) if cell == "lstm" else last
    got = recurrent_step.reference(cell, x, state, *module.all_weights[0])
    torch.testing.assert_close(got, wanted)


def test_jacobians_are_those_of_autograd():
    torch.manual_seed(0)
    U, noise = torch.randn(3, 3).double(), torch.randn(5, 3).double()

    def run(h, steps):
        for extra in steps:
            h = torch.tanh(U @ h + extra)
        return h

    states = torch.stack([run(torch.zeros(3).double(), noise[:n]) for n in range(1, 6)])
    got = state_jacobians.reference(states, U)
    for s, h in enumerate(states):
        wanted = torch.autograd.functional.jacobian(lambda h, s=s: run(h, noise[s + 1 :]), h)
        torch.testing.assert_close(got[s], wanted)


def test_the_reach_is_the_last_step_with_enough_left():
    bias, share = torch.tensor([-3.0, 0.0, 2.0, 5.0]), 0.2
    _, reach = gate_reach.reference(bias, 1, share)
    for b, steps in zip(bias, reach.tolist(), strict=True):
        gate = b.double().sigmoid()
        assert gate**steps >= share > gate ** (steps + 1)
    # Three times a half is just an eighth.
    assert gate_reach.reference(torch.zeros(1), 1, 0.125)[1].tolist() == [3]


def test_reading_both_ways_is_torchs_packed_network():
    torch.manual_seed(0)
    rnn = nn.RNN(3, 4, batch_first=True, bidirectional=True)
    x, lengths = torch.randn(3, 5, 3), torch.tensor([2, 5, 1])
    packed, ends = rnn(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
    memory, _ = pad_packed_sequence(packed, batch_first=True)
    directions = [[w, u, b + a] for w, u, b, a in rnn.all_weights]
    got = read_both_ways.reference(x, lengths, *directions)
    torch.testing.assert_close(got, (memory, ends.transpose(0, 1).flatten(1)))


def test_a_row_is_the_other_one_place_later():
    going_in, wanted = shift_targets.reference([[5, 6, 7], []], bos=1, eos=2, pad=9)
    assert going_in.tolist() == [[1, 5, 6, 7], [1, 9, 9, 9]]
    assert wanted.tolist() == [[5, 6, 7, 2], [2, 9, 9, 9]]


def test_a_card_is_counted_out():
    longest, share = card_size.reference(vocab_size=3, n_words=3, d_model=2, levels=4)
    assert 3**longest <= 4**2 < 3 ** (longest + 1)
    assert share == 4**2 / 3**3


def test_equally_hard_words_leave_nothing_between_the_curves():
    lengths = torch.tensor([9, 3, 6])
    exact = torch.tensor(0.95) ** (lengths + 1)
    words, no_harder = two_effects.reference(exact, lengths)
    torch.testing.assert_close(words, torch.full((3,), 0.95))
    torch.testing.assert_close(no_harder, exact)
