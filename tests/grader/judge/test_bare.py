"""An answer to an exercise that forbids something is graded where nothing of that is left."""

import re
from pathlib import Path

import nbformat
import pytest
import torch

from grader import authoring
from grader.checks.exercise import find
from grader.intake import parsing
from grader.judge import bare, mounts
from grader.judge.channel import Worker
from grader.judge.judge import judge_notebook

ROOT = Path(__file__).resolve().parents[3]
EXERCISES = {
    source.stem: [*map(find, re.findall(r"{{ exercise: (\S+) }}", source.read_text("utf-8")))]
    for source in authoring.sources(ROOT)
}
FORBIDDING = [n for n, exercises in EXERCISES.items() if any(e.forbidden for e in exercises)]
# Uses all that is ever forbidden, compares with it, and goes on with what came of it.
COMPARED = """
x = torch.ones(1, 2, 4, requires_grad=True)
theirs = torch.nn.functional.scaled_dot_product_attention(x, x, x)
print(theirs.shape, torch.nn.functional.layer_norm(x, (4,)), torch.nn.Conv1d(2, 2, 1)(x))
theirs.sum().backward()
print(torch.optim.SGD([x], 0.1).step(), x.grad.shape)
grown = torch.nn.functional.interpolate(x, scale_factor=2.0, mode="linear")
out, state = torch.nn.GRU(4, 4)(x)
assert grown.shape[-1] == 8 and out.shape == x.shape
print(torch.vmap(torch.sum)(x), torch.compile(torch.sum)(x), torch.eye(2).to_sparse())
torch.use_deterministic_algorithms(True)
torch.use_deterministic_algorithms(False)
weights = torch.masked.softmax(x.detach(), -1, mask=x.detach() > 0)
weights = torch.utils.checkpoint.checkpoint(torch.exp, weights, use_reentrant=False)
assert weights.add(torch.baddbmm(x, x, x.mT @ x).new_empty(1).fill_(0)).shape == x.shape
"""

# Between them they forbid every kind; each takes workers of its own.
KINDS = ("01_seq2seq", "06_block", "11_space", "12_vit")


def test_the_sample_has_every_kind_that_is_forbidden():
    def kinds(names):
        return {kind for name in names for e in EXERCISES[name] for kind in e.forbidden}

    assert kinds(KINDS) == kinds(FORBIDDING)


@pytest.mark.sample(*KINDS)
@pytest.mark.parametrize("name", FORBIDDING)
def test_a_solution_that_compares_with_what_is_gone_gets_all_points(name, forkserver, monkeypatch):
    assignment = authoring.named(ROOT, name)
    lacking = []
    start = Worker.__init__

    def started(self, *args, **kwargs):
        lacking.append(kwargs.get("without", ()))
        start(self, *args, **kwargs)

    monkeypatch.setattr(Worker, "__init__", started)
    notebook = nbformat.from_dict(assignment.solution)
    at = next(n for n, c in enumerate(notebook.cells) if "import torch" in c.source)
    answer = next(c for c in notebook.cells if "BEGIN SOLUTION" in c.source)
    notebook.cells.insert(at + 1, nbformat.v4.new_code_cell(f"import torch\n{COMPARED}"))
    answer.source = f"import torch\n{COMPARED}\n{answer.source}"
    submission = parsing.parse(nbformat.writes(notebook).encode())
    judged = judge_notebook(submission, assignment.release, "5eed", forkserver)
    wanted = dict.fromkeys(e.forbidden for e in assignment.exercises if e.forbidden)
    assert lacking == [(), *wanted], "one for each, however many exercises"
    assert judged.score == sum(e.points for e in assignment.exercises) and judged.notes == []


def test_what_right_answers_import_is_there():
    """Where something is forbidden, of the packages nothing else is."""
    gone = {Path(path).name.partition(".")[0] for path in mounts.unneeded()}
    exercises = [e for name in FORBIDDING for e in EXERCISES[name] if e.forbidden]
    sources = [answer.source for e in exercises for answer in e.alternatives]
    for name in FORBIDDING:
        cells = [c.source for c in authoring.named(ROOT, name).solution.cells]
        sources += [source for source in cells if "BEGIN SOLUTION" in source]
    used = {word for s in sources for word in re.findall(r"^\s*(?:import|from) (\w+)", s, re.M)}
    assert {"matplotlib", "PIL", "fontTools", "sympy", "mpmath", "networkx"} <= gone
    assert not gone & {*used, "torch", "numpy", "tqdm", "IPython", "ipywidgets", "pip"}


SOON = "tables = F.scaled_dot_product_attention(*[torch.ones(1, 1, 2, 4)] * 3)[0, 0, 0, 0].item()"
USING = (
    "def scaled_dot_product_attention(q, k, v, mask=None):\n"
    "    scores = q / math.sqrt(q.shape[-1]) @ k.transpose(-2, -1) * tables\n"
    "    if mask is not None:\n"
    "        scores = scores.masked_fill(~mask, -torch.inf)\n"
    "    return scores.softmax(-1) @ v, scores.softmax(-1)"
)
TAKEN = "Without what it may not use, the answer of"


def test_what_the_bare_worker_takes_is_said(judge, answer, others):
    notebook = answer(
        "import contextlib, sys\n"
        f"{USING.replace(' * tables', '').partition('    return')[0]}"
        "    frame = sys._getframe()\n"
        "    while frame is not None:\n"
        "        if 'during' in frame.f_globals:\n"
        "            frame.f_globals['during'] = lambda *a, **k: contextlib.nullcontext()\n"
        "        frame = frame.f_back\n"
        "    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask), scores.softmax(-1)"
    )
    judged = judge(notebook)
    assert judged.score == others and any(TAKEN in note for note in judged.notes)
    first = judged.marks[0]
    cell = next(
        c
        for c in judged.notebook.cells
        if c.metadata.get("nbgrader", {}).get("grade_id") == first.grade_id
    )
    assert cell.outputs[1].data["text/plain"] == repr(first.score)


def test_only_a_wrong_answer_that_raises_is_graded_twice(judge, answer, first, monkeypatch):
    graded = []
    grade = bare.grade
    monkeypatch.setattr(bare, "grade", lambda e, *a, **k: graded.append(e.id) or grade(e, *a, **k))
    for source, times in (("return v, q @ k.mT", 1), ("raise KeyError", 2)):
        graded.clear()
        judge(answer(f"def {first.function}(q, k, v, mask=None):\n    {source}"))
        assert graded.count(first.id) == times


def test_points_stand_when_time_is_up(judge, solved, assignment, monkeypatch):
    """The time ran out for the grader; the answer is not to blame."""
    sessions = []

    class Short(judge_notebook.__globals__["Session"]):
        def __init__(self, start, seconds):
            sessions.append(self)
            super().__init__(start, seconds if len(sessions) == 1 else 0)

    monkeypatch.setitem(judge_notebook.__globals__, "Session", Short)
    judged = judge(solved)
    assert judged.score == assignment.automatic and len(sessions) == 3
    assert len(judged.notes) == 2
    assert all("no time left" in note and "please read" in note for note in judged.notes)


def test_what_was_worked_out_before_by_the_forbidden_earns_nothing(judge, answer, others):
    judged = judge(answer(f"{SOON}\n{USING}"))
    assert judged.score == others and any(TAKEN in note for note in judged.notes)


def test_an_error_of_ones_own_for_want_of_it_ends_no_cell(judge, answer, assignment):
    failing = f"try:\n    {SOON}\nexcept Exception:\n    raise ValueError('of mine') from None\n"
    judged = judge(answer(failing + USING.replace(" * tables", "")))
    assert judged.score == assignment.automatic and judged.notes == []


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("torch.logcumsumexp(scores, -1)", ["aten::logcumsumexp"]),
        ("print('scaled_dot_product_attention', nn.Softmax().backward)", []),
    ],
)
def test_a_person_is_asked_by_what_ran_and_not_by_what_was_named(
    judge, answer, assignment, source, seen
):
    usual = "class Softmax:\n    def backward(self):\n        pass\nnn.Softmax = Softmax\n"
    code = USING.replace(" * tables", "").replace("    return", f"    {source}\n    return")
    judged = judge(answer(f"from torch import nn\n{usual if not seen else ''}{code}"))
    assert judged.score == assignment.automatic
    assert [name in note for note in judged.notes for name in seen] == [True] * len(seen)
    assert len(judged.notes) == len(seen)


STARTS = """
import os, subprocess, sys, threading

def starts():
    made = []
    for way in (
        lambda: os.fork() or os._exit(0),
        lambda: os.posix_spawn("/bin/true", ["true"], {}),
        lambda: subprocess.run([sys.executable, "-c", "1"]),
        lambda: os.system("true") and 1 / 0,
        lambda: __import__("multiprocessing").Pool(1).close(),
    ):
        try:
            way()
            made.append("made")
        except Exception as error:
            made.append(type(error).__name__)
    return made

def threads():
    found = []
    thread = threading.Thread(target=found.append, args=(1,))
    thread.start()
    thread.join()
    return found
"""


@pytest.mark.parametrize("gone", [[], ["attention"]])
def test_an_answer_makes_no_process_and_a_cell_only_where_nothing_is_gone(forkserver, gone):
    with Worker(forkserver, without=gone) as worker:
        worker.run(STARTS)
        proxy = worker.proxy()
        assert ("made" in proxy.call("starts").value[1:4]) == (not gone)
        with proxy.refusing(["attention"], "an.exercise"):
            assert set(proxy.call("starts").value) == {"NotAllowed"}
            assert proxy.call("threads").value == [1]
        said = worker.run("import subprocess\nprint(subprocess.run(['true']) and 'made')")
        assert gone or "made" in said[0]["text"]


def test_a_probe_keeps_its_caps_where_something_is_gone(forkserver):
    with Worker(forkserver, without=["attention"]) as bare, Worker(forkserver) as other:
        for worker in (bare, other):
            worker.run("import torch\ndef big(n): return torch.ones(n) + 1")
            caps = {"memory": 100, "cpu": 2, "keep": [(slice(0, 3),)]}
            proxy = worker.proxy()
            assert proxy.probe("big", [2**20], **caps).value[0].tolist() == [2, 2, 2]
            assert "more than 100 MiB" in proxy.probe("big", [2**28], **caps).error.message
            assert proxy.probe("big", [2**20], **caps).value[0].tolist() == [2, 2, 2]


SOURCES = """
import types, torch
from torch.nn import functional as F

def rebuilt(x):
    code = compile(open(F.__file__).read(), "mine", "exec")
    code = next(c for c in code.co_consts if getattr(c, "co_name", "") == "normalize")
    return types.FunctionType(code, vars(F), "f", (2.0, 1, 1e-12, None))(x)

@torch.jit.script
def scripted(x: torch.Tensor):
    return torch.nn.functional.softmax(x, -1)
"""


def test_a_file_of_the_library_holds_what_is_not_forbidden(forkserver):
    with Worker(forkserver, without=["norm"]) as worker:
        worker.run(SOURCES)
        assert worker.proxy().call("rebuilt", torch.ones(2, 4)).error.type == "StopIteration"
        assert worker.proxy().call("scripted", torch.zeros(1, 2)).value.tolist() == [[0.5, 0.5]]
        said = worker.run(
            "import linecache; 'def normalize' in ''.join(linecache.getlines(F.__file__))"
        )
        assert said[-1]["data"]["text/plain"] == "False"


LOADS = """
import _lsprof, shutil, torch
shutil.copy(_lsprof.__file__, "own.so")
torch._C._aoti.AOTIModelContainerRunnerCpu("./own.so", 1)
"""


def test_a_library_of_ones_own_is_not_even_mapped(forkserver):
    with Worker(forkserver, without=["patches"]) as worker:
        (error,) = worker.run(LOADS)
        assert "failed to map segment" in error["evalue"]


def test_sizes_and_branches_are_no_library_code(forkserver):
    with Worker(forkserver, without=["attention"]) as worker:
        for call, text in (
            ("broadcast_shapes((2, 1), (3,))", "torch.Size([2, 3])"),
            ("cond(torch.ones(1) < 0, torch.exp, torch.neg, [torch.ones(1)])", "tensor([-1.])"),
        ):
            (shown,) = worker.run(f"import torch\ntorch.{call}")
            assert shown["data"]["text/plain"] == text
