"""Which operators ran, and which of them no right answer needs."""

import functools
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch.nn import functional as F
from torch.utils import _python_dispatch as modes

from course_tests.grader.checks.operator_list import beside, since, used
from grader.checks.exercise import find
from grader.checks.operator_recorder import EVERYDAY, recorder, unusual

x = torch.ones(1, 4, 4)
Key, Keys = torch._C.DispatchKey, torch._C.DispatchKeySet


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: x.softmax(-1) @ x, []),
        (lambda: x.clone().exp_().add_(1).cumsum(-1).sort(), []),
        (lambda: torch.einsum("bij,bjk->bik", x, x).mT.flatten(), []),
        (lambda: (x.clone().fmod_(2), x.clone().copysign_(2), torch.det(x)), []),
        (lambda: F.adaptive_max_pool2d(x, 2), ["aten::adaptive_max_pool2d"]),
        (lambda: torch.mkldnn_adaptive_avg_pool2d(x[None].to_mkldnn(), 2), ["aten::to_mkldnn"]),
    ],
)
def test_of_all_that_runs_only_the_unusual_is_told(call, names):
    before = recorder()()
    call()
    assert unusual(since(before)) == names


def pooled(*contexts):
    for context in contexts:
        context.__enter__()
    try:
        return F.adaptive_max_pool2d(x.clone().requires_grad_(), 2)
    finally:
        for context in contexts[::-1]:
            context.__exit__(None, None, None)


class Through(modes.TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


def excluded():
    torch._C._dispatch_tls_set_dispatch_key_excluded(Key.Python, True)
    try:
        pooled()
    finally:
        torch._C._dispatch_tls_set_dispatch_key_excluded(Key.Python, False)


def popped():
    Through().__enter__()
    torch._C._pop_torch_dispatch_stack(None)
    pooled()


def in_a_thread(call):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def in_a_pool():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(pooled).result()


def kernel(key):
    found = torch.library.get_kernel("aten::adaptive_max_pool2d", key)
    found.call_boxed(Keys(Key.CPU), x, [2, 2])


def forgotten():
    pooled()
    gc.unfreeze()
    for thing in gc.get_objects():
        # Those that the library's own functions have say what they wrap.
        if type(thing) is functools._lru_cache_wrapper and not hasattr(thing, "__wrapped__"):
            thing.cache_clear()


# Ways past a recorder that is a mode of torch's, or one of Python's.
PAST = {
    "no dispatch": lambda: pooled(torch._C._DisableTorchDispatch()),
    "no function": lambda: pooled(torch._C.DisableTorchFunctionSubclass()),
    "no modes": lambda: pooled(modes._disable_current_modes()),
    "another mode": lambda: pooled(Through()),
    "excluded keys": lambda: pooled(torch._C._ExcludeDispatchKeyGuard(Keys(Key.Python))),
    "below gradients": lambda: pooled(torch._C._AutoDispatchBelowAutograd()),
    "inference": lambda: pooled(torch.inference_mode()),
    "excluded key": excluded,
    "popped": popped,
    "thread": lambda: in_a_thread(pooled),
    "thread without": lambda: in_a_thread(PAST["no dispatch"]),
    "pool": in_a_pool,
    "key": lambda: torch.ops.aten.adaptive_max_pool2d.default._op_dk(Key.CPU, x, [2, 2]),
    "kernel": lambda: kernel("CPU"),
    "vmap": lambda: torch.vmap(lambda x: F.adaptive_max_pool2d(x, 2))(x[None]),
    "forgotten": forgotten,
}


@pytest.mark.parametrize("name", PAST)
def test_no_way_that_the_library_offers_leads_past_the_recorder(name):
    before = recorder()()
    PAST[name]()
    assert "aten::adaptive_max_pool2d" in since(before)


def test_what_the_engine_runs_is_seen_as_well():
    before = recorder()()
    pooled()[0].sum().backward()
    assert "aten::adaptive_max_pool2d_backward" in since(before)


def test_a_kernel_of_no_backend_is_recorded_as_one_of_any():
    """Such a kernel is handed out under the name of a backend that is not there."""
    before = recorder()()
    torch.library.get_kernel("aten::dist", "XPU").call_boxed(Keys(Key.CPU), x, x, 2)
    assert "aten::dist" in since(before)


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
