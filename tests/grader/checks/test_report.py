"""What a report says, and what it keeps to itself on a page that is handed out."""

import re

import pytest

from grader.checks.answer_proxy import AnswerProxy
from grader.checks.exercise import find, namespace
from grader.checks.grading import grade, grade_source
from grader.checks.recognition import recognise
from grader.checks.report import ALONE


def graded(exercise, source, seed, **options):
    report = grade(exercise, AnswerProxy.local(namespace(exercise, source)), seed, **options)
    if not report.full:
        report.mistakes = recognise(exercise, report, seed)
    return report


@pytest.mark.parametrize(
    "identifier",
    [
        "heads.head_cost",
        "seq2seq.card_size",
        "transformer.shift_targets",
        "attention.layer_cost",
        "attention.softmax_gradient",
    ],
)
def test_what_was_wanted_of_a_sample_that_may_come_again_is_not_told(identifier):
    exercise = find(identifier)
    hidden = 0
    for mistake in exercise.mistakes:
        for row in graded(exercise, mistake.source, "1", reveal=False).rows:
            if row.passed or row.example is None:
                continue
            wanted = row.example.wanted
            if any("float" in shown.form for shown in row.example.arguments):
                continue
            hidden += 1
            assert wanted is None or not wanted.rows
            assert not re.search(r"expected (about )?[-\d.]+( |;|,|$)(?!values)", row.why)
    assert (hidden > 0) == (identifier != "attention.softmax_gradient")


def test_at_home_everything_is_told():
    exercise = find("heads.head_cost")
    mistake = exercise.mistakes[0].source
    home, page = (graded(exercise, mistake, "1", reveal=r) for r in (True, False))
    assert [r.passed for r in home.rows] == [r.passed for r in page.rows]
    (row, *_), (shown, *_) = ([r for r in rep.rows if not r.passed] for rep in (home, page))
    assert "expected " in row.why and "which is not what was expected" in shown.why


def test_a_dtype_is_named_where_it_is_all_that_is_wrong():
    source = """
def causal_mask(T, S=None):
    S = T if S is None else S
    if S < T:
        raise ValueError
    return torch.ones(T, S, dtype=torch.uint8).tril(S - T)
"""
    rows = graded(find("masks.causal_mask"), source, "1", reveal=False).rows
    (wrong,) = (row for row in rows if row.failed)
    assert "has dtype uint8, expected bool" in wrong.why


def test_an_answer_that_raises_its_arguments_is_not_printed_at_length():
    exercise = find("attention.softmax_gradient")
    source = "def softmax_gradient(*args):\n    raise ValueError(str(args) * 10)"
    for row in graded(exercise, source, "1").rows:
        assert len(row.why) < 320


def test_a_given_cell_that_was_not_run_is_named():
    exercise = next(
        e for e in map(find, ("seq2seq.greedy_write", "seq2seq.read_both_ways")) if e.given
    )
    names = {"__name__": "__main__"}
    given = exercise.given[0].__name__
    exec(f"def {exercise.function}(*args, **kwargs):\n    return {given}(*args)", names)
    report = grade(exercise, AnswerProxy.local(names), "1")
    assert report.cause == f"`{given}` is given: run the cell further up that defines it."
    assert report.cause in " ".join(report.table().split())


def test_not_written_yet_names_the_function_that_raised():
    exercise = find("block.encoder_block")
    own = "def layer_norm(*args, **kwargs):\n    raise NotImplementedError\n\n\n"
    calls = "def encoder_block(x, *args, **kwargs):\n    return layer_norm(x)\n"
    assert "`layer_norm` still raises" in graded(exercise, own + calls, "1").headline
    stub = own.replace("layer_norm", "encoder_block")
    report = graded(exercise, stub, "1")
    report.title = "6.4 A block"
    line = "6.4 A block (block.encoder_block): 0 of 6 points. Not written yet."
    assert report.table() == line.replace("of 6", f"of {exercise.points:g}")


def test_a_line_that_crashes_in_every_size_is_told_once():
    exercise = find("block.layer_norm")
    crash = "    return (x - x.mean(-1)) / x.std(-1)\n"
    always = "def layer_norm(x, scale, shift, eps=1e-5):\n    x = x.repeat_interleave(3, 0)\n"
    table = graded(exercise, always + crash, "1").table()
    assert table.count("RuntimeError") == 1 and "for one reason" in table.splitlines()[1]
    assert "FAIL" not in table
    sometimes = "    if x.dtype == torch.float64:\n        return x\n"
    table = graded(exercise, always + sometimes + crash, "1").table()
    assert table.count("RuntimeError") == 1 and "the same as in values" in table


def test_a_size_probe_that_is_wrong_alone_fails_and_one_beside_wrong_values_does_not():
    exercise = find("informer.video_attention")
    right = exercise.alternatives[0].source
    assert "def video_attention" in right
    own = right.replace("def video_attention", "def own")
    only = (
        f"{own}\n\ndef video_attention(video, causal=False):\n"
        "    out = own(video, causal)\n    return out * (1 + {wrong})\n"
    )
    in_large = graded(exercise, only.format(wrong="(video.numel() > 10_000)"), "1")
    in_all_sizes = graded(exercise, only.format(wrong="causal"), "1")
    both = (in_large, in_all_sizes)
    verdict = [next(r for r in g.rows if r.name == "cheap").passed for g in both]
    assert verdict == [False, True]
    assert in_large.score == in_large.max_points - 1


def test_what_is_wrong_for_usual_numbers_too_is_paid_once_and_said():
    exercise = find("attention.scaled_dot_product")
    unscaled = next(m.source for m in exercise.mistakes if m.name == "unscaled")
    clamped = "    scores = (q / q.shape[-1] ** 0.5 @ k.mT).clamp(max=5)\n"
    rest = "    weights = scores.softmax(-1)\n    return weights @ v, weights\n"
    own = f"def {exercise.function}(q, k, v, mask=None):\n{clamped}{rest}"
    both = {name: graded(exercise, source, "1") for name, source in (("a", unscaled), ("b", own))}
    rows = [next(r for r in both[n].rows if r.name == "large scores") for n in "ab"]
    assert [row.mark for row in rows] == ["with", "FAIL"]
    assert "`values` has cost points" in rows[0].why
    table = both["a"].table()
    assert table.index("known mistake: unscaled") < table.index("Hint:") < table.index("  FAIL  ")


def test_to_harm_nothing_is_nothing_where_nothing_else_holds():
    exercise = find("attention.scaled_dot_product")
    returned = "return torch.eye(4), torch.eye(4)"
    nonsense = f"import torch\n\ndef {exercise.function}(*a, **k):\n    {returned}\n"
    rows = grade_source(exercise, nonsense, "1").rows
    assert not any(row.passed for row in rows)
    assert [row.why for row in rows if row.name == "no side effect"] == [ALONE]


def test_to_cost_little_is_nothing_where_nothing_else_holds():
    """A norm of the first argument has the right form, and a small bill."""
    exercise = find("cheaper.window_attention")
    nonsense = f"def {exercise.function}(q, *_, **__):\n    return F.layer_norm(q, q.shape[-1:])\n"
    report = grade_source(exercise, nonsense, "1")
    assert not report.score and ALONE in [row.why for row in report.rows]


def test_a_given_function_handed_in_as_it_came_earns_nothing_for_harming_nothing():
    exercise = find("block.residual_stack")
    source = next(m.source for m in exercise.mistakes if m.name == "colleagues_stack")
    assert not any(row.passed for row in grade_source(exercise, source, "1").rows)
