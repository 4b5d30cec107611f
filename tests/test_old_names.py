"""Names of the grader's modules from before it was a package of its own."""

import importlib
import pickle

import pytest

import grader.checks.cell
import grader.lateness
from course_lib.checks import check
from grader.judge.results import Task


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("course_lib.checks.cell", "grader.checks.cell"),
        ("course_lib.grading", "grader"),
        ("course_lib.grading.formgrader", "grader.formgrader"),
        ("course_lib.grading.judging.judge_process", "grader.judge.judge_process"),
        ("course_lib.handout.selfcheck", "grader.student.selfcheck"),
        ("course_lib.hub.settings", "grader.hub.settings"),
        ("course_lib.errors", "grader.base.errors"),
    ],
)
def test_an_old_name_is_the_module_itself(old, new):
    module = importlib.import_module(old)
    assert module is importlib.import_module(new)
    assert module.__name__ == module.__spec__.name == new


def test_notebooks_and_configurations_say_old_names():
    from traitlets.utils.importstring import import_item

    assert check is grader.checks.cell.check
    penalty = import_item("course_lib.grading.lateness.DailyPenalty")
    assert penalty is grader.lateness.DailyPenalty


def test_a_pickle_from_before_is_read():
    now = pickle.dumps(Task, protocol=0)
    assert pickle.loads(now.replace(b"grader.judge", b"course_lib.grading.judging")) is Task


def test_a_module_that_never_was_is_missing():
    with pytest.raises(ModuleNotFoundError, match="grader.nothing"):
        importlib.import_module("course_lib.grading.nothing")
