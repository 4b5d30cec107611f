"""What is believed at once, and what is looked at again."""

import pytest

from course_lib.grading import authoring
from course_lib.grading.judging.allowlist import VOCABULARY, odd, ordinary, statements

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
        "import sympy",
        "import torch.nested",
        "from torch.ao.nn.quantizable import LSTM",
        "torch.Tensor.detach = torch.sum",
        "torch.ones(1).detach = sum",
        "from .helper import mean",
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
    for source in authoring.sources(root):
        assignment = authoring.load(source, root)
        if any(exercise.forbidden for exercise in assignment.exercises):
            given = [c.source for c in assignment.release.cells if c.cell_type == "code"]
            own = [c.source for c in assignment.solution.cells if c.cell_type == "code"]
            assert ordinary([o for o in own if o not in given], given), assignment.name


OWN = [
    "import torch\nfrom torch import nn",
    "class Own(nn.Module):\n    _cache: int = 0\n    def helped(self):\n        self.kept = 1\n"
    "    def _refs(self):\n        self.modules = 1\n    def f_back(self):\n        pass",
]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("x = torch.fft.rfft(torch.special.entr(torch.ones(4)))", []),
        ("@torch.jit.script\ndef f(x):\n    return x.clamp(0)", []),
        ("import threading", ["threading"]),
        ("x = Own()\nx.weights_of_mine = 1\nprint(x.weights_of_mine)", []),
        ("x = Own()\nx.detach = 1", ["detach"]),
        ("Own().helped() + Own().kept + Own()._cache", []),
        ("torch._refs.native_layer_norm", ["_refs"]),
        ("import sys\nsys.modules", ["modules"]),
        ("sys._getframe().f_back", ["f_back", "_getframe"]),
        ("torch.nn.functional.importlib", ["importlib"]),
        ("torch.ao.nn", ["ao"]),
        ("getattr(torch, 'x')", ["getattr"]),
        ("class A:\n    def __del__(self):\n        pass", ["__del__"]),
        ("torch.Tensor.matmul = 1", ["matmul"]),
        ("x = torch.ones(1, requires_grad=True).exp().grad_fn", ["grad_fn"]),
        ("import helper", ["helper"]),
        ("!pip list", ["a command"]),
        ("%matplotlib inline", ["a command"]),
        ("def broken(", ["what is no Python"]),
    ],
)
def test_what_leads_elsewhere_is_odd_and_what_computes_is_not(source, names):
    found = odd(source, [*OWN, "sys = F = 1", source], [])
    assert set(names) <= set(found) and bool(found) == bool(names)


def test_a_cell_falls_into_statements_whatever_they_hold():
    cell = "%%time\n!pip list\nimport math; x = 1\nfiles = !ls\n@f\ndef g():\n    return 1"
    assert statements(cell) == [
        "%%time", "!pip list", "files = !ls", "import math; x = 1",
        "@f\ndef g():\n    return 1",
    ]  # fmt: skip
    assert statements("x = (1\n     % 2)") == ["x = (1\n     % 2)"]
    assert statements("%%bash\nls -l | wc") == ["%%bash\nls -l | wc"]
    assert statements("1" + " + 1" * 3000) == ["1" + " + 1" * 3000]
