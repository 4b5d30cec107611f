"""References that stand in no other module, against torch, the library and first principles."""

import math
import random

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.flop_counter import FlopCounterMode

from course_lib.attention import MultiHeadAttention, scaled_dot_product_attention
from course_lib.attention_maps import offset_score
from course_lib.bank.cheaper import (
    choose_blocks_answers,
    correcting_state_answers,
    forgetting_state,
    forgetting_state_answers,
)
from course_lib.bank.masks.convert_mask import CONVENTIONS
from course_lib.efficient import (
    gated_delta,
    orthogonal_features,
    performer_linear_attention,
    softmax_features,
)
from course_lib.masks import causal_mask
from course_lib.transformer.depth import attend_over_depth
from grader.checks.exercise import find
from grader.checks.grading import grade_source

qk_scale = find("attention.qk_scale")
bleu, induction_head = find("transformer.bleu"), find("reading.induction_head")


def test_bleu_is_that_of_sacrebleu_where_something_of_every_length_is_right():
    metric = pytest.importorskip("sacrebleu.metrics.bleu").BLEU(tokenize="none")
    rng = random.Random(0)
    for most in (9, 12, 15):  # shorter than the references, as long and longer
        targets = [rng.choices("abcdef", k=12) for _ in range(20)]
        texts = [[*t, "a", "b", "c"][: rng.randint(most - 3, most)] for t in targets]
        texts = [[w if rng.random() < 0.8 else "f" for w in text] for text in texts]
        lines = ([" ".join(words) for words in some] for some in (texts, targets))
        found = metric.corpus_score(next(lines), [next(lines)])
        assert all(found.counts) and (found.bp < 1) == (most < 15)
        assert bleu.reference(texts, targets) == pytest.approx(found.score)


def test_the_score_of_a_repeated_text_is_that_of_the_library():
    maps = torch.rand(3, 10, 10, generator=torch.Generator().manual_seed(1))
    tokens = torch.randperm(5, generator=torch.Generator().manual_seed(0)).repeat(2)
    scores, head = induction_head.reference(maps, tokens)
    want = offset_score(maps, -4, queries=torch.arange(10) > 4)
    torch.testing.assert_close(scores, want)
    assert head == want.argmax()


@pytest.mark.parametrize("n_keys, weight", [(2, 0.6), (8, 0.51), (1000, 0.99)])
def test_with_the_scale_one_key_gets_just_the_weight(n_keys, weight):
    scale = qk_scale.reference(n_keys, weight)
    scores = torch.tensor([scale] + [-scale] * (n_keys - 1), dtype=torch.float64)
    assert scores.softmax(0)[0].item() == pytest.approx(weight)


def test_equal_weights_need_no_scale():
    assert [qk_scale.reference(n, w) for n, w in ((1, 0.9), (4, 0.25), (4, 0.1))] == [0, 0, 0]


depth_mixtures = find("block.depth_mixtures")


def test_each_reader_mixes_as_one_alone_would():
    outputs, queries = torch.randn(4, 2, 3, 8), torch.randn(4, 8)
    mixtures, weights = depth_mixtures.reference(outputs, queries)
    for last, query in enumerate(queries):
        wanted, wanted_weights = attend_over_depth(outputs[: last + 1], query)
        torch.testing.assert_close(mixtures[last], wanted)
        torch.testing.assert_close(weights[last, : last + 1], wanted_weights)
        assert not weights[last, last + 1 :].any()


OF_MODULES = """
from torch import nn

def encoder_block(x, state, n_heads, norm="pre", mask=None):
    d_ff, d = state["feed_forward.in_proj.weight"].shape
    parts = {"attention_norm": nn.LayerNorm(d), "feed_forward_norm": nn.LayerNorm(d)}
    parts |= {"feed_forward.in_proj": nn.Linear(d, d_ff),
              "feed_forward.out_proj": nn.Linear(d_ff, d)}
    for name, part in parts.items():
        part.load_state_dict({key: state[f"{name}.{key}"] for key in ("weight", "bias")})
    before, between, wide, narrow = parts.values()
    forward = lambda y: narrow(F.gelu(wide(y)))
    if norm == "pre":
        x = x + multi_head(before(x), state, n_heads, mask)
        return x + forward(between(x))
    x = before(x + multi_head(x, state, n_heads, mask))
    return between(x + forward(x))
"""


@pytest.mark.parametrize("seed", range(5))
def test_a_block_of_modules_has_all_its_points(seed):
    """Loaded, they have single precision: no text asks for another."""
    exercise = find("block.encoder_block")
    report = grade_source(exercise, OF_MODULES, str(seed))
    assert report.full, [(row.name, row.why) for row in report.rows if not row.passed]


head_contributions = find("heads.head_contributions")
head_cost = find("heads.head_cost")
head_importance = find("heads.head_importance")
multi_head_attention = find("heads.multi_head_attention")
positional_heads = find("heads.positional_heads")


def matrices(layer):
    parts = (layer.q_proj, layer.k_proj, layer.v_proj, layer.out_proj)
    return [part.weight.T for part in parts]


@pytest.mark.parametrize("n_heads", [1, 3, 6])
def test_several_heads_as_in_the_layer(n_heads):
    torch.manual_seed(0)
    layer = MultiHeadAttention(6, n_heads, d_memory=4, bias=False)
    x, memory = torch.randn(2, 3, 6), torch.randn(2, 5, 4)
    keep = torch.rand(2, 1, 3, 5) < 0.6
    keep[..., 0] = True
    wanted = layer(x, memory, mask=keep, return_weights=True)
    got = multi_head_attention.reference(x, memory, *matrices(layer), n_heads, keep)
    torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("factors", [[1.0, 0.0, 0.5], [[1.0, 1.0, 0.0], [0.0, 2.0, 1.0]]])
def test_contributions_add_up_to_the_layer_with_a_head_mask(factors):
    torch.manual_seed(0)
    layer = MultiHeadAttention(6, 3, bias=False)
    x, mask = torch.randn(2, 4, 6), torch.tensor(factors)
    _, heads = layer(x, return_heads=True)
    parts = head_contributions.reference(heads, layer.out_proj.weight.T, mask)
    torch.testing.assert_close(parts.sum(1), layer(x, head_mask=mask))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("n_heads", [1, 4])
def test_costs_are_those_that_torch_counts(n_heads, bias):
    layer = MultiHeadAttention(8, n_heads, bias=bias)
    x, memory = torch.randn(3, 5, 8), torch.randn(3, 7, 8)
    with FlopCounterMode(display=False) as counter:
        _, weights = layer(x, memory, return_weights=True)
    counted = (
        sum(p.numel() for p in layer.parameters()),
        counter.get_total_flops() // 2,
        weights.numel(),
    )
    assert head_cost.reference(8, n_heads, 5, 7, 3, bias) == counted


def test_the_worth_of_a_pair_exceeds_the_sum_by_twice_the_inner_product():
    generator = torch.Generator().manual_seed(0)
    parts = torch.randn(50, 4, 3, generator=generator, dtype=torch.float64)
    target = torch.randn(50, 3, generator=generator, dtype=torch.float64)
    alone, pairs = head_importance.reference(parts, target)
    inner = torch.einsum("nad,nbd->ab", parts, parts) / target.numel()
    more = pairs - alone[:, None] - alone
    off = ~torch.eye(4, dtype=torch.bool)
    torch.testing.assert_close(more[off], 2 * inner[off])
    torch.testing.assert_close(pairs.diagonal(), alone)


def test_positional_heads_by_hand():
    eye = torch.eye(6)
    maps = torch.stack([eye.roll(-1, 1), eye.roll(2, 1), eye, torch.full((6, 6), 1 / 6)])
    # Equal weights: the first key is the most attended one.
    assert positional_heads.reference(maps[None], torch.tensor([6])) == [-1, 2, 0, None]
    assert positional_heads.reference(maps[None], torch.tensor([6]), 0.9, 1) == [-1, None, 0, None]
    half = maps.clone()
    half[0, 4:] = eye[0]
    assert positional_heads.reference(half[None], torch.tensor([6]))[0] is None
    assert positional_heads.reference(half[None], torch.tensor([4]))[0] == -1
    padded = maps.clone()
    padded[..., 4:] = 9  # what stands in columns after a sentence means nothing
    assert positional_heads.reference(padded[None], torch.tensor([4]))[0] == -1


attend_batch = find("masks.attend_batch")
convert_mask = find("masks.convert_mask")
decoder_mask = find("masks.decoder_mask")
leak_gap = find("masks.leak_gap")
pack_documents = find("masks.pack_documents")
window_mask = find("masks.window_mask")


@pytest.mark.parametrize("fill", [-20.0, -100.0])
@pytest.mark.parametrize("visible, blocked, share", [(1, 1, 0.5), (3, 7, 0.01), (9, 2, 0.9)])
def test_at_the_gap_the_softmax_leaks_just_that_share(fill, visible, blocked, share):
    gap = leak_gap.reference(fill, visible, blocked, share)
    scores = torch.tensor([0.0] * visible + [gap + fill] * blocked, dtype=torch.float64)
    assert scores.softmax(0)[visible:].sum().item() == pytest.approx(share)


def test_ends_of_the_gap():
    assert leak_gap.reference(-math.inf, 2, 3, 0.5) == math.inf
    assert leak_gap.reference(-100.0, 2, 0, 0.5) == math.inf
    assert leak_gap.reference(-100.0, 0, 3, 0.5) == -math.inf


@pytest.mark.parametrize("causal", [False, True])
def test_a_window_by_its_definition(causal):
    wanted = [[abs(i - j) <= 2 and (j <= i or not causal) for j in range(7)] for i in range(7)]
    assert window_mask.reference(7, 2, causal).tolist() == wanted


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_decoder_mask_by_its_definition(side):
    T, S, lengths = 3, 5, [0, 2, 5]
    found = decoder_mask.reference(torch.tensor(lengths), T, S, side)
    for b, n in enumerate(lengths):
        real = range(S - n, S) if side == "left" else range(n)
        wanted = [[s in real and s <= S - T + t for s in range(S)] for t in range(T)]
        assert found[b, 0].tolist() == wanted


def test_every_pair_of_conventions_comes_back_unchanged():
    keep = torch.tensor([[True] * 4, [True, False, False, False], [False] * 4])
    for source in CONVENTIONS:
        mask = convert_mask.reference(keep, "keep", source, 4)
        for target in CONVENTIONS:
            there = convert_mask.reference(mask, source, target, 4)
            back = convert_mask.reference(there, target, source, 4)
            assert torch.equal(back, mask) and back.dtype == mask.dtype


def test_a_table_for_each_sentence_reaches_all_its_heads():
    random = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 2, 2, 4, 6, generator=random)
    mask = torch.rand(2, 4, 4, generator=random) < 0.6
    mask[1, 2] = False
    out, _ = attend_batch.reference(q, k, v, mask)
    wanted = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None])
    torch.testing.assert_close(out, wanted)


def test_a_gradient_that_fits_wrong_weights_is_not_nothing_in_an_empty_row():
    source = """
def masked_softmax(scores, mask=None):
    if mask is not None:
        scores = scores + torch.zeros_like(scores).masked_fill(~mask, -1e9)
    return scores.softmax(-1)
"""
    rows = grade_source(find("masks.masked_softmax"), source, "1").rows
    failed = {row.name: row.why for row in rows if row.failed}
    assert "empty row" in failed["gradients"] and "broadcasting" not in failed


def test_packed_documents_by_their_definition():
    lengths, T = [[2, 0, 3], [1, 2, 0], [0, 0, 0]], 6
    mask, positions = pack_documents.reference(torch.tensor(lengths), T)
    for b, row in enumerate(lengths):
        place = [(d, i) for d, n in enumerate(row) for i in range(n)]
        place += [(None, 0)] * (T - len(place))
        wanted = [
            [p[0] is not None and p[0] == q[0] and q[1] <= p[1] for q in place] for p in place
        ]
        assert mask[b, 0].tolist() == wanted and positions[b].tolist() == [i for _, i in place]


card_size = find("seq2seq.card_size")
gate_reach = find("seq2seq.gate_reach")
read_both_ways = find("seq2seq.read_both_ways")
recurrent_step = find("seq2seq.recurrent_step")
shift_targets = find("seq2seq.shift_targets")
state_jacobians = find("seq2seq.state_jacobians")
two_effects = find("seq2seq.two_effects")


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


def drawn(T, Dh, Dv):
    source = torch.Generator().manual_seed(0)
    return [torch.randn(2, 3, T, n, dtype=torch.float64, generator=source) for n in (Dh, Dh, Dv)]


def empty(q, v):
    lead, Dh = q.shape[:-2], q.shape[-1]
    return torch.zeros(*lead, Dh, v.shape[-1], dtype=q.dtype), torch.zeros(*lead, Dh, dtype=q.dtype)


# More tokens than the reference takes at once, so that its state is handed on.
@pytest.mark.parametrize("T", [1, 5, 150])
@pytest.mark.parametrize("decay", [1.0, 0.9, 0.4])
def test_it_is_attention_with_the_logarithms_of_the_products_as_scores(T, decay):
    q, k, v = drawn(T, 4, 3)
    phi_q, phi_k = (forgetting_state.features(x) for x in (q, k))
    place = torch.arange(T, dtype=q.dtype)
    # A weight that fades by a factor per step is a score that falls by a constant: as in ALiBi.
    scores = (phi_q @ phi_k.mT).log() + (place[:, None] - place) * math.log(decay)
    want, _ = scaled_dot_product_attention(0 * q, 0 * k, v, causal_mask(T), scores)
    out, state, total = forgetting_state_answers.reference(q, k, v, *empty(q, v), decay)
    torch.testing.assert_close(out, want)
    kept = phi_k * (decay ** (T - 1 - place)).unsqueeze(-1)
    torch.testing.assert_close(state, kept.mT @ v)
    torch.testing.assert_close(total, kept.sum(-2))


def test_with_random_features_and_without_decay_it_is_the_causal_performer(monkeypatch):
    q, k, v = drawn(40, 4, 3)
    directions = orthogonal_features(8, 4, generator=torch.Generator().manual_seed(1)).double()

    def features(x):
        # One stabiliser for a head, which cancels in the average.
        return softmax_features(x, directions, query=False, eps=0.0)

    monkeypatch.setattr(forgetting_state_answers, "features", features)
    lead = torch.zeros(2, 3, 8, 3, dtype=q.dtype), torch.zeros(2, 3, 8, dtype=q.dtype)
    out, *_ = forgetting_state_answers.reference(q, k, v, *lead)
    want = performer_linear_attention(q, k, v, directions, causal=True, eps=0.0)
    torch.testing.assert_close(out, want)


def test_a_state_that_corrects_itself_is_the_librarys_gated_delta_rule():
    q, k, v = drawn(70, 4, 3)  # more than a chunk of the library
    k = torch.nn.functional.normalize(k, dim=-1)
    keep, rate = torch.rand(2, 2, 3, 70, dtype=q.dtype, generator=torch.Generator().manual_seed(1))
    out, _ = correcting_state_answers.reference(q, k, v, empty(q, v)[0], keep, rate)
    torch.testing.assert_close(out, gated_delta(q, k, v, keep, rate))


def test_with_every_block_chosen_it_is_causal_and_with_none_it_stays_in_its_block():
    q, k, v = drawn(11, 4, 3)
    place = torch.arange(11)
    own = (place[:, None] // 3 == place // 3) & causal_mask(11)
    for wanted, mask in ((9, causal_mask(11)), (0, own)):
        want, _ = scaled_dot_product_attention(q, k, v, mask)
        torch.testing.assert_close(choose_blocks_answers.reference(q, k, v, 3, wanted), want)
