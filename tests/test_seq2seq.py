"""Encoder-decoder: the scores by their formulas, and padding that reaches nothing."""

from itertools import product

import pytest
import torch

from course_lib.seq2seq import (
    Encoder,
    Seq2Seq,
    Seq2SeqConfig,
    attend,
    bahdanau,
    exact_match,
    luong_concat,
    luong_dot,
    luong_general,
    luong_readout,
)
from course_tests.refusals import refusals

B, T, S, D = 3, 4, 5, 6
ATTENTIONS = [None, "dot", "general", "concat", "additive"]
CELLS = ["rnn", "lstm", "gru"]
PAD, BOS, EOS = 0, 1, 2


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def make(attention=None, *, dtype=torch.float64, **kwargs):
    config = Seq2SeqConfig(12, 11, d_model=D, attention=attention, **kwargs)
    return Seq2Seq(config, generator=seeded()).to(dtype)


def batch():
    source = torch.tensor([[3, 4, 5, 6, 7], [8, 9, PAD, PAD, PAD], [10, 11, 3, PAD, PAD]])
    target = torch.tensor([[BOS, 5, 6, 7, EOS], [BOS, 8, EOS, PAD, PAD], [BOS, 9, 9, EOS, PAD]])
    return source, torch.tensor([5, 2, 3]), target


def test_scores_follow_their_formulas_pair_by_pair():
    g = seeded()
    query = torch.randn(B, T, 4, generator=g, dtype=torch.float64)
    keys = torch.randn(B, S, 3, generator=g, dtype=torch.float64)
    general = torch.randn(4, 3, generator=g, dtype=torch.float64)
    weight = torch.randn(7, 4 + 3, generator=g, dtype=torch.float64)
    v = torch.randn(7, generator=g, dtype=torch.float64)
    scores = {
        "general": luong_general(query, keys, general),
        "concat": luong_concat(query, keys, weight, v),
        "additive": bahdanau(query, keys, weight[:, :4], weight[:, 4:], v),
        "dot": luong_dot(query[..., :3], keys),
    }
    for b, t, s in product(range(B), range(T), range(S)):
        q, k = query[b, t], keys[b, s]
        expected = {
            "general": (general.T @ q) @ k,
            "concat": v @ torch.tanh(weight @ torch.cat([q, k])),
            "additive": v @ torch.tanh(weight[:, :4] @ q + weight[:, 4:] @ k),
            "dot": (q[:3] * k).sum(),
        }
        for kind, value in expected.items():
            torch.testing.assert_close(scores[kind][b, t, s], value)


def test_context_is_a_weighted_mean_of_the_real_words_only():
    scores, values = torch.randn(B, T, S), torch.randn(B, S, D)
    mask = torch.arange(S) < torch.tensor([5, 2, 0])[:, None, None]
    context, weights = attend(scores, values, mask)
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).float().expand(B, T))
    assert (weights[~mask.expand(B, T, S)] == 0).all()
    torch.testing.assert_close(context[0], torch.softmax(scores[0], -1) @ values[0])
    torch.testing.assert_close(context[1], torch.softmax(scores[1, :, :2], -1) @ values[1, :2])
    assert (context[2] == 0).all()


def test_readout_is_tanh_of_one_matrix_on_both():
    context, hidden, weight = torch.randn(B, T, 2), torch.randn(B, T, 3), torch.randn(4, 5)
    expected = torch.tanh(context @ weight[:, :2].T + hidden @ weight[:, 2:].T)
    torch.testing.assert_close(luong_readout(context, hidden, weight), expected)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_sentence_alone_and_in_a_padded_batch(attention, cell, bidirectional):
    model = make(attention, cell=cell, bidirectional=bidirectional, n_layers=2)
    source, lengths, target = batch()
    together = model(source, lengths, target[:, :-1])
    for b, length in enumerate(lengths.tolist()):
        alone = model(source[b : b + 1, :length], lengths[b : b + 1], target[b : b + 1, :-1])
        torch.testing.assert_close(together[b], alone[0])


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_padding_changes_no_output_and_no_gradient(attention, bidirectional):
    model = make(attention, bidirectional=bidirectional)
    source, lengths, target = batch()
    noisy = torch.cat([source, torch.full((B, 2), PAD)], dim=1)
    noisy[torch.arange(S + 2) >= lengths[:, None]] = 9  # real words where the padding was

    def run(source):
        model.zero_grad()
        loss = model.loss(source, lengths, target)
        loss.backward()
        grads = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        assert len(grads) == len(list(model.parameters()))
        return loss, *grads

    for clean, with_noise in zip(run(source), run(noisy), strict=True):
        torch.testing.assert_close(clean, with_noise)


def test_target_padding_does_not_change_the_loss():
    model = make("general")
    source, lengths, target = batch()
    longer = torch.cat([target, torch.full((B, 3), PAD)], dim=1)
    torch.testing.assert_close(
        model.loss(source, lengths, target), model.loss(source, lengths, longer)
    )


@pytest.mark.parametrize("attention", ATTENTIONS[1:])
def test_weights_on_padding_are_exactly_zero(attention):
    model = make(attention)
    source, lengths, target = batch()
    _, weights = model(source, lengths, target[:, :-1], return_weights=True)
    assert weights.shape == (B, T, S)
    assert (weights[(torch.arange(S) >= lengths[:, None])[:, None].expand(B, T, S)] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, T, dtype=torch.float64))


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_the_last_state_is_that_of_the_last_real_word(cell, bidirectional):
    encoder = Encoder(12, D, n_layers=2, cell=cell, bidirectional=bidirectional)
    source, lengths, _ = batch()
    memory, state = encoder(source, lengths)
    top = (state[0] if cell == "lstm" else state)[-1]
    forward = D // 2 if bidirectional else D
    last = memory[torch.arange(B), lengths - 1]
    torch.testing.assert_close(top[:, :forward], last[:, :forward])
    torch.testing.assert_close(top[:, forward:], memory[:, 0, forward:])


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_token_by_token_equals_all_at_once(attention, cell):
    model = make(attention, cell=cell, n_layers=2)
    source, lengths, target = batch()
    memory, state = model.encoder(source, lengths)
    mask = (torch.arange(S) < lengths[:, None])[:, None]
    logits, weights, _ = model.decoder(target, state, memory, mask)
    for t in range(target.shape[1]):
        step_logits, step_weights, state = model.decoder(target[:, t : t + 1], state, memory, mask)
        torch.testing.assert_close(step_logits[:, 0], logits[:, t])
        if attention is not None:
            torch.testing.assert_close(step_weights[:, 0], weights[:, t])


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_no_prediction_depends_on_later_target_tokens(attention):
    model = make(attention)
    source, lengths, target = batch()
    changed = target.clone()
    changed[:, 3:] = 10
    before, after = model(source, lengths, target), model(source, lengths, changed)
    torch.testing.assert_close(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3], after[:, 3])


def test_luong_asks_with_the_current_state_and_bahdanau_with_the_previous():
    source, lengths, target = batch()
    first_words = target[:, :1], torch.full((B, 1), 7)
    for attention, changes in (("dot", True), ("concat", True), ("additive", False)):
        model = make(attention)
        one, other = (model(source, lengths, w, return_weights=True)[1] for w in first_words)
        assert torch.allclose(one, other) is not changes


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_greedy_takes_the_most_probable_token_given_its_own_words(attention):
    model = make(attention)
    source, lengths, _ = batch()
    tokens, weights = model.greedy(source, lengths, max_len=6)
    target_in = torch.cat([torch.full((B, 1), BOS), tokens[:, :-1]], dim=1)
    logits, forced = model(source, lengths, target_in, return_weights=True)
    for b in range(B):
        ends = (tokens[b] == EOS).nonzero()
        n = int(ends[0]) + 1 if len(ends) else tokens.shape[1]
        assert torch.equal(logits[b, :n].argmax(-1), tokens[b, :n])
        assert (tokens[b, n:] == PAD).all()
        if attention is not None:
            torch.testing.assert_close(weights[b, :n], forced[b, :n])
            assert (weights[b, n:] == 0).all()
    assert (weights is None) == (attention is None)


def test_greedy_pads_after_the_end_and_stops_when_all_have_ended():
    model = make("general")
    with torch.no_grad():
        model.decoder.out_proj.weight.zero_()
        model.decoder.out_proj.bias.zero_()[EOS] = 1.0
    source, lengths, _ = batch()
    tokens, weights = model.greedy(source, lengths, max_len=9)
    assert tokens.tolist() == [[EOS]] * B and weights.shape == (B, 1, S)


def test_a_sentence_is_right_only_as_a_whole():
    truth = torch.tensor([[5, 6, EOS, PAD], [5, EOS, PAD, PAD], [5, 6, 7, EOS], [5, 6, 7, EOS]])
    said = torch.tensor([[5, 6, EOS], [5, 6, EOS], [5, 6, 7], [6, 6, 7]])
    assert exact_match(said, truth).tolist() == [True, False, False, False]
    assert exact_match(truth, said).tolist() == [True, False, False, False]
    longer = torch.cat([truth, torch.full((4, 2), PAD)], dim=1)
    assert exact_match(longer, truth).all()


def log_prob(model, source, lengths, tokens):
    """Of whole sentences ``(B, T)`` up to their end, by teacher forcing."""
    target_in = torch.cat([torch.full((len(tokens), 1), BOS), tokens[:, :-1]], dim=1)
    chosen = model(source, lengths, target_in).log_softmax(-1).gather(-1, tokens[..., None])
    ended = (tokens == EOS).cumsum(1) - (tokens == EOS).long()
    return chosen[..., 0].masked_fill(ended > 0, 0.0).sum(1)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_beam_knows_what_its_sentences_are_worth(attention, cell):
    model = make(attention, cell=cell, n_layers=2, bidirectional=True)
    source, lengths, _ = batch()
    beam = model.generate(source, lengths, max_len=5, method="beam", beam_size=4)
    steps = beam.tokens.shape[2]
    assert beam.tokens.shape[:2] == (B, 4) and steps <= 5
    for k in range(4):
        expected = log_prob(model, source, lengths, beam.tokens[:, k])
        torch.testing.assert_close(beam.log_probs[:, k].double(), expected)
    assert (beam.log_probs.diff(dim=1) <= 0).all()
    if attention is not None:
        assert beam.state.weights.shape == (B * 4, steps, S)
        best = beam.state.weights.unflatten(0, (B, 4))[:, 0]
        target_in = torch.cat([torch.full((B, 1), BOS), beam.tokens[:, 0, :-1]], dim=1)
        torch.testing.assert_close(best, model(source, lengths, target_in, return_weights=True)[1])


def count(model):
    return sum(p.numel() for p in model.parameters())


def test_parameter_counts():
    def gru(n_in, n_out):
        return 3 * (n_in * n_out + n_out * n_out + 2 * n_out)

    base = 12 * D + gru(D, D) + 11 * D + gru(D, D) + D * 11 + 11
    readout = 2 * D * D
    assert count(make()) == base
    assert count(make("dot")) == base + readout
    assert count(make("general")) == base + readout + D * D
    assert count(make("concat")) == base + readout + 2 * D * D + D
    extra_input = gru(2 * D, D) - gru(D, D)
    assert count(make("additive")) == base + readout + 2 * D * D + D + extra_input
    assert count(make(bidirectional=True)) == base - gru(D, D) + 2 * gru(D, D // 2)


SCORES = [
    luong_dot,
    lambda q, k: luong_general(q, k, torch.randn(4, 4)),
    lambda q, k: luong_concat(q, k, torch.randn(5, 8), torch.randn(5)),
    lambda q, k: bahdanau(q, k, torch.randn(5, 4), torch.randn(5, 4), torch.randn(5)),
]
test_errors_name_what_came_and_what_was_wanted = refusals(
    (lambda: make("dott"), "attention is 'dott', wanted None or one of"),
    (lambda: make(cell="GRU"), "cell is 'GRU', wanted one of"),
    (lambda: make(n_layers=0), "n_layers is 0"),
    (lambda: make(dropout=1.0), "dropout is 1.0"),
    (
        lambda: Seq2SeqConfig(4, 4, d_model=7, bidirectional=True),
        "d_model is 7, wanted an even number",
    ),
    (lambda: make().greedy(*batch()[:2], max_len=0), "max_len is 0"),
    (
        lambda: make().generate(*batch()[:2], max_len=3, method="bean"),
        "method is 'bean', wanted one of",
    ),
    (
        lambda: exact_match(torch.zeros(2, 3), torch.zeros(3, 3)),
        r"\(2, 3\) and target_out \(3, 3\)",
    ),
    (
        lambda: attend(torch.randn(1, 2, 5), torch.randn(3, 5, 4)),
        r"scores has shape \(1, 2, 5\) and values \(3, 5, 4\)",
    ),
    (
        lambda: bahdanau(
            torch.randn(1, 2, 4), torch.randn(1, 3, 4), *torch.randn(2, 5, 4), torch.randn(5, 1)
        ),
        r"v has shape \(5, 1\), wanted \(A,\)",
    ),
    *(
        (
            lambda score=score, keys=keys: score(torch.randn(1, 2, 4), keys),
            r"query has shape \(1, 2, \d\) and keys",
        )
        for score in SCORES
        for keys in (torch.randn(3, 5, 4), torch.randn(5, 4))
    ),
    (
        lambda: make().loss(
            torch.tensor([[3, 4]]), torch.tensor([2]), torch.tensor([[BOS, PAD, PAD]])
        ),
        "nothing but padding",
    ),
)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_no_sentences_have_no_translation(cell):
    model = Seq2Seq(Seq2SeqConfig(9, 9, d_model=8, cell=cell))
    source, lengths = torch.zeros(0, 4, dtype=torch.long), torch.zeros(0, dtype=torch.long)
    assert model(source, lengths, torch.zeros(0, 3, dtype=torch.long)).shape == (0, 3, 9)
    assert model.generate(source, lengths, max_len=3).tokens.shape[0] == 0
