"""Mutants of answers: each valid and new; and a sweep that sees what it is there to see."""

import ast
import time
from pathlib import Path

import pytest

from course_tests.grader.checks import mutation_report
from course_tests.grader.checks.mutation_report import (
    LEAST,
    SEED,
    Endless,
    Survey,
    at_most,
    explained,
    false_name,
    survey,
    verdict,
)
from grader.authoring import answers
from grader.checks.exercise import find, identifiers
from grader.checks.mutants import mutants, plain

ROOT = Path(__file__).parents[3]
MODELS = answers(ROOT)
EXERCISE = "attention.scaled_dot_product"
SAMPLED = 12


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("def f(a, b):\n    return a @ b", ["return a * b", "return b @ a"]),
        ("def f(a, b):\n    return a < b", ["return a <= b", "return a >= b"]),
        (
            "def f(a):\n    return a.sum(dim=-1)",
            [
                "return a.sum(dim=0)",
                "return a.sum(dim=-2)",
                "return a.mean(dim=-1)",
                "return a.sum()",
            ],
        ),
        ("def f(a):\n    return a[1:, 2]", ["return a[:, 2]", "return a[2:, 2]"]),
        ("def f(a, b):\n    return g(a, b)", ["return g(b, a)"]),
        ("def f(a):\n    return a.transpose(0, 1)", ["return a"]),
        ("def f(a):\n    return a.mT", ["return a"]),
        ("def f(a):\n    if not a:\n        return 1\n    return 2", ["if a:", "if True:"]),
        ("def f(a):\n    a = a + 1\n    return a", ["pass", "a = a - 1"]),
        ("def f(a, b):\n    return a, b", ["return (b, a)"]),
        ("def f(a, g=True):\n    return a", ["def f(a, g=False):"]),
    ],
)
def test_every_kind_of_change_is_made(source, wanted):
    assert set(wanted) <= {mutant.now for mutant in mutants(source)}


def test_names_types_and_messages_are_left_alone():
    source = 'def f(a: int = 1) -> "int":\n    "Doc 1."\n    raise ValueError(f"{a - 1} is 3")'
    assert {m.now for m in mutants(source)} == {
        "def f(a: int=2) -> 'int':",
        "def f(a: int=0) -> 'int':",
        "pass",
    }


@pytest.mark.sample
@pytest.mark.parametrize("identifier", MODELS)
def test_mutants_are_valid_and_no_two_are_the_same(identifier):
    source = MODELS[identifier].source
    found = mutants(source)
    trees = {ast.dump(ast.parse(mutant.source)) for mutant in found}
    assert len(trees) == len(found) > 0
    assert ast.dump(ast.parse(plain(source))) not in trees
    assert len({(mutant.was, mutant.now) for mutant in found}) == len(found)


@pytest.mark.sample
@pytest.mark.parametrize("identifier", MODELS)
def test_a_sample_of_mutants_is_rejected_or_explained(identifier):
    found = Survey()
    survey(find(identifier), MODELS[identifier], found, every=SAMPLED)
    assert not found.faults and found.misnamed == 0 and found.mutants > 0


def test_explanations_belong_to_exercises_and_say_why():
    assert set(explained()) <= set(identifiers())
    assert all(len(why) > 20 for reasons in explained().values() for why in reasons.values())


def test_a_gap_in_the_properties_is_seen(monkeypatch):
    exercise = find(EXERCISE)
    kept = [p for p in exercise.properties if p.name == "values"]
    monkeypatch.setattr(exercise, "properties", kept)
    monkeypatch.setattr(exercise, "points", sum(p.points for p in kept))
    monkeypatch.setattr(mutation_report, "recognise", lambda *_: ())
    found = Survey()
    survey(exercise, MODELS[EXERCISE], found)
    assert found.unexplained > 0
    assert any("keeps full marks" in fault for fault in found.faults)
    assert "unexplained 0" not in found.line()


def test_an_explanation_of_what_does_not_survive_is_a_fault(monkeypatch):
    reasons = {EXERCISE: {("return weights @ v, weights", "pass"): "it is not"}}
    monkeypatch.setattr(mutation_report, "explained", lambda: reasons)
    monkeypatch.setattr(mutation_report, "mutants", lambda source: [])
    found = Survey()
    survey(find(EXERCISE), MODELS[EXERCISE], found)
    assert "explains what does not survive" in found.faults[0]


def test_a_false_name_is_seen_by_another_seed(monkeypatch):
    exercise = find(EXERCISE)
    wrong, other = exercise.mistakes[:2]
    report = verdict(exercise, wrong.source, SEED, 9.0)
    assert false_name(exercise, wrong.source, report, 9.0) == ""
    names = {SEED: (other,), mutation_report.OTHER_SEED: ()}
    monkeypatch.setattr(mutation_report, "recognise", lambda *asked: names[asked[-1]])
    assert false_name(exercise, wrong.source, report, 9.0) == other.name


def test_what_does_not_end_is_ended():
    source = f"def {find(EXERCISE).function}(*a):\n    while True:\n        pass"
    assert verdict(find(EXERCISE), source, SEED, 0.2) is None
    with at_most(LEAST):
        pass
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    with pytest.raises(Endless), at_most(0.05):  # noqa: PT012 - only a loop does not end
        while True:
            pass
