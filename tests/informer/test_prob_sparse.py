"""ProbSparse attention: what is chosen, what the others get, and what must not leak."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.attention import scaled_dot_product_attention
from course_lib.informer import (
    ProbSparse,
    SparseRules,
    budget,
    first_in_prefix,
    max_mean_measure,
    sample_keys,
    sampled_scores,
    sparsity_measure,
)
from course_lib.informer.sampling import budgets
from course_lib.masks import causal_mask, padding_mask
from course_tests.refusals import refusals

T = 40


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def masks():
    generator = torch.Generator().manual_seed(5)
    some = torch.rand(2, 3, T, T, generator=generator) < 0.5
    some[:, :, 3] = False
    return {"none": None, "padding": padding_mask(torch.tensor([25, T]), T), "each": some,
            "pairs": some[0, 0], "keys": some[0, 0, 0], "queries": some[..., :1]}  # fmt: skip


def test_budgets_are_the_papers():
    papers = {0: 0, 1: 1, 2: 2, 3: 3, 20: 15, 24: 20, 48: 20, 96: 25, 720: 35}
    assert {n: budget(n, 5) for n in papers} == papers
    assert budget(96, 1) == math.ceil(math.log(96))
    lengths = torch.arange(5000)
    assert budgets(lengths, 3).tolist() == [budget(n, 3) for n in range(5000)]


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60), st.integers(1, 6), st.integers(0, 2**40))
def test_no_key_is_taken_twice_and_all_are_where_there_are_few(n, factor, seed):
    visible = torch.arange(n + 1)
    keys, counts = sample_keys(visible, n, factor, torch.tensor(seed), n_heads=2)
    assert keys.shape == (2, n + 1, budget(n, factor))
    for seen in range(n + 1):
        for head in range(2):
            taken = keys[head, seen][counts[0, seen]].tolist()
            assert len(set(taken)) == len(taken) == budget(seen, factor)
            assert all(0 <= key < seen for key in taken)
            if budget(seen, factor) == seen:
                assert sorted(taken) == list(range(seen))


def test_every_key_is_taken_equally_often():
    visible = torch.full((500,), 21)
    for replacement in (False, True):
        keys, counts = sample_keys(
            visible, 21, 2, torch.tensor(3), n_heads=8, replacement=replacement
        )
        assert counts.all()
        frequency = keys.flatten().bincount(minlength=21) / keys.numel() * 21
        assert ((frequency - 1).abs() < 0.1).all()


def test_heads_and_queries_have_keys_of_their_own_and_seeds_change_them():
    visible = torch.full((30,), 30)
    keys, _ = sample_keys(visible, 30, 2, torch.tensor(0), n_heads=4)
    assert len({tuple(row.tolist()) for row in keys.flatten(0, 1)}) == 120
    again, _ = sample_keys(visible, 30, 2, torch.tensor(0), n_heads=4)
    other, _ = sample_keys(visible, 30, 2, torch.tensor(1), n_heads=4)
    assert torch.equal(keys, again)
    assert not torch.equal(keys, other)


def test_the_sample_of_a_query_does_not_change_when_the_sequence_grows():
    longer, _ = sample_keys(torch.arange(1, 31), 30, 2, torch.tensor(4), n_heads=2)
    for n in (1, 7, 20):
        shorter, counts = sample_keys(torch.arange(1, n + 1), n, 2, torch.tensor(4), n_heads=2)
        kept = counts.expand_as(shorter)
        assert torch.equal(longer[:, :n, : shorter.shape[-1]][kept], shorter[kept])


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 50), st.floats(0.01, 30), st.integers(0, 1000))
def test_the_bounds_of_the_paper_hold(n, spread, seed):
    scores = draw(7, n, seed=seed) * spread
    exact = sparsity_measure(scores)
    assert (exact >= math.log(n) - 1e-9).all()
    assert (exact <= max_mean_measure(scores) + math.log(n) + 1e-9).all()


def test_the_measure_is_the_divergence_of_uniform_from_the_weights():
    scores = draw(7, 20)
    weights = scores.softmax(-1)
    divergence = (math.log(1 / 20) - weights.log()).mean(-1)
    torch.testing.assert_close(sparsity_measure(scores) - math.log(20), divergence)
    # The other direction of the divergence is another number.
    other = (weights * (weights * 20).log()).sum(-1)
    assert not torch.allclose(other, divergence, atol=1e-2)


def test_what_does_not_count_is_not_measured():
    scores = torch.tensor([[3.0, 1.0, 99.0], [5.0, 7.0, 9.0]])
    counts = torch.tensor([[True, True, False], [False, False, False]])
    assert max_mean_measure(scores, counts).tolist() == [1.0, -math.inf]
    assert max_mean_measure(scores, counts, torch.tensor([8, 8])).tolist() == [2.5, -math.inf]
    assert max_mean_measure(scores[:1], divisor=103).tolist() == [98.0]


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 30), st.integers(1, 3), st.integers(0, 1000))
def test_a_prefix_is_ranked_by_itself(n, factor, seed):
    measure = draw(2, n, seed=seed).round(decimals=1)
    active = first_in_prefix(measure, factor)
    for row in range(2):
        for i in range(n):
            ahead = sum(measure[row, j] >= measure[row, i] for j in range(i))
            assert active[row, i] == (ahead < budget(i + 1, factor))
    torch.testing.assert_close(first_in_prefix(measure[:, : n // 2], factor), active[:, : n // 2])


def test_both_ways_to_compute_sampled_scores():
    q, k, bias = draw(2, 3, 600, 4), draw(2, 3, 50, 4, seed=1), draw(3, 600, 50, seed=2)[None]
    generator = torch.Generator().manual_seed(0)
    for shape in ((7,), (600, 7), (1, 3, 600, 7), (2, 3, 600, 7)):
        keys = torch.randint(50, shape, generator=generator)
        for b in (None, bias):
            whole = q @ k.transpose(-2, -1) + (0 if b is None else b)
            expected = whole.gather(-1, keys.expand(2, 3, 600, 7))
            for explicit in (True, False):
                scores = sampled_scores(q, k, keys, b, explicit=explicit)
                torch.testing.assert_close(scores, expected)


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mask", masks().values(), ids=masks().keys())
@pytest.mark.parametrize("with_bias", [False, True])
def test_paths_agree_and_full_is_full(published, causal, mask, with_bias):
    q, k, v = draw(3, 2, 3, T, 8)
    bias = draw(1, 3, T, T, seed=1) if with_bias else None
    seen = causal_mask(T) if causal else None
    seen = mask if seen is None else seen if mask is None else seen & mask
    for factor in (2, 100):
        rules = SparseRules(factor)
        rules = rules.published() if published else rules
        fused, explicit = (ProbSparse(rules, causal=causal, fused=f).eval() for f in (True, False))
        out = fused(q, k, v, mask=mask, bias=bias)
        torch.testing.assert_close(explicit(q, k, v, mask=mask, bias=bias), out)
        again, weights = fused(q, k, v, mask=mask, bias=bias, return_weights=True)
        torch.testing.assert_close(again, out)
        torch.testing.assert_close(weights @ v, out)
        if seen is not None:
            assert not weights[~seen.expand_as(weights)].any()
            assert not out[~seen.any(-1).expand(2, 3, T)].any() if seen.ndim > 1 else True
        full = scaled_dot_product_attention(q, k, v, seen, bias)[0]
        if factor == 100:
            torch.testing.assert_close(out, full, rtol=0, atol=1e-10)
        else:
            assert not torch.allclose(out, full, atol=1e-3)


def as_published(q, k, v, index, factor, *, causal):
    """The published algorithm, in loops: M by the sampled keys, u rows, means or running sums."""
    B, H, L, width = q.shape
    u = min(L, factor * math.ceil(math.log(L)))
    out = torch.empty_like(v)
    for b in range(B):
        for h in range(H):
            measure = []
            for i in range(L):
                products = torch.stack([q[b, h, i] @ k[b, h, j] for j in index[i]])
                measure.append(products.max() - products.sum() / L)
            top = torch.stack(measure).topk(u).indices.tolist()
            for i in range(L):
                end = i + 1 if causal else L
                if i in top:
                    weights = (k[b, h, :end] @ q[b, h, i] / width**0.5).softmax(0)
                    out[b, h, i] = weights @ v[b, h, :end]
                else:
                    out[b, h, i] = v[b, h, :end].sum(0) if causal else v[b, h].mean(0)
    return out


@pytest.mark.parametrize("causal", [False, True])
def test_the_published_rules_are_the_published_algorithm(causal):
    q, k, v = draw(3, 2, 2, 24, 4)
    index = torch.randint(24, (24, 8), generator=torch.Generator().manual_seed(0))
    attend = ProbSparse(SparseRules(2).published(), causal=causal)
    expected = as_published(q, k, v, index, 2, causal=causal)
    torch.testing.assert_close(attend(q, k, v, samples=index), expected)


def test_with_replacement_all_heads_are_judged_by_the_same_keys():
    q, k, v = (x.expand(1, 3, T, 8) for x in draw(3, 1, 1, T, 8))
    for rules, alike in ((SparseRules(1).published(), True), (SparseRules(1), False)):
        out = ProbSparse(rules)(q, k, v)
        assert torch.equal(out[:, 0], out[:, 1]) == alike


def test_as_many_attend_as_the_paper_says_and_the_rest_take_a_mean():
    q, k, v = draw(3, 2, 3, 96, 8)
    _, weights = ProbSparse().eval()(q, k, v, return_weights=True)
    even = (weights - 1 / 96).abs().amax(-1) < 1e-12
    assert ((~even).sum(-1) == 25).all()
    _, weights = ProbSparse(causal=True).eval()(q, k, v, return_weights=True)
    average = torch.ones(96, 96, dtype=torch.float64).tril() / torch.arange(1, 97)[:, None]
    even = (weights - average).abs().amax(-1) < 1e-12
    # As prefixes are ranked, more attend, yet far from all.
    attending = (~even).sum(-1)
    assert (attending > 25).all() and (attending < 80).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 96, dtype=torch.float64))


def test_a_running_sum_grows_with_the_position_and_a_running_mean_does_not():
    q = k = draw(1, 1, T, 8) * 1e-3
    ones = torch.ones(1, 1, T, 8, dtype=torch.float64)
    summed = SparseRules(1).published()
    out = ProbSparse(summed, causal=True)(q, k, ones)[0, 0, :, 0]
    lazy = (out - 1).abs() > 1e-9
    assert lazy.sum() >= T - budget(T, 1) - 1
    torch.testing.assert_close(out[lazy], torch.arange(1.0, T + 1).double()[lazy])
    torch.testing.assert_close(ProbSparse(SparseRules(1), causal=True)(q, k, ones), ones)


@pytest.mark.parametrize("with_mask", [False, True])
def test_no_query_is_changed_by_what_comes_later(with_mask):
    mask = padding_mask(torch.tensor([T - 3] * 2), T) if with_mask else None
    attend = ProbSparse(SparseRules(1), causal=True).eval()
    for seed in range(20):
        q, k, v = draw(3, 2, 3, T, 8, seed=seed)
        out = attend(q, k, v, mask=mask)
        for t in (1, 17, T - 1):
            part = None if mask is None else mask[..., :t]
            alone = attend(q[:, :, :t], k[:, :, :t], v[:, :, :t], mask=part)
            torch.testing.assert_close(alone, out[:, :, :t])


def test_a_sequence_is_the_same_in_every_batch():
    q, k, v = draw(3, 4, 2, T, 8)
    attend = ProbSparse(SparseRules(1)).eval()
    torch.testing.assert_close(attend(q[2:3], k[2:3], v[2:3]), attend(q, k, v)[2:3])


def test_training_takes_other_keys_in_each_call_and_goes_on_where_it_stopped():
    q, k, v = draw(3, 2, 2, T, 8)
    attend = ProbSparse(SparseRules(1))
    before = torch.random.get_rng_state()
    first, second = attend(q, k, v), attend(q, k, v)
    assert not torch.equal(first, second)
    resumed = ProbSparse(SparseRules(1))
    resumed.load_state_dict(attend.state_dict())
    assert torch.equal(resumed(q, k, v), attend(q, k, v))
    attend.eval()
    assert torch.equal(attend(q, k, v), attend(q, k, v))
    assert torch.equal(before, torch.random.get_rng_state())
    other = ProbSparse(SparseRules(1), seed=1).eval()
    assert not torch.equal(other(q, k, v), ProbSparse(SparseRules(1)).eval()(q, k, v))


def test_weights_are_dropped_in_training_only():
    q, k, v = draw(3, 1, 1, T, 8)
    index = torch.arange(T)
    attend = ProbSparse(SparseRules(1), dropout=0.5)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        first, second = (attend(q, k, v, samples=index) for _ in range(2))
    differ = (first != second).any(-1)
    assert 0 < differ.sum() <= budget(T, 1)
    attend.eval()
    assert torch.equal(attend(q, k, v, samples=index), attend(q, k, v, samples=index))


def test_gradients_flow_through_active_and_lazy_queries():
    q, k, v = (x.requires_grad_() for x in draw(3, 1, 2, T, 8).unbind())
    for causal in (False, True):
        out, _ = ProbSparse(SparseRules(1), causal=causal).eval()(q, k, v, return_weights=True)
        fast = ProbSparse(SparseRules(1), causal=causal).eval()(q, k, v)
        cotangent = draw(*out.shape, seed=3)
        for ours, theirs in zip(
            torch.autograd.grad(fast, (q, k, v), cotangent),
            torch.autograd.grad(out, (q, k, v), cotangent),
            strict=True,
        ):
            torch.testing.assert_close(ours, theirs)
            assert ours.isfinite().all() and ours.any()


def test_memory_may_have_another_length():
    q, k, v = draw(2, 3, 30, 8), draw(2, 3, 50, 8, seed=1), draw(2, 3, 50, 4, seed=2)
    out, weights = ProbSparse(SparseRules(1)).eval()(q, k, v, return_weights=True)
    assert out.shape == (2, 3, 30, 4) and weights.shape == (2, 3, 30, 50)
    torch.testing.assert_close(ProbSparse(SparseRules(1)).eval()(q, k, v), out)


test_wrong_input_is_named = refusals(
    (lambda: SparseRules(0), "factor is 0, wanted at least 1"),
    (lambda: SparseRules(divisor="all"), "divisor is 'all', wanted one of"),
    (lambda: budget(5, 0), "factor is 0"),
    (lambda: ProbSparse(dropout=2.0), "dropout is 2.0"),
    (lambda: ProbSparse()(*torch.zeros(3, 4, 5, 8)), r"q has shape \(4, 5, 8\)"),
)
