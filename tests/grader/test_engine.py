"""What decides a grade changes the engine of a verdict, and nothing else does."""

import pytest

from grader.checks.exercise import find, identifiers
from grader.engine import decides, engine_hash

NAME = "03_attention"


def short(places):
    return {place.removeprefix("course_lib/").removeprefix("grader/") for place in places}


@pytest.fixture(scope="module")
def of_one(root):
    return short(decides(root, NAME))


@pytest.fixture(scope="module")
def of_any(root):
    return short(decides(root))


def test_what_marks_and_what_an_exercise_reaches_decides(of_one, of_any):
    marking = {"checks/compare.py", "checks/operator_list.txt", "judge/worker.py", "feedback.html"}
    asked = {
        "bank/attention/score_moments.py",
        "scaling.py",
        "plots.py",
        "bank/attention/score_moments_answers.py",
    }
    assert {*marking, *asked, f"solutions/{NAME}/{NAME}.md"} <= of_one <= of_any


def test_what_answers_are_compared_with_decides(of_any):
    references = {find(identifier).reference.__module__ for identifier in identifiers()}
    places = {module.removeprefix("course_lib.").replace(".", "/") for module in references}
    assert {f"{place}.py" for place in places} <= of_any and "masks/softmax" in places


def test_what_another_assignment_reaches_decides_there_only(of_one, of_any):
    others = {
        "bank/masks/causal_mask_answers.py",
        "training/loop.py",
        "solutions/05_masks/05_masks.md",
    }
    assert others <= of_any - of_one


def test_what_grades_nothing_decides_nothing(of_any):
    elsewhere = {"drawings", "cli", "claims", "book", "hub", "lms", "records"}
    assert not [place for place in of_any if any(place.startswith(f"{e}/") for e in elsewhere)]


def test_contents_count_and_two_files_of_one_name_cannot_change_places(tmp_path):
    one, other = files = [tmp_path / place / "same.txt" for place in ("a", "b")]
    for path, text in zip(files, ("1", "2"), strict=True):
        path.parent.mkdir()
        path.write_text(text)
    before = engine_hash(tmp_path, "", *files)
    one.write_text("2"), other.write_text("1")
    after = engine_hash(tmp_path, "", *files)
    one.write_text("1"), other.write_text("2")
    assert after != before == engine_hash(tmp_path, "", *files)
