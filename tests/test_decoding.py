"""Decoding: against brute force over all sequences of a small tree of probabilities."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.decoding import (
    beam_search,
    decode,
    greedy,
    keep_top_k,
    keep_top_p,
    length_norm,
    sample,
)
from course_tests.refusals import refusals

V, DEPTH, END = 3, 4, 2
SEEDS = st.integers(0, 2**31)
ONE = torch.tensor([0])


def unmoved(state, indices):
    return state


class Tree:
    """A model whose next token depends on the whole prefix; its state is the prefix's number."""

    def __init__(self, seed, sharpness=1.5):
        generator = torch.Generator().manual_seed(seed)
        logits = torch.randn(2 * V**DEPTH, V, generator=generator, dtype=torch.float64)
        self.log_probs = (sharpness * logits).log_softmax(-1)
        self.sizes = []

    def step(self, tokens, state):
        self.sizes.append(len(tokens))
        node = state * V + tokens + 1
        return self.log_probs[node], node

    def reorder(self, state, indices):
        return state[indices]

    def all_sequences(self, start, max_len):
        """Every sequence that ends, or is cut at ``max_len``, with its log-probability."""
        for length in range(1, max_len + 1):
            for tokens in itertools.product(range(V), repeat=length):
                whole = tokens[-1] == END or length == max_len
                if whole and END not in tokens[:-1]:
                    node, total = torch.tensor([0]), 0.0
                    for last, token in zip((start, *tokens), tokens, strict=False):
                        log_probs, node = self.step(torch.tensor([last]), node)
                        total += float(log_probs[0, token])
                    yield tokens, total


def begin(*tokens):
    return torch.tensor(tokens), torch.zeros(len(tokens), dtype=torch.long)


def search(tree, start, state, **options):
    return beam_search(tree.step, start, state, reorder=tree.reorder, **options)


def cut(row):
    row = row.tolist()
    return tuple(row[: row.index(END) + 1]) if END in row else tuple(row)


@given(seed=SEEDS, alpha=st.sampled_from([0.0, 0.6, 2.0]))
@settings(max_examples=15, deadline=None)
def test_a_beam_that_holds_everything_is_an_exhaustive_search(seed, alpha):
    tree = Tree(seed)
    start, state = begin(0, 1)
    everything = {"beam_size": V**DEPTH, "max_len": DEPTH, "end": END}
    beam = search(tree, start, state, length_penalty=alpha, **everything)
    for b, first in enumerate(start.tolist()):
        ranked = sorted(
            (
                (total / ((5 + len(tokens)) / 6) ** alpha, total, tokens)
                for tokens, total in tree.all_sequences(first, DEPTH)
            ),
            reverse=True,
        )
        for k, (score, total, tokens) in enumerate(ranked):
            assert cut(beam.tokens[b, k]) == tokens
            assert math.isclose(beam.log_probs[b, k], total, abs_tol=1e-9)
            assert math.isclose(beam.scores[b, k], score, abs_tol=1e-9)
        assert (beam.scores[b, len(ranked) :] == -math.inf).all()


@given(seed=SEEDS, beam_size=st.integers(1, 5), alpha=st.sampled_from([0.0, 1.0]))
@settings(max_examples=20, deadline=None)
def test_a_beam_is_the_beam_written_with_lists(seed, beam_size, alpha):
    tree = Tree(seed)
    start, state = begin(0)
    hypotheses, aside = [((), 0.0, torch.tensor([0]), False)], []

    def score(hypothesis):
        return hypothesis[1] / ((5 + len(hypothesis[0])) / 6) ** alpha

    for _ in range(DEPTH):
        extended = []
        for tokens, total, node, done in hypotheses:
            if done:
                extended.append((tokens, total, node, True))
                continue
            log_probs, after = tree.step(torch.tensor([(0, *tokens)[-1]]), node)
            for v in range(V):
                extended.append(((*tokens, v), total + float(log_probs[0, v]), after, v == END))
        best = sorted(extended, key=score, reverse=True)[:beam_size]
        aside += [h for h in hypotheses if h[3] and h[0] not in [tokens for tokens, *_ in best]]
        hypotheses = best
    options = {"beam_size": beam_size, "max_len": DEPTH, "end": END, "length_penalty": alpha}
    beam = search(tree, start, state, **options)
    found = beam.tokens[0][beam.scores[0] > -math.inf]
    ranked = sorted(hypotheses + aside, key=score, reverse=True)[:beam_size]
    assert [cut(row) for row in found] == [h[0] for h in ranked]


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_a_sentence_that_ended_is_not_lost_to_worse_ones(alpha):
    # After word 0 comes 0 or 1, then any of five words, then the end: no such sentence is likely.
    end, table = 5, torch.zeros(4, 6, 6)
    table[0, 4] = torch.tensor([0.65, 0.05, 0, 0, 0, 0.3])
    table[1, :, :2] = 0.5
    table[2, :, :5] = 0.2
    table[3, :, end] = 1.0

    def follow(tokens, step):
        return table[step[0], tokens].log(), step + 1

    options = {"beam_size": 2, "max_len": 6, "end": end, "length_penalty": alpha}
    start, state = torch.tensor([4, 4]), torch.zeros(2, dtype=torch.long)
    beam = beam_search(follow, start, state, reorder=lambda step, i: step[i], **options)
    assert beam.tokens[:, 0].tolist() == 2 * [[end, end, end, end]]
    assert beam.log_probs[0].exp().tolist() == pytest.approx([0.3, 0.065])
    assert (beam.scores[:, 0] >= beam.scores[:, 1]).all() and beam.state.shape == (4,)


def test_the_length_penalty_changes_the_winner():
    # Two tokens of .6 are worth .36, less than one of .4; per length they are worth more.
    table = torch.tensor([[0.0, 0.6, 0.4], [0.0, 0.4, 0.6], [0, 0, 1]]).log()
    best = []
    for alpha in (0.0, 5.0):
        options = {"beam_size": 3, "max_len": 2, "end": END, "length_penalty": alpha}
        beam = beam_search(
            lambda tokens, state: (table[tokens], state), ONE, None, reorder=unmoved, **options
        )
        best.append(cut(beam.tokens[0, 0]))
    assert best == [(END,), (1, END)]
    norms = length_norm(torch.tensor([1.0, 7.0]).double(), 0.5)
    torch.testing.assert_close(norms, torch.tensor([1.0, 2**0.5]).double())


def test_what_has_ended_is_padded_and_costs_nothing():
    table = torch.tensor([[0.1, 0.2, 0.7], [0.1, 0.8, 0.1], [0.5, 0.5, 0.0]]).log()

    def step(tokens, state):
        return table[tokens], state + 1

    start = torch.tensor([0, 1])
    out = greedy(step, start, 0, max_len=3, end=END, pad=0)
    assert out.tokens.tolist() == [[END, 0, 0], [1, 1, 1]]
    torch.testing.assert_close(out.log_probs.exp(), torch.tensor([0.7, 0.8**3]))
    assert out.state == 3
    assert greedy(step, torch.tensor([0, 0]), 0, max_len=3, end=END).state == 1  # stops early
    beam = beam_search(
        step, start, 0, reorder=lambda state, indices: state, beam_size=1, max_len=3, end=END, pad=0
    )
    assert beam.tokens[:, 0].tolist() == out.tokens.tolist()
    torch.testing.assert_close(beam.log_probs[:, 0], out.log_probs)


def test_a_model_is_asked_for_one_row_a_sequence_at_first_and_one_a_hypothesis_after():
    tree = Tree(0)
    start, state = begin(0, 1)
    search(tree, start, state, beam_size=5, max_len=3)
    assert tree.sizes == [2, 6, 10]


def draw(tree, seed=0, n=1, **options):
    start, state = begin(*[0] * n)
    generator = torch.Generator().manual_seed(seed)
    return sample(tree.step, start, state, max_len=3, generator=generator, **options)


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_the_likeliest_token_alone_is_greedy(seed):
    tree = Tree(seed)
    start, state = begin(0)
    expected = greedy(tree.step, start, state, max_len=3).tokens
    for options in ({"top_k": 1}, {"top_p": 1e-9}, {"temperature": 1e-9}):
        assert torch.equal(draw(tree, seed, **options).tokens, expected)


def test_draws_follow_the_probabilities():
    tree = Tree(1)
    first = draw(tree, n=20000, temperature=2.0).tokens[:, 0]
    expected = (tree.log_probs[1] / 2).softmax(-1)
    frequencies = first.bincount(minlength=V) / 20000
    # Four standard errors of a frequency.
    torch.testing.assert_close(frequencies.double(), expected, atol=4 * 0.5 / 20000**0.5, rtol=0)


def test_a_generator_decides_and_the_global_one_is_left_alone():
    tree = Tree(1)
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    assert torch.equal(draw(tree, 5, n=50).tokens, draw(tree, 5, n=50).tokens)
    assert not torch.equal(draw(tree, 5, n=50).tokens, draw(tree, 6, n=50).tokens)
    assert torch.equal(before, torch.random.get_rng_state())


def test_log_probs_are_the_models_whatever_was_cut():
    tree = Tree(2)
    out = draw(tree, n=4, temperature=0.5, top_k=2, top_p=0.9)
    for row, total in zip(out.tokens, out.log_probs, strict=True):
        node, expected = torch.tensor([0]), 0.0
        for last, token in zip([torch.tensor(0), *row], row, strict=False):
            log_probs, node = tree.step(last[None], node)
            expected += float(log_probs[0, token])
        assert math.isclose(expected, total, abs_tol=1e-9)


@given(seed=SEEDS, p=st.floats(0.01, 1.0), size=st.integers(1, 8))
@settings(max_examples=50, deadline=None)
def test_the_nucleus_is_the_smallest_set_that_holds_p(seed, p, size):
    generator = torch.Generator().manual_seed(seed)
    probs = torch.randn(size, generator=generator, dtype=torch.float64).softmax(-1)
    kept = keep_top_p(probs.log(), p) > -math.inf
    smallest = next(
        n
        for n in range(1, size + 1)
        for subset in itertools.combinations(probs.tolist(), n)
        if sum(subset) >= p - 1e-12
    )
    assert kept.sum() == smallest
    assert probs[kept].sum() >= p - 1e-12
    assert probs[kept].min() >= probs[~kept].max() if smallest < size else True


def test_the_token_that_reaches_p_is_the_last_that_stays():
    log_probs = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64).log()
    for p, count in ((0.5 - 1e-9, 1), (0.5 + 1e-9, 2), (0.8 - 1e-9, 2), (0.8 + 1e-9, 3), (1.0, 3)):
        assert (keep_top_p(log_probs, p) > -math.inf).sum() == count


def test_of_equal_tokens_exactly_k_stay():
    scores = torch.tensor([[1.0, 3.0, 3.0, 3.0], [2.0, 2.0, 2.0, 2.0]])
    assert keep_top_k(scores, 2).isfinite().tolist() == [
        [False, True, True, False],
        [True, True, False, False],
    ]
    assert torch.equal(keep_top_k(scores, 9), scores)


def test_cuts_work_in_half_precision():
    def even(tokens, state):
        return torch.zeros(1, 7, dtype=torch.float16), state

    generator = torch.Generator().manual_seed(0)
    out = sample(even, ONE, None, max_len=5, top_k=5, top_p=0.5, generator=generator)
    assert out.tokens.max() < 5 and out.log_probs.dtype == torch.float32


def uniform(tokens, state):
    return torch.zeros(len(tokens), 4), state


test_errors_name_what_came_and_what_was_wanted = refusals(
    (lambda: greedy(uniform, torch.zeros(2), None, max_len=3), "dtype torch.float32, wanted"),
    (lambda: greedy(uniform, torch.zeros(2, 1).long(), None, max_len=3), r"shape \(2, 1\)"),
    (lambda: greedy(uniform, ONE, None, max_len=0), "max_len is 0, wanted at least 1"),
    (lambda: sample(uniform, ONE, None, max_len=1, temperature=0.0), "temperature is 0.0"),
    (lambda: sample(uniform, ONE, None, max_len=1, top_k=0), "top_k is 0, wanted at least 1"),
    (lambda: sample(uniform, ONE, None, max_len=1, top_p=0.0), r"top_p is 0.0, wanted"),
    (lambda: sample(uniform, ONE, None, max_len=1, top_p=1.5), r"top_p is 1.5"),
    (
        lambda: beam_search(uniform, ONE, None, reorder=None, beam_size=0, max_len=1),
        "beam_size is 0, wanted at least 1",
    ),
    (lambda: keep_top_k(torch.tensor(0.0), 1), "single number"),
    (lambda: keep_top_p(torch.tensor(0.0), 0.5), "single number"),
)


FOLLOW = torch.tensor([[0, 7, 2, 1], [1, 0, 8, 1], [1, 1, 0, 8], [1, 1, 1, 7]]) / 10


@pytest.mark.parametrize("way", ["greedy", "sample", "beam"])
def test_no_numbers_are_refused_and_no_texts_have_no_continuation(way):
    options = {"method": way, "max_len": 3} | ({"beam_size": 2} if way == "beam" else {})

    def follow(value):
        return lambda tokens, state: (torch.full((len(tokens), 4), value), state)

    with pytest.raises(ValueError, match="NaN, wanted numbers"):
        decode(follow(math.nan), ONE, None, reorder=unmoved, **options)
    found = decode(follow(math.log(0.25)), ONE[:0], None, reorder=unmoved, end=3, **options)
    assert found.tokens.shape[0] == 0 and found.log_probs.shape[0] == 0
