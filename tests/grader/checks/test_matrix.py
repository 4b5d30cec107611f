"""The grade matrix over every exercise, and that it would see what it is there to see."""

import dataclasses

import pytest

from course_tests.grader.checks import matrix as matrix_module
from course_tests.grader.checks.matrix import kept, matrix, same
from course_tests.grader.checks.worker_grader import worker_grader
from grader.checks import grading
from grader.checks.exercise import find, identifiers
from grader.checks.grading import grade_source

LOCAL_SEEDS = 2


@pytest.mark.sample
@pytest.mark.parametrize("identifier", identifiers())
def test_everything_banked_gets_what_it_should(identifier):
    tally = matrix(LOCAL_SEEDS, [identifier])
    assert not tally.faults
    assert tally.rejected == tally.named == tally.mistakes >= 3
    assert tally.full_marks == tally.alternatives >= 1
    assert tally.zero == 1


@pytest.mark.slow
def test_twenty_seeds_over_workers(tmp_path):
    """`make test-all` runs the other transport as `course matrix`."""
    with worker_grader(tmp_path) as grader:
        assert not matrix(20, None, grader).faults


@pytest.fixture(scope="module")
def over_worker(tmp_path_factory):
    with worker_grader(tmp_path_factory.mktemp("worker")) as grader:
        yield grader


@pytest.mark.sample
@pytest.mark.parametrize("identifier", identifiers())
def test_both_transports_agree(identifier, over_worker):
    """One mistake and one alternative of an exercise: same verdicts, same values returned."""
    exercise = find(identifier)
    for answer in (exercise.mistakes[0], exercise.alternatives[0]):
        here = grade_source(exercise, answer.source, "7")
        there = over_worker(exercise, answer.source, "7")
        assert same(here, there), answer.name


@pytest.fixture
def spoiled(monkeypatch):
    exercise = dataclasses.replace(
        find("attention.scaled_dot_product"),
        mistakes=list(find("attention.scaled_dot_product").mistakes),
        alternatives=list(find("attention.scaled_dot_product").alternatives),
        properties=list(find("attention.scaled_dot_product").properties),
    )
    monkeypatch.setattr(matrix_module, "find", lambda identifier: exercise)
    return exercise


def faults(seeds=1):
    return " ".join(matrix(seeds, ["attention.scaled_dot_product"]).faults)


def test_an_accepted_mistake_is_a_fault(spoiled):
    right = spoiled.alternatives[0]
    spoiled.mistakes[0] = dataclasses.replace(spoiled.mistakes[0], source=right.source)
    assert "mistake unscaled, seed 0: full marks" in faults()


def test_a_rejected_alternative_is_a_fault(spoiled):
    wrong = spoiled.mistakes[0].source
    spoiled.alternatives[0] = dataclasses.replace(spoiled.alternatives[0], source=wrong)
    assert "alternative einsum" in faults()


def test_a_property_that_any_stub_passes_is_a_fault(spoiled):
    spoiled.properties.append(
        dataclasses.replace(spoiled.properties[0], name="idle", points=0, run=lambda trial: None)
    )
    assert "stub not written" in faults()


def test_a_property_that_breaks_off_is_a_fault(spoiled):
    def broken(trial):
        assert trial.call(*spoiled.example(trial)).no_such_thing

    new = dataclasses.replace(spoiled.properties[0], name="broken", points=0, run=broken)
    spoiled.properties.append(new)
    assert "mistake unscaled, seed 0: broken breaks off" in faults()


def test_an_answer_that_computes_nothing_would_be_seen_to_earn_points(monkeypatch):
    monkeypatch.setattr(grading, "idle", lambda calls, reference: "")
    tally = matrix(1, ["masks.masked_softmax"])
    assert [f for f in tally.faults if "stub first argument" in f], tally.faults


def test_a_verdict_that_depends_on_the_seed_is_a_fault(spoiled, monkeypatch):
    monkeypatch.setattr("grader.checks.report.find", lambda identifier: spoiled)
    spoiled.id = "tests.tossed"
    spoiled.mistakes[:] = spoiled.mistakes[:3]

    def toss(trial):
        trial.call(*spoiled.example(trial))
        trial.expect(trial.integer(0, 1) == 0, "the coin fell badly")

    spoiled.properties.append(
        dataclasses.replace(spoiled.properties[0], name="tossed", points=0, run=toss)
    )
    assert "the verdict on tossed depends on the seed" in faults(6)


def test_a_mistake_that_gives_itself_away_is_a_fault(spoiled):
    crash = "def scaled_dot_product_attention(q, k, v, mask=None):\n    return v[..., :1], v"
    spoiled.mistakes[0] = dataclasses.replace(spoiled.mistakes[0], source=crash)
    assert "gives itself away on the visible example" in faults()


def test_points_that_do_not_add_up_are_a_fault(spoiled):
    spoiled.points = 7
    assert "properties are worth 6 points, the exercise 7" in faults()


def test_a_slip_that_costs_nearly_all_is_told_unless_a_reason_stands():
    """Two of the bank's mistakes over properties of which one decides all points, or none."""
    exercise = dataclasses.replace(find("attention.scaled_dot_product"))
    values = exercise.properties[0]
    exercise.properties = [dataclasses.replace(values, points=6)] + [
        dataclasses.replace(values, name=f"copy {n}", points=0) for n in range(4)
    ]
    slip, other = exercise.mistakes[:2]
    exercise.mistakes = [slip, other]
    exercise.severe = {other.name: "an answer without it is none"}
    told, excused = kept(exercise)
    assert (told.share, told.fault) == (0, "less than a third for one slip")
    assert "values" in told.fails
    assert (excused.share, excused.fault) == (0, "")
    exercise.properties = exercise.properties[:4]
    assert not kept(exercise)[0].fault, "with four properties one may be worth everything"


def test_more_than_a_half_without_a_right_value_is_told_and_so_are_both_prices():
    exercise = dataclasses.replace(find("attention.scaled_dot_product"))
    worth = {"values": 1, "gradients": 5}
    exercise.properties = [
        dataclasses.replace(p, points=worth.get(p.name, 0)) for p in exercise.properties
    ]
    bare = "def scaled_dot_product_attention(q, k, v, mask=None):\n    s = q @ k.mT\n"
    bare = dataclasses.replace(exercise.mistakes[0], source=f"{bare}    return s @ v, s")
    exercise.mistakes = [bare]
    (told,) = kept(exercise)
    assert told.fault == "more than a half without a right value"
    assert "83%  unscaled: announced 1, taken 1; fails values" in told.line()


def test_a_given_function_that_earns_points_unchanged_is_told():
    exercise = dataclasses.replace(find("cheaper.window_attention"), mistakes=[])
    runs = dataclasses.replace(
        exercise.properties[0], points=6, run=lambda t: t.call(*exercise.example(t))
    )
    exercise.properties = [runs]
    assert not kept(exercise, ["course_lib.masks.causal_mask"]), "a helper with other arguments"
    given = "course_lib.bank.cheaper.window_attention.masked_attention"
    (unchanged,) = kept(exercise, [given])
    assert (unchanged.answer, unchanged.share, unchanged.fails) == ("masked_attention", 1, ())
    assert unchanged.fault == "given, and earns points unchanged"


def test_what_a_mistake_may_cost_has_to_be_a_mistake():
    exercise = dataclasses.replace(find("masks.causal_mask"), severe={"no_such": "because"})
    with pytest.raises(ValueError, match="severe names what is no mistake: no_such"):
        exercise.validate()
