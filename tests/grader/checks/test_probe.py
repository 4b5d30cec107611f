"""Cost is decided from outside: by what a call does not get, over both transports."""

import ast
import dataclasses
import gc
import importlib
import inspect
import os
import signal
import sys
import time

import pytest
import torch

from course_tests.grader.checks.recognised import recognised
from grader.checks import probe
from grader.checks.answer_proxy import AnswerProxy
from grader.checks.cell import MIME, publish
from grader.checks.exercise import Exercise, find, identifiers
from grader.checks.grading import UNTRIED, grade, grade_source
from grader.checks.probe import Bounded, End, Unanswered
from grader.checks.protocol import Fixture, normal
from grader.checks.trial import Trial, Wrong
from grader.judge.channel import Worker
from grader.judge.forkserver import ForkServer

T, D = 10_000, 16
GOOD = "import torch\ndef all_pairs(x):\n    return x @ (x.T @ x)"
LATE = "not finished in 2 seconds of processor time; not judged"
IDLE = "ended after 9 seconds without 2 seconds of processor time; not judged"
ANSWERS = {
    "in one go": (GOOD, ""),
    "in blocks": (
        "import torch\ndef all_pairs(x):\n"
        "    return torch.cat([(b @ x.T) @ x for b in x.split(64)])",
        "",
    ),
    "all scores": ("def all_pairs(x):\n    return (x @ x.T) @ x", "MiB of memory"),
    "pair by pair": (
        "import torch\ndef all_pairs(x):\n    out = torch.zeros_like(x)\n"
        "    for t in range(len(x)):\n        for s in range(len(x)):\n"
        "            out[t] += x[t] @ x[s] * x[s]\n    return out",
        LATE,
    ),
    "asleep": ("def all_pairs(x):\n    import time\n    time.sleep(600)", IDLE),
    "wrong": ("def all_pairs(x):\n    return x @ (x.T @ x) * 2", "a part of the result"),
    "gone": ("def all_pairs(x):\n    import os\n    os._exit(0)", "ended before it answered"),
    "no more limits": (
        "import resource\ndef all_pairs(x):\n    free = (resource.RLIM_INFINITY,) * 2\n"
        "    resource.setrlimit(resource.RLIMIT_AS, free)\n    return (x @ x.T) @ x",
        "raised ",
    ),
    "raises": ("def all_pairs(x):\n    raise NotImplementedError", "raised NotImplementedError"),
}

SLOWLY = """
def distance_scores(q, table):
    T = q.shape[-2]
    out = torch.zeros(*q.shape[:-1], T, dtype=q.dtype)
    for i in range(T):
        for j in range(T):
            for channel in range(q.shape[-1]):
                out[..., i, j] += q[..., i, channel] * table[j - i + T - 1, channel]
    return out
"""


def module_of(identifier):
    return importlib.import_module(f"course_lib.bank.{identifier}")


exercise = Exercise(
    id="tests.all_pairs",
    function="all_pairs",
    reference=lambda x: x @ (x.T @ x),
    points=1,
    minutes=1,
    difficulty=1,
    chapter="none",
    example=lambda trial: (trial.randn(3, 2),),
)


@exercise.prop(1, "Which product comes first?")
def cheap(trial):
    """never holds a score for every pair"""
    seed = trial.integer(0, 2**31)
    x, places = normal([T, D], seed), trial.slices((T, 4))
    trial.size_probe(
        Fixture("normal", {"shape": [T, D], "seed": seed}),
        want=[x[rows] @ (x.T @ x) for (rows,) in places],
        keep=places,
        memory=38,  # all scores: 381 MiB; in blocks: under 7
        cpu=2,
        why="a score for every pair",
    )


@pytest.fixture(scope="module")
def forkserver(tmp_path_factory):
    with ForkServer(tmp_path_factory.mktemp("kits")) as forkserver:
        yield forkserver


@pytest.fixture(scope="module")
def worker(forkserver):
    with Worker(forkserver) as worker:
        yield worker


def bounded(compute, **caps):
    def computed():
        value = compute()
        return lambda _: value

    return Bounded(computed, **caps).ask(b"")


def local(source, worker):
    names = {}
    exec(source, names)
    return AnswerProxy.local(names)


def remote(source, worker):
    outputs = worker.run(source)
    assert not [o for o in outputs if o["output_type"] == "error"]
    return worker.proxy()


@pytest.mark.parametrize("transport", [local, remote])
@pytest.mark.parametrize("name", ANSWERS)
def test_the_cap_decides(name, transport, worker):
    if transport is local and name == "no more limits" and os.geteuid() == 0:
        pytest.skip("root may lift its own limits; a worker's root is none")
    source, why = ANSWERS[name]
    proxy = transport(source, worker)
    (row,) = grade(exercise, proxy, "5eed", examples=False).rows
    if why == LATE and row.open == IDLE:
        why = IDLE  # a busy machine has not given it the time that it would have used up
    assert row.failed == (why not in ("", LATE, IDLE)) and why in (row.open or row.why)
    assert row.passed == (not row.failed)
    assert bool(row.open) == (why in (LATE, IDLE)), "time is no verdict on memory"
    # Whatever struck, it was not the process that holds the answer.
    if name in ANSWERS and name not in ("gone", "asleep"):
        assert proxy.call("all_pairs", torch.ones(2, 2)).error is None or name in (
            "raises",
            "no more limits",
        )


ELSEWHERE = """
import multiprocessing as mp, torch
here, there = mp.Pipe()
def all_pairs(x):
    here.send(x.numpy())
    return torch.from_numpy(here.recv())
def serve():
    while True:
        x = there.recv()
        there.send((x @ x.T) @ x)
"""


@pytest.mark.parametrize("gone", [[], ["patches"]])
@pytest.mark.parametrize(
    "served",
    [
        "mp.get_context('fork').Process(target=serve, daemon=True).start()",
        "__import__('threading').Thread(target=serve, daemon=True).start()",
    ],
)
def test_nobody_computes_for_an_answer_within_caps(gone, served, forkserver):
    """A process of an earlier cell is ended, and a thread gets no turn."""
    with Worker(forkserver, without=gone) as worker:
        proxy = remote(ELSEWHERE + served, worker)
        (row,) = grade(exercise, proxy, "5eed", examples=False).rows
        assert not row.passed or row.open == IDLE


def test_other_threads_do_not_make_it_wait():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        a = torch.randn(400, 400)
        a @ a
        assert bounded(lambda: str((a @ a).shape).encode(), memory=64, cpu=4)[:5] == b"torch"
    finally:
        torch.set_num_threads(before)


def test_what_is_raised_is_no_cost():
    with pytest.raises(Unanswered, match="took more than 64 MiB"):
        bounded(lambda: bytes(2**30), memory=64, cpu=2)


@pytest.fixture
def patient(monkeypatch):
    """A busy machine gets the time to give an answer the time that it uses up."""
    monkeypatch.setattr(probe, "_SLACK", 120)


def endless():
    while True:
        pass


def test_time_is_told_from_memory_and_from_an_end_of_its_own(patient):
    with pytest.raises(Unanswered, match="not finished in 1 seconds"):
        bounded(endless, memory=64, cpu=1)
    with pytest.raises(Unanswered, match=r"ended before it answered \(status 3\)") as caught:
        bounded(lambda: os._exit(3), memory=64, cpu=1)
    assert caught.value.end is End.DIED
    with pytest.raises(Unanswered, match=r"ended before it answered \(signal 11\)"):
        bounded(lambda: os.kill(os.getpid(), 11), memory=64, cpu=1)


@pytest.mark.parametrize(
    ("place", "told"), [((), "the scores"), ((slice(0, 1),), "a part of the scores")]
)
def test_what_is_wrong_is_told_by_its_name(place, told):
    several = dataclasses.replace(exercise, returns=("the sums", "the scores"))
    x = torch.ones(2, 2)
    trial = Trial(several, AnswerProxy.local({"all_pairs": lambda x: (x, 3 * x)}), 1)
    want = [[x[place]] * 2]
    with pytest.raises(Wrong, match=rf"^{told} at \(0, 0\) is 3, expected 1"):
        trial.size_probe(x, want=want, keep=[place], memory=64, cpu=1, why="four pairs")
    assert trial._pair is not None and trial._pair.what == told


def test_time_is_judged_where_seconds_are_given(patient):
    timed = Trial(exercise, AnswerProxy.local({"all_pairs": lambda x: endless()}), 1)
    x = torch.ones(2, 2)
    limits = {"want": [x], "keep": [()], "memory": 64, "cpu": 1, "why": "four pairs"}
    with pytest.raises(Wrong, match="four pairs: not finished in 1 seconds"):
        timed.size_probe(x, timed=True, **limits)
    timed.size_probe(x, **limits)
    assert timed.open is not None and timed.open.type == "OutOfTime"


def test_what_did_not_get_its_time_is_not_judged_where_seconds_are_given():
    """A machine on which much else runs must not cost an answer its points."""
    waiting = Trial(exercise, AnswerProxy.local({"all_pairs": lambda x: time.sleep(60)}), 1)
    limits = {"keep": [()], "memory": 64, "cpu": 1, "why": "four pairs", "timed": True}
    waiting.size_probe(torch.ones(2, 2), want=[None], **limits)
    assert waiting.open is not None and waiting.open.type == End.STARVED


# Every property runs to its cap, twice; that time is no verdict, `test_the_cap_decides` shows.
@pytest.mark.slow
def test_what_is_slow_gets_no_name_of_what_is_large():
    """The banked mistake fails for its memory; a slow answer of the same values is open."""
    exercise = find("relative.distance_scores")
    slow = recognised(exercise, SLOWLY, "5eed")
    assert not slow.mistakes and slow.full and slow.score == slow.max_points
    waiting = [row for row in slow.rows if row.open]
    assert waiting
    for row in waiting:
        assert "memory" not in row.open and f"  open  {row.points:4g}  {row.name}" in slow.table()
        assert row.hint in slow.hints() and "a person looks at it" in row.hint


# Right for all that is small, and of what is large only where a look was once certain.
HALF_DONE = {
    "cheaper.window_attention": ("radius", "q.shape[-2] > 5000", "out[40_000:40_100]"),
    "space.rescan": ("new_order", "len(x) > 5000", "out[:500]"),
    "relative.distance_scores": ("table", "q.shape[-2] > 300", "out[:, 500:504, 100:104]"),
}


@pytest.mark.parametrize("identifier", HALF_DONE)
def test_a_large_result_is_looked_at_where_nobody_knows(identifier):
    exercise = find(identifier)
    last, large, filled = HALF_DONE[identifier]
    right = exercise.alternatives[0].source.replace(f"def {exercise.function}(", "def right(")
    head = next(line for line in right.splitlines() if line.startswith("def right("))
    arguments = head[head.index("(") + 1 : head.index(last)] + last
    source = (
        f"{right}\ndef {exercise.function}({arguments}):\n    whole = right({arguments})\n"
        f"    if not {large}:\n        return whole\n"
        f"    out = torch.zeros_like(whole)\n    {filled} = whole{filled[3:]}\n    return out\n"
    )
    report = grade_source(exercise, source, "5eed")
    assert report.score < report.max_points and not any(row.open for row in report.rows)


def without_caps(monkeypatch):
    for name in ("fork", "wait4"):
        monkeypatch.delattr(os, name)
    monkeypatch.setitem(sys.modules, "resource", None)
    for name in ("setitimer", "getitimer", "alarm"):
        monkeypatch.delattr(signal, name)


def forgotten_caps(monkeypatch):
    monkeypatch.setattr(probe, "_capped", lambda memory: False)


PROBING = [name for name in identifiers() if "size_probe" in inspect.getsource(module_of(name))]


SYSTEMS = [(name, without_caps) for name in PROBING] + [(PROBING[0], forgotten_caps)]


@pytest.mark.sample(PROBING[0], "space.rescan", "transformer.cached_attention")
@pytest.mark.parametrize(("identifier", "system"), SYSTEMS)
def test_nothing_is_green_that_was_not_tried(identifier, system, monkeypatch):
    exercise = find(identifier)
    right = grade_source(exercise, exercise.alternatives[0].source, "home")
    assert right.score == right.max_points and UNTRIED not in right.table()
    system(monkeypatch)
    for answer in [*exercise.mistakes, *exercise.alternatives]:
        report = grade_source(exercise, answer.source, "home")
        left = [row for row in report.rows if row.open]
        told = report.table().replace("\n", " ")
        assert report.score < report.max_points, f"{answer.name} has full marks"
        for row in left:
            assert row.open == row.hint == UNTRIED and not row.passed
            assert f"open  {row.points:4g}  {row.name}" in told and UNTRIED in report.hints()
        if answer in exercise.alternatives:
            assert left and report.full, "no failure, and no full marks"


@pytest.mark.parametrize("identifier", PROBING[:1])
def test_no_name_without_a_failure(identifier, monkeypatch):
    without_caps(monkeypatch)
    exercise = find(identifier)
    for answer in exercise.alternatives:
        report = recognised(exercise, answer.source, "a home of its own")
        assert not report.mistakes


def test_what_was_not_tried_is_said_as_data(monkeypatch, capsys):
    without_caps(monkeypatch)
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    monkeypatch.setitem(sys.modules["__main__"].__dict__, "all_pairs", lambda x: x @ (x.T @ x))
    monkeypatch.setattr("grader.checks.exercise.find", lambda identifier: exercise)
    publish("tests.all_pairs")
    (data,) = shown
    (row,) = data[MIME]["rows"]
    assert (row["passed"], row["open"], data[MIME]["score"]) == (False, UNTRIED, 0)


class Parsing:
    """Garbage that parses when it is collected, as does the traceback of a failed finalizer."""

    def __init__(self):
        self.cycle = self

    def __del__(self):
        ast.parse("x")


def test_what_the_parent_has_left_to_collect_does_not_run_in_the_call():
    def parses():
        return str(len(ast.parse("a," * 100_000).body)).encode()

    gc.disable()
    try:
        Parsing()
        assert bounded(lambda: gc.enable() or parses(), memory=512, cpu=5) == b"1"
    finally:
        gc.enable()
        gc.collect()
