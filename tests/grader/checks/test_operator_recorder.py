"""Which operators ran, and which of them no right answer needs."""

import subprocess
import sys

import pytest
import torch
from torch.nn import functional as F

from course_tests.grader.checks.operator_list import beside, used
from grader.checks.exercise import find
from grader.checks.operator_recorder import EVERYDAY, Recorder, unusual

x = torch.ones(1, 4, 4)


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: x.softmax(-1) @ x, []),
        (lambda: x.clone().exp_().add_(1).cumsum(-1).sort(), []),
        (lambda: torch.einsum("bij,bjk->bik", x, x).mT.flatten(), []),
        (lambda: F.adaptive_max_pool2d(x, 2), ["aten::adaptive_max_pool2d"]),
        (
            lambda: torch.mkldnn_adaptive_avg_pool2d(x[None].to_mkldnn(), 2),
            ["aten::mkldnn_adaptive_avg_pool2d", "aten::to_mkldnn"],
        ),
    ],
)
def test_of_all_that_runs_only_the_unusual_is_told(call, names):
    with Recorder() as recorder:
        call()
    assert recorder.names and unusual(recorder.names) == names


@pytest.mark.parametrize("identifier", ["attention.scaled_dot_product", "vit.patchify"])
def test_the_list_holds_what_right_answers_run(identifier):
    """``python tests/grader/checks/operator_list.py`` adds to it."""
    known = EVERYDAY.read_text(encoding="utf-8").split()
    names = used(find(identifier))
    assert {name.partition("::")[2].rstrip("_") for name in names} - set(known) <= {
        # Compounds, which another version of torch may show or take apart.
        name
        for name in (n.partition("::")[2] for n in names)
        if not unusual([f"aten::{name}"])
    }
    assert unusual(names) == [] == unusual(beside())


THREADS = """
import _thread, sys, threading, torch
from concurrent.futures import ThreadPoolExecutor
from grader.checks.operator_recorder import Recorder
class Own(threading.Thread):
    def run(self):
        torch.ones(2).erf()
recorder = Recorder()
recorder.in_threads()
with recorder:
    thread = Own()
    thread.start()
    thread.join()
    done = _thread.allocate_lock()
    done.acquire()
    _thread.start_new_thread(lambda x: (x.lgamma(), done.release()), (torch.ones(2),))
    done.acquire()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(torch.sinc, [torch.ones(2)] * 4))
print(*recorder.names)
"""


def test_what_runs_in_threads_is_seen_as_well():
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True)
    assert {"aten::erf", "aten::lgamma", "aten::sinc"} <= set(done.stdout.split()), done.stderr


@pytest.mark.parametrize(
    "name",
    [
        "aten::no_such",
        "aten::",
        "aten::name",
        "aten::__class__",
        "aten::a b",
        "aten::\0",
        "aten::\ud800",
        "nonsense",
        "",
    ],
    ids=ascii,
)
def test_a_name_that_the_process_has_made_up_is_none_of_a_right_answer(name):
    assert unusual([name, "aten::add"]) == [name]
