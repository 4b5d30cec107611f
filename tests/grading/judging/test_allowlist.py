"""What is believed at once, and what is looked at again."""

import sys

import pytest

from course_lib.grading import authoring
from course_lib.grading.judging import as_run
from course_lib.grading.judging.allowlist import VOCABULARY, Reading, uses_known_names
from course_lib.grading.judging.as_run import statements

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
        "s = '%matplotlib inline'; exec('1'); t = '#'",
        "from course_lib.checks.forbidden import _function",
        "from course_lib.checks.probe import sys",
        "from course_lib.data.text import random",
        "from course_lib import checks",
        "from course_lib.grading.judging.sandbox import os",
        "sx[1]; python",
        "# a slide\u2028\nexec('1')",
        "class A(torch.Tensor):\n    __torch_function__ = sum",
        "def f(get_ipython):\n    pass\nget_ipython().system('true')",
        "%%time\nx = 1",
        "import matplotlib.pyplot as plt\nplt.savefig('triton.py', format='raw')",
    ],
)
def test_what_could_reach_the_guard_is_looked_at_again(source):
    assert not uses_known_names([START, source])


def test_names_of_what_was_handed_out_may_be_used():
    assert not uses_known_names(["def answer(q): return score(q)"])
    assert uses_known_names(["def answer(q): return score(q)"], ["def score(q): return q"])
    assert uses_known_names(["%matplotlib inline", "def answer(q):\n    raise ValueError(q.shape)"])

    library = "from course_lib.checks import check\nfrom course_lib.plots import INK, canvas\n"
    library += (
        "from course_lib.data.text import collate_text\nfrom course_lib.figures import figure"
    )
    assert uses_known_names(
        ["%matplotlib inline\n" + library, "match 1:\n    case int():\n        x = 1"]
    )


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("attention", "print(F.scaled_dot_product_attention)"),
        ("attention", "from torch.nn.functional import scaled_dot_product_attention as f"),
        ("autograd", "torch.ones(1, requires_grad=True).sum().backward()"),
        ("norm", "nn.LayerNorm(3)"),
        ("recurrence", "nn.LSTM(2, 2)"),
        ("patches", "table = F.unfold(torch.ones(1, 1, 4, 4), 2)"),
    ],
)
def test_who_names_what_is_forbidden_is_looked_at_and_who_has_a_function_of_that_name_is_not(
    kind, source
):
    names = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F"
    own = "def scaled_dot_product_attention(q):\n    return q\nscaled_dot_product_attention(1)"
    assert uses_known_names([names, source]) and not uses_known_names([names, source], kinds=[kind])
    assert uses_known_names([names, own], kinds=[kind])


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
            assert uses_known_names([o for o in own if o not in given], given), assignment.name


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
        ("import subprocess", ["subprocess"]),
        ("x = Own()\nx.weights_of_mine = 1\nprint(x.weights_of_mine)", []),
        ("x = Own()\nx.detach = 1", ["detach"]),
        ("Own().helped() + Own().kept + Own()._cache", []),
        ("torch._refs.native_layer_norm", ["_refs"]),
        ("import sys\nsys.modules", ["modules"]),
        ("sys._getframe().f_back", ["f_back", "_getframe"]),
        ("torch.nn.functional.importlib", ["importlib"]),
        ("torch.ao.nn", ["ao"]),
        ("def f(__builtins__):\n    pass\n__builtins__['eval']", ["__builtins__"]),
        ("from operator import helped", ["helped"]),
        (
            "class A(Own):\n    pass\nmatch torch:\n    case A(x):\n        pass",
            ["a pattern by place"],
        ),
        ("import contextlib\nclass A(contextlib.redirect_stdout):\n    pass", ["redirect_stdout"]),
        ("import functools\nfunctools.singledispatch(abs)", ["singledispatch"]),
        ("class A:\n    def __del__(self):\n        pass", ["__del__"]),
        ("torch.Tensor.matmul = 1", ["matmul"]),
        ("x = torch.ones(1, requires_grad=True).exp().grad_fn", ["grad_fn"]),
        ("import helper", ["helper"]),
        ("!pip list", ["a command"]),
        ("%matplotlib inline", []),
        ("def broken(", ["what is no Python"]),
        ("from math import *\nx = sqrt(4) + pi", []),
        ("from torch import *\ndef f(ops):\n    pass\nops.aten", ["aten"]),
        ("device = 'cuda' if torch.cuda.is_available() else 'cpu'", []),
        ("match 1:\n    case int() as n:\n        print(n)", []),
        ("match torch:\n    case object(_C=inner):\n        pass", ["_C"]),
        ("print(type(torch), isinstance(1, type))", []),
        ("getattr(torch, 'softmax')", []),
        ("import inspect\nprint(inspect.signature(torch.sum))", []),
        ("%%writefile mine.py\nimport math\ndef f(x):\n    return math.sqrt(x)", []),
        ("%%writefile mine.py\nimport ctypes", ["ctypes"]),
        ("from concurrent.futures import ThreadPoolExecutor as Pool\nPool(2).submit(abs, 1)", []),
        (
            "@torch.jit.script\ndef f(x):\n    # type: (exec('1')) -> int\n    return x",
            ["a type comment"],
        ),
    ],
)
def test_what_leads_elsewhere_is_odd_and_what_computes_is_not(source, names):
    reading = Reading([*OWN, "sys = F = 1", source])
    found = [name for part in statements(source) for name in reading.unusual_names(part)]
    assert set(names) <= set(found) and bool(found) == bool(names)


def test_a_cell_falls_into_statements_whatever_they_hold():
    cell = "%%time\n!pip list\nimport math; x = 1\nfiles = !ls\n@f\ndef g():\n    return 1"
    assert statements(cell) == [
        "get_ipython().system('pip list')", "import math; x = 1",
        "files = get_ipython().getoutput('ls')", "@f\ndef g():\n    return 1",
    ]  # fmt: skip
    assert statements("x = (1\n     % 2)") == ["x = (1\n     % 2)"]
    (command,) = statements("%%bash\nls -l | wc")
    assert command.startswith("get_ipython().run_cell_magic('bash'")
    assert statements("1" + " + 1" * 3000) == ["1" + " + 1" * 3000]


def test_what_is_read_is_what_runs():
    """IPython strips prompts, and does so in a text, too."""
    assert "exec" in as_run.as_run("x = '''\n>>> '''; exec(1)")
    assert not uses_known_names(["x = '''\n>>> '''; exec(1)"])
    with pytest.raises(ValueError, match="too many"):
        as_run.as_run("!ls\n" * 1000)


def test_modules_of_ones_own_are_read_as_well():
    modules = {
        "helped.py": "import math\ndef root(x):\n    return math.sqrt(x)\nimport gc",
        "ctypes.py": "x = 1",
    }
    own = "import helped, ctypes\nfrom helped import root\nhelped.root(4)"
    reading = Reading([own], modules=modules)
    assert reading.unusual_names("from helped import root\nhelped.root(4)") == []
    assert reading.unusual_names("import ctypes") == ["ctypes"], (
        "which is found before what lies beside"
    )
    assert "gc" not in reading.plain_modules()["helped.py"]


GUARDED = """
import sys, torch
class Given:
    pass
given = Given()
setattr(given, "power" + "1", 0.5)
assert getattr(given, "power1") == 0.5 and getattr(torch, "soft" + "max") and getattr(3, "real")
refused = 0
class Sly(str):
    def __hash__(self):
        return hash("real")
    def __eq__(self, other):
        return True
for thing, name in ((sys, "modules"), (torch, "ops"), (getattr, "__globals__"), (1, Sly("x"))):
    try:
        getattr(thing, name)
    except AttributeError:
        refused += 1
for thing, name in ((torch, "sum"), (Given, "mine"), (given, "softmax"), (given, "__class__")):
    try:
        setattr(thing, name, 1)
    except AttributeError:
        refused += 1
f = getattr
assert f(1, "real") and isinstance(int, type) and not isinstance(1, type) and type(1) is int
"""


@pytest.fixture
def names(monkeypatch):
    """A notebook's names while it is looked at; own classes have fields of all of these names."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    names = {}
    wide = "class Wide:\n    attrgetter = runstring = bltns = get_type_hints = Formatter = mp = 0"
    module = "%%writefile helped.py\nimport operator\nread = getattr"
    exec(Reading([GUARDED, wide, module]).guard(), names)
    yield names
    sys.modules.pop("helped", None)


def test_attributes_by_names_of_the_moment_are_guarded_while_they_run(names):
    exec(GUARDED, names)
    assert names["refused"] == 8


@pytest.mark.parametrize(
    "source",
    [
        "import operator\noperator.attrgetter",
        "import typing\ntyping.get_type_hints",
        "import numpy as np\nnp.testing.runstring",
        "import enum\nenum.bltns",
        "import string\nstring.Formatter",
        "from numpy import *\nload('x')",
        "import sys\nsys.modules",
        "import functools, sys\nfunctools.wraps(sys)(abs)",
        "import functools\nclass Box:\n    pass\nfunctools.wraps(abs)(Box())",
        "import functools\nfunctools.wraps(abs, assigned=('gi_frame',))(abs)",
        "import inspect\ninspect.signature(abs, eval_str=True)",
        "kind = type(int)",
        "type('A', (), {})",
        "eval('1')",
        # Its end removes the name, and what is behind it is there again.
        "try:\n    1 / 0\nexcept ArithmeticError as getattr:\n    pass\ngetattr(1, 'imag_')",
        "import helped\nhelped.operator.attrgetter",
        "import helped\nhelped.read(helped.operator, 'modules')",
    ],
)
def test_what_imports_and_python_give_leads_nowhere_else_while_it_is_looked_at(names, source):
    with pytest.raises((AttributeError, TypeError, NameError)):
        exec(source, names)


def test_what_computes_is_there_while_it_is_looked_at(names):
    exec(
        "import functools, inspect, torch, numpy as np, helped\nfrom math import *\n"
        "from torch.nn import functional as F\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Given:\n    x: int = 1\n"
        "def told(f):\n    @functools.wraps(f)\n    def g(x):\n        return f(x)\n    return g\n"
        "assert told(sqrt)(4) == Given().x + 1 and torch.nn.functional is F\n"
        "assert inspect.signature(told).parameters and np.linalg.norm(np.ones(4)) == 2",
        names,
    )
