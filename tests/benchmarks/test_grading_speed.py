"""A class graded by both: the same scores or it says so, and a line that can be read by a program.

No time is asserted anywhere.
"""

import re
from pathlib import Path

import pytest

from course_lib.experiments.record import load_record
from course_tests.benchmarks import grading, submissions
from course_tests.benchmarks.grading import Comparison, Run
from grader import authoring

ROOT = Path(__file__).resolve().parents[2]
LINE = r"stock \d+\.\d\d s/sub, ours \d+\.\d{3} s/sub, ratio \d+\.\d, scores equal: (yes|no)"
SCORES = {"a000": {"x": 3.0, "y": 0.5}, "b001": {"x": 0.0, "y": None}}


def compared(stock, ours):
    return Comparison([Run("ours", 2, 1.0, 1.0, {}, ours), Run("stock", 2, 14.0, 12.0, {}, stock)])


def test_equal_scores_are_equal():
    comparison = compared(SCORES, SCORES)
    assert comparison.differences() == []
    assert comparison.line() == "stock 7.00 s/sub, ours 0.500 s/sub, ratio 14.0, scores equal: yes"


@pytest.mark.parametrize(
    ("stock", "what"),
    [
        ({**SCORES, "a000": {"x": 2.0, "y": 0.5}}, "a000, x: ours 3.0, stock 2.0"),
        ({**SCORES, "a000": {"x": 3.0}}, "a000, y: ours 0.5, stock none"),
        ({"a000": SCORES["a000"]}, "b001, x: ours 0.0, stock none"),
        ({**SCORES, "b001": {"x": 0.0, "y": 0.0}}, "b001, y: ours None, stock 0.0"),
    ],
)
def test_one_other_score_is_named(stock, what):
    comparison = compared(stock, SCORES)
    assert what in comparison.differences()
    assert comparison.line().endswith("scores equal: no")


def test_the_class_is_mixed_as_promised_and_the_same_each_time():
    name = grading.ASSIGNMENT
    assignment = authoring.load(ROOT / "solutions" / name / f"{name}.md", ROOT)
    texts = [authoring.text(submissions.submission(assignment, n)) for n in range(20)]
    assert texts == [authoring.text(submissions.submission(assignment, n)) for n in range(20)]
    assert len(set(texts)) > 10
    kinds = [submissions.kind_of(n) for n in range(60)]
    assert [kinds.count(k) for k in ("honest", "partial", "faulty")] == [42, 12, 6]


def test_a_class_of_two_without_stock_leaves_a_record(tmp_path):
    said = []
    comparison = grading.bench(ROOT, 2, stock=False, results_dir=tmp_path, say=said.append)
    assert said[0] == "class of 2: 2 honest" and said[1].startswith("ours: ")
    (run,) = comparison.runs
    assert min(run.stages.values()) >= 0, run.stages  # each begins where the one before it ends
    scores = run.scores
    whole = authoring.named(ROOT, "03_attention").automatic
    assert {who: sum(filter(None, s.values())) for who, s in scores.items()} == {
        "a000": whole,
        "b001": whole,
    }
    assert re.fullmatch(r"ours \d+\.\d{3} s/sub, without stock", comparison.line())
    record = load_record(tmp_path / grading.EXPERIMENT / "class-2-cpu-0.json")
    assert record.results["scores differ"] == [] and record.config["students"] == 2
    assert "imports" in comparison.table()


@pytest.mark.slow
def test_a_class_of_two_beside_stock(tmp_path):
    comparison = grading.bench(ROOT, 2, tuned=False)
    assert comparison.differences() == []
    assert re.fullmatch(LINE, comparison.line())


def test_no_class_is_refused():
    with pytest.raises(ValueError, match="students 0"):
        grading.bench(ROOT, 0)
