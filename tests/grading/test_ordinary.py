"""What is believed at once, and what is looked at again."""

import pytest

from course_lib.grading import authoring
from course_lib.grading.ordinary import VOCABULARY, ordinary

START = "import torch\nfrom torch.nn import functional as F\n"


@pytest.mark.parametrize(
    "source",
    [
        "import sys; sys._getframe()",
        "import sys; sys.modules",
        "try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__",
        "def f():\n    yield\nf().gi_frame",
        "eval('1')",
        "exec('1')",
        "getattr(torch, 'x')",
        "vars(torch)",
        "globals()",
        "__import__('os')",
        "import os; os.system('true')",
        "from os import system",
        "from torch import *",
        "from contextlib import sys",
        "import builtins; builtins.eval('1')",
        "match 1:\n    case object(__class__=c):\n        pass",
        "class A:\n    def __getattr__(self, name):\n        return 1",
        "class A(torch.Tensor):\n    def __torch_function__(self):\n        return 1",
        "get_ipython()",
        "!ls",
        "%run x.py",
        "def broken(",
        "open('x')",
        "torch.load('x')",
        "torch.library",
        "x = torch.ones(1).grad_fn",
        "def f(x):\n    return x.__globals__",
    ],
)
def test_what_could_reach_the_guard_is_looked_at_again(source):
    assert not ordinary([START, source])


def test_names_of_what_was_handed_out_may_be_used():
    assert not ordinary(["def answer(q): return score(q)"])
    assert ordinary(["def answer(q): return score(q)"], ["def score(q): return q"])
    assert ordinary(["%matplotlib inline", "def answer(q):\n    raise ValueError(q.shape)"])


def test_no_word_opens_a_door():
    doors = (
        "load open compile eval exec modules sys os builtins inspect ctypes gc library ops utils"
    )
    doors += " open register_hook apply Function settrace f_back tb_frame save memmap"
    assert not VOCABULARY & set(doors.split())
    assert not [word for word in VOCABULARY if word.startswith("_")]


def test_solutions_are_ordinary(root):
    """A class of them costs no second look."""
    for source in sorted(root.glob("solutions/*/*.md")):
        assignment = authoring.load(source, root)
        if any(exercise.forbidden for exercise in assignment.exercises):
            given = [c.source for c in assignment.release.cells if c.cell_type == "code"]
            own = [c.source for c in assignment.solution.cells if c.cell_type == "code"]
            assert ordinary([o for o in own if o not in given], given), assignment.name
