"""Cost is decided from outside: by what a call does not get, over both transports."""

import os

import pytest
import torch

from course_lib.checks.exercise import Exercise
from course_lib.checks.fixtures import normal
from course_lib.checks.probe import TooCostly, bounded
from course_lib.checks.report import grade
from course_lib.checks.subject import Subject
from course_lib.checks.wire import Fixture
from course_lib.grading import kit
from course_lib.grading.channel import Worker
from course_lib.grading.nursery import Nursery

T, D = 10_000, 16
GOOD = "import torch\ndef all_pairs(x):\n    return x @ (x.T @ x)"
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
        "seconds of processor time",
    ),
    "asleep": ("def all_pairs(x):\n    import time\n    time.sleep(600)", "seconds of processor"),
    "wrong": ("def all_pairs(x):\n    return x @ (x.T @ x) * 2", "a part of the result"),
    "gone": ("def all_pairs(x):\n    import os\n    os._exit(0)", "seconds of processor time"),
    "no more limits": (
        "import resource\ndef all_pairs(x):\n    free = (resource.RLIM_INFINITY,) * 2\n"
        "    resource.setrlimit(resource.RLIMIT_AS, free)\n    return (x @ x.T) @ x",
        "raised ",
    ),
    "raises": ("def all_pairs(x):\n    raise NotImplementedError", "raised NotImplementedError"),
}

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


@exercise.prop("never holds a score for every pair", points=1, hint="Which product comes first?")
def cheap(trial):
    seed = trial.integer(0, 2**31)
    x = normal([T, D], seed)
    trial.size_probe(
        Fixture("normal", {"shape": [T, D], "seed": seed}),
        want=x[5:9] @ (x.T @ x),
        keep=[(5, 9)],
        memory=38,  # all scores: 381 MiB; in blocks: under 7
        cpu=2,
        why="a score for every pair",
    )


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    with Nursery(kit.build(tmp_path_factory.mktemp("kits"))) as nursery, Worker(nursery) as worker:
        yield worker


def local(source, worker):
    names = {}
    exec(source, names)
    return Subject.local(names)


def remote(source, worker):
    outputs = worker.run(source)
    assert not [o for o in outputs if o["output_type"] == "error"]
    return worker.subject()


@pytest.mark.parametrize("transport", [local, remote])
@pytest.mark.parametrize("name", ANSWERS)
def test_the_cap_decides(name, transport, worker):
    if transport is local and name == "no more limits" and os.geteuid() == 0:
        pytest.skip("root may lift its own limits; a worker's root is none")
    source, why = ANSWERS[name]
    subject = transport(source, worker)
    (row,) = grade(exercise, subject, "5eed", name_mistake=False).rows
    assert row.passed == (not why) and why in row.why
    # Whatever struck, it was not the process that holds the answer.
    if name in ANSWERS and name not in ("gone", "asleep"):
        assert subject.call("all_pairs", torch.ones(2, 2)).error is None or name in (
            "raises",
            "no more limits",
        )


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
    with pytest.raises(TooCostly, match="64 MiB"):
        bounded(lambda: bytes(2**30), memory=64, cpu=2)
