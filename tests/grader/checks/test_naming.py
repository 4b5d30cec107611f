"""Two slips at once are called by both names, in whatever way they are written."""

import pytest

from course_tests.grader.checks.mutation_report import false_name
from course_tests.grader.checks.recognised import recognised
from grader.checks.exercise import find
from grader.checks.grading import grade_source
from grader.checks.naming import AND, explained, merged
from grader.checks.recognition import composed

SEEDS = [f"{n:032x}" for n in (0, 7, 14)]
# As students write them, by the exercise and the two mistakes.
NATURAL = {
    ("attention.scaled_dot_product", "softmax_over_queries", "masked_scores_zero"): """
def scaled_dot_product_attention(q, k, v, mask=None):
    e = torch.einsum("...td,...sd->...ts", q / q.shape[-1] ** 0.5, k)
    if mask is not None:
        e = torch.where(mask, e, torch.zeros_like(e))
    a = F.softmax(e, dim=-2)
    return torch.einsum("...ts,...sd->...td", a, v), a
""",
    ("block.residual_stack", "no_last_norm", "not_scaled_up"): """
def residual_stack(x, matrices, keep=None, dropout=0.0):
    for i in range(len(matrices)):
        part = (F.layer_norm(x, x.shape[-1:]) @ matrices[i]).tanh()
        x = x + (part if keep is None else torch.where(keep[i], part, torch.zeros_like(part)))
    return x
""",
}


def test_one_mistake_or_two_that_fail_apart_explain_an_answer():
    a, b = [(False, True), (True, False)], [(True, False), (False, True)]
    assert explained([False, True], {"a": [(False, True), (True, True)], "b": b}) == ("a",)
    assert explained([False, False], {"a": a, "b": b}) == ("a", "b")
    assert explained([False, True], {"a": a, "b": b}) == ()
    # What the first one fails, the answer fails with other values.
    assert explained([False, False], {"a": [(False, False), (True, False)], "b": b}) == ()
    # Both are in one answer, and it came to the same; not where it passes what one of them fails.
    both = {"a": [(False, False)] * 2, "b": [(False, False)] * 2, "a+b": [(False, True)] * 2}
    assert explained([False, False], both) == ("a", "b")
    assert explained([False, True], {**both, "a+b": [(False, True), (True, True)]}) == ()


def test_changes_of_two_answers_stand_together_unless_they_meet():
    right = "def f(a):\n    a += 1\n    b = 2\n    return a * b"
    one, other = right.replace("1", "3"), right.replace("*", "-")
    assert merged(right, one, other) == one.replace("*", "-")
    assert merged(right, one, right.replace("1", "4")) is None


@pytest.mark.parametrize("slips", NATURAL, ids=" ".join)
def test_two_slips_in_anybodys_code_have_both_names(slips):
    identifier, *names = slips
    reports = [recognised(find(identifier), NATURAL[slips], s) for s in SEEDS]
    assert {report.named for report in reports} == {AND.join(names)}
    assert len({report.score for report in reports}) == 1
    told = " ".join(reports[0].table().split())
    assert all(mistake.says in told and mistake.hint in told for mistake in reports[0].mistakes)


def test_all_pairs_that_stand_together_have_both_names():
    identifier = "seq2seq.recurrent_step"
    pairs = composed(find(identifier))
    assert len(pairs) > 9
    called = {
        name: recognised(find(identifier), source, SEEDS[1]).named for name, source in pairs.items()
    }
    assert called == {name: name for name in pairs}


def test_a_pair_is_not_called_what_it_is_not():
    exercise = find("space.distinct_codes")
    for source in composed(exercise).values():
        report = grade_source(exercise, source, "0" * 31 + "a")
        assert false_name(exercise, source, report, 9.0) == ""


def test_a_dtype_that_was_not_wanted_has_no_name():
    source = """
def rotate_pairs(x, positions, d_rotary=None, base=10_000.0):
    d = x.shape[-1] if d_rotary is None else d_rotary
    angles = positions[:, None] * base ** -(torch.arange(0, d, 2, dtype=torch.float64) / d)
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., :d:2], x[..., 1:d:2]
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    return torch.cat([turned, x[..., d:]], dim=-1)
"""
    reports = [recognised(find("relative.rotate_pairs"), source, seed) for seed in SEEDS]
    assert {r.score < r.max_points for r in reports} == {True}
    assert {r.named for r in reports} == {""}
