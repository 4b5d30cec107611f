"""One slip costs what its own requirement is worth, and a right answer's cost nothing beside it."""

import inspect
import re

import pytest

from course_tests.grader.checks.recognised import recognised
from grader.checks.exercise import find
from grader.checks.grading import grade_source
from grader.checks.report import ALONE

from .test_bad_input import MODELS, WRAPPED

SEEDS = [f"{n:032x}" for n in range(20)]

# A slip, its exercise and the points that it may cost: what is right, and what is written instead.
SLIPS = {
    "tanh GELU, block.encoder_block, 0.5": "F.gelu(inner) -> F.gelu(inner, approximate='tanh')",
    "no norm at the end, block.residual_stack, 0.5": "return F.layer_norm(x, width) -> return x",
    "by n - 1, block.layer_norm, 1.0": "variance = centred.square().mean(dim=-1, keepdim=True) -> "
    "variance = precise.var(-1, keepdim=True)",
    "all channels, block.which_norm, 1.0": "(x != x_other).any(dim=-1) -> "
    "(x != x_other).all(dim=-1)",
    "first window lost, informer.forecast_windows, 1.5": "start = max(first - seq_len, 0) -> "
    "start = max(first - seq_len, 0) + 1",
    "last window lost, informer.forecast_windows, 1.5": "scaled[start:last] -> "
    "scaled[start:last - 1]",
    "places that share, space.distinct_codes, 1.0": "min(short, 2) -> short * (short - 1)",
    "a floor, informer.divergences, 0.5": "scores.log_softmax(dim=-1) -> "
    "scores.softmax(dim=-1).clamp(min=1e-12).log()",
    "another floor, informer.divergences, 0.5": "scores.log_softmax(dim=-1) -> "
    "(scores.softmax(dim=-1) + 1e-9).log()",
    "single precision, block.layer_norm, 0.5": "x.to(torch.promote_types(x.dtype, "
    "torch.float32)) -> x.float()",
    "weights in single, space.resample_table, 0.5": "dtype=torch.float64 -> dtype=torch.float32",
    "columns of base 100, space.repaired_sum, 0.5": "line[:height, None] + line[height:] -> "
    "line[:height, None] + line_code(torch.arange(width), d_model, 100.0)",
    "columns of half the base, space.repaired_sum, 1.5": "line[:height, None] + line[height:] -> "
    "line[:height, None] + line_code(torch.arange(width), d_model, base / 2)",
    "the last axis, space.rescan, 0.5": "x[..., number_of_place[new_order], :] -> "
    "x.index_select([a for a, n in enumerate(x.shape) if n == len(order)][-1],"
    " number_of_place[new_order])",
    "numbers with a point, swin.relative_index, 0.5": "down * (2 * columns - 1) + right -> "
    "down * (2 * columns - 1.0) + right",
    "ends at padding, seq2seq.greedy_write, 1.0": "done | (word == eos) -> "
    "done | (word == eos) | (word == pad)",
    "NaN for nothing, block.cross_attention, 0.5": "",
    "another epsilon, block.encoder_block, 1.0": 'state[f"{name}.bias"]) -> '
    'state[f"{name}.bias"], 1e-6)',
    "frames alone, space.multimodal_ids, 2.0": "start = int(columns[-1].max()) + 1 -> "
    "start = start + (part if isinstance(part, int) else part[0])",
    "threshold 0 for none, lookup.alignment_error, 1.0": "if threshold is None -> if not threshold",
    "windows the other way, swin.corner_block, 1.0": "(shift if block % 2 else 0) -> "
    "(window - shift if block % 2 and shift else 0)",
}
OVERWRITTEN = """
def cross_attention(x, memory, w_q, w_k, w_v, w_out, lengths=None):
    scores = (x @ w_q) @ (memory @ w_k).mT / math.sqrt(w_q.shape[-1])
    if lengths is not None:
        hidden = torch.arange(memory.shape[1]) >= lengths[:, None, None]
        scores = scores + torch.zeros(hidden.shape).masked_fill(hidden, -math.inf)
    weights = scores.softmax(-1).nan_to_num()
    return weights @ (memory @ w_v) @ w_out, weights
"""


def slipped(slip):
    _, identifier, price = slip.rsplit(", ", 2)
    model = MODELS[identifier]
    was, _, now = SLIPS[slip].partition(" -> ")
    assert was in model.source
    source = model.source.replace(was, now) if was else OVERWRITTEN
    return find(identifier), f"{model.before}\n\n{source}", float(price)


@pytest.mark.parametrize("slip", SLIPS)
def test_one_slip_has_its_price(slip):
    exercise, source, price = slipped(slip)
    report = grade_source(exercise, source, "07")
    failed = [(row.name, row.points) for row in report.rows if not row.passed]
    assert 0 < report.max_points - report.score <= price, failed


@pytest.mark.slow
@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_costs_the_same_under_every_seed(slip):
    exercise, source, _ = slipped(slip)
    assert len({grade_source(exercise, source, seed).score for seed in SEEDS}) == 1


# Of the right form, and nothing of what is asked for: none of it computes with all it is given.
NONSENSE = {
    "block.residual_stack": "(x, *_, **__):\n    return F.layer_norm(x, x.shape[-1:])",
    "cheaper.mix_keys": "(q, *_, **__):\n    return F.layer_norm(q, q.shape[-1:])",
    "cheaper.random_features": "(q, k, v, *_):\n    return v.mean(-2, keepdim=True)"
    ".expand(*q.shape[:-1], v.shape[-1])",
    "cheaper.window_attention": "(q, *_):\n    return F.layer_norm(q, q.shape[-1:])",
    "swin.window_attention": "(q, *_):\n    return F.layer_norm(q, q.shape[-1:])",
    "transformer.shared_keys": "(q, *_):\n    return F.layer_norm(q, q.shape[-1:])",
}


@pytest.mark.parametrize("identifier", NONSENSE)
def test_what_computes_something_else_altogether_earns_nothing(identifier):
    exercise = find(identifier)
    source = f"def {exercise.function}{NONSENSE[identifier]}\n"
    report = grade_source(exercise, f"{MODELS[identifier].before}\n\n{source}", "07")
    assert [row.name for row in report.rows if row.passed] == []


BY_ITS_RANK = """
def sparse_attention(q, k, v, measure, factor=5, causal=False):
    T = len(q)
    scores = q @ k.T * q.shape[1] ** -0.5
    if causal:
        scores = scores.masked_fill(torch.ones(T, T).triu(1).bool(), float("-inf"))
        out = v.cumsum(0) / torch.arange(1, T + 1)[:, None].to(v.dtype)
    else:
        out = v.mean(0, keepdim=True).repeat(T, 1)
    best = measure.argsort(descending=True)[: budget(T, factor)]
    return out.index_copy(0, best, F.softmax(scores[best], -1) @ v)
"""
TWICE_ONCE = """
def judge_queries(q, k, samples):
    scores = [q[..., t, :] @ k[..., s.unique(), :].mT / q.shape[-1] ** 0.5
              if q.ndim == 2 else (q[..., t, None, :] @ k[..., s.unique(), :].mT).squeeze(-2)
              / q.shape[-1] ** 0.5 for t, s in enumerate(samples)]
    return torch.stack([s.amax(-1) - s.mean(-1) for s in scores], -1)
"""


@pytest.mark.slow
def test_a_name_does_not_depend_on_the_seed():
    exercise = find("informer.sparse_attention")
    reports = [recognised(exercise, BY_ITS_RANK, seed) for seed in SEEDS]
    assert {r.named for r in reports} == {"ranked_as_a_whole"}


@pytest.mark.slow
def test_a_key_that_comes_twice_is_no_matter_of_luck():
    reports = [grade_source(find("informer.judge_queries"), TWICE_ONCE, s) for s in SEEDS]
    failed = {tuple(row.name for row in r.rows if not row.passed) for r in reports}
    assert failed == {("drawn twice",)}, failed


# Requirements that say nothing else.
HARMLESS = re.compile(r"[\w ]+ (?:is|are) left as (?:it was|they were)(?:, call after call)?")


def rows(identifier, change, kind):
    exercise, model = find(identifier), MODELS[identifier]
    instead = f"_each(value, lambda t: {change})"
    source = WRAPPED.format(function=exercise.function, instead=instead)
    report = grade_source(exercise, f"{model.before}\n\n{model.source}{source}", "07")
    failed = [r for r in report.rows if r.name in kind and r.failed and r.why != ALONE]
    return [(r.name, r.why) for r in failed] if report.score else []


@pytest.mark.sample
@pytest.mark.parametrize("identifier", list(MODELS))
def test_what_is_left_as_it_was_is_not_judged_by_what_comes_back(identifier):
    kind = {p.name for p in find(identifier).properties if HARMLESS.fullmatch(p.says)}
    if not kind:
        pytest.skip("no requirement says so")
    for change in ("t[None]", "t.flatten()[:0]", "1 - 2 * t if t.is_floating_point() else t"):
        assert not rows(identifier, change, kind)


@pytest.mark.sample("informer.video_attention", "informer.judge_queries")
@pytest.mark.parametrize("identifier", list(MODELS))
def test_what_something_costs_is_not_judged_by_its_values(identifier):
    kind = {p.name for p in find(identifier).properties if "size_probe" in inspect.getsource(p.run)}
    if not kind:
        pytest.skip("nothing is measured")
    assert not rows(identifier, "1 - 2 * t if t.is_floating_point() else t", kind)
