"""What of the library an answer may use: the same at home and in grading, in the same words."""

import importlib
import re
import sys
from importlib.metadata import requires

import pytest

import course_lib.attention
import course_lib.masks
from grader.checks.cell import examine
from grader.checks.exercise import PRELUDE, find
from grader.checks.grading import grade
from grader.checks.import_stubs import ABSENT, PACKAGES, RULE, AbsentModule, hidden
from grader.judge.channel import Worker
from grader.judge.forkserver import ForkServer

EXERCISE = find("attention.softmax_gradient")
RIGHT = "return w * (g - (w * g).sum(-1, keepdim=True))"
ANSWER = "def softmax_gradient(w, g):\n    "
MASKS = "from course_lib.masks import causal_mask"
# Answers that use what they may not, and answers that do not.
USING = {
    "the library's function": f"{MASKS} as softmax_gradient",
    "another name": "from course_lib.attention import MultiHeadAttention as s\n"
    f"{ANSWER}return s(w, g)",
    "a helper": f"{MASKS}\n{ANSWER}causal_mask(3)\n    {RIGHT}",
    "a module": f"import course_lib.masks as m\n{ANSWER}m.causal_mask(3)\n    {RIGHT}",
    "the package": f"import course_lib\n{ANSWER}course_lib.masks.causal_mask(3)\n    {RIGHT}",
    "from the package": f"from course_lib import masks\n{ANSWER}masks.causal_mask(3)\n    {RIGHT}",
    "inside": f"{ANSWER}from course_lib.attention import fused as s\n    return s(w, g)",
    "inside, by its full name": f"{ANSWER}import course_lib.attention\n"
    "    return course_lib.attention.softmax_gradient(w, g)",
    "everything in a module": f"{ANSWER}import importlib\n"
    "    return importlib.import_module('course_lib.attention').softmax_gradient(w, g)",
    "the exercise itself": f"{ANSWER}from course_lib.bank.attention.softmax_gradient import"
    " exercise\n    return exercise.reference(w, g)",
}
HARMLESS = {
    "an answer of its own": ANSWER + RIGHT,
    "an import that it does not use": f"{MASKS}\n{ANSWER}{RIGHT}",
    "data and pictures": "from course_lib.data import shapes\n"
    f"from course_lib.plots import canvas, INK\n{ANSWER}from course_lib import data, plots\n"
    f"    INK, shapes, data\n    {RIGHT}",
}


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    with ForkServer(tmp_path_factory.mktemp("kits")) as forkserver, Worker(forkserver) as worker:
        yield worker


@pytest.mark.parametrize("kind", [*USING, *HARMLESS])
def test_check_says_what_the_grader_says(kind, worker):
    source, uses = (USING | HARMLESS)[kind], kind in USING
    names = {"__name__": "__main__"}
    exec(f"{PRELUDE}\n{source}", names)
    before = dict(names)
    home = examine(EXERCISE.id, names)
    assert names == before, "what was hidden is back"
    outputs = worker.run(f"%reset -f\n{PRELUDE}\n{source}")
    assert [o for o in outputs if o["output_type"] == "error"] == []
    graded = grade(EXERCISE, worker.proxy(), "1")
    assert home.score == graded.score == (0 if uses else EXERCISE.points)
    assert home.one_reason.partition(", at")[0] == graded.one_reason.partition(", at")[0]
    assert (ABSENT in home.table().replace("\n", " ")) == uses


def test_the_library_is_back_afterwards():
    names = {"causal": course_lib.masks.causal_mask, "course_lib": course_lib}
    with hidden(names):
        with pytest.raises(ModuleNotFoundError, match=ABSENT):
            names["causal"](3)
        with pytest.raises(ModuleNotFoundError, match=ABSENT):
            course_lib.masks.causal_mask(3)
    assert names["causal"](2).tolist() == course_lib.masks.causal_mask(2).tolist()
    assert sys.modules["course_lib.masks"] is course_lib.masks
    assert not any("import_stubs" in type(f).__module__ for f in sys.meta_path)


def test_an_import_of_what_was_not_loaded_leaves_nothing_behind():
    sys.modules.pop("course_lib.calibration", None)
    vars(course_lib).pop("calibration", None)
    with hidden({}):
        importlib.import_module("course_lib.calibration")
    assert not isinstance(vars(course_lib).get("calibration"), AbsentModule)
    assert not isinstance(importlib.import_module("course_lib.calibration"), AbsentModule)


def test_the_rule_is_told_in_the_words_of_its_refusal():
    assert ABSENT in RULE


def test_the_packages_that_the_rule_names_are_those_that_the_course_requires():
    required = {re.match(r"[\w-]+", line)[0] for line in requires("attention-course")}
    assert {*PACKAGES} <= required and all(f"`{name}`" in RULE for name in PACKAGES)
