"""Every verb, in this process and over a worker: what holds for one transport holds for both."""

import pytest
import torch

from grader.checks.answer_proxy import AnswerLost, AnswerProxy
from grader.checks.protocol import Fixture, Handle, Opaque, pack
from grader.judge.channel import Worker
from grader.judge.forkserver import ForkServer

SOURCE = """
import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self, by=2.0):
        super().__init__()
        self.by = nn.Parameter(torch.tensor(by))

    def forward(self, x):
        return x * self.by


def spoil(x):
    x.zero_()
    return x.sum()


def apply(layer, x):
    return layer(x)


def draw(generator, n):
    return torch.randn(n, generator=generator)


def leave():
    raise SystemExit(3)


def square(x):
    return (x**2, x.shape[0])


def cut(x):
    return x.detach() ** 2


def module():
    return nn.Linear(1, 1)
"""


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    with ForkServer(tmp_path_factory.mktemp("kit")) as forkserver, Worker(forkserver) as worker:
        assert worker.run(SOURCE) == []
        yield worker


@pytest.fixture(params=["local", "worker"])
def proxy(request, worker):
    if request.param == "worker":
        return worker.proxy()
    names = {}
    exec(compile(SOURCE, "<answer>", "exec"), names)
    return AnswerProxy.local(names)


def test_call_returns_values_and_arguments_afterwards(proxy):
    x = torch.ones(3)
    reply = proxy.call("spoil", x)
    assert reply.value.item() == 0 and reply.after[0].tolist() == [0, 0, 0]
    assert x.tolist() == [1, 1, 1], "the check's own tensor must not be reachable"


def test_exceptions_are_data(proxy):
    assert proxy.call("leave").error.type == "SystemExit"
    assert "not defined" in proxy.call("absent").error.message
    error = proxy.call("square", "text").error
    assert error.type == "TypeError"
    assert "TypeError" in str(error)


def test_handles_build_load_state_and_release(proxy):
    handle = proxy.build("Scale", by=3.0).value
    assert isinstance(handle, Handle)
    assert proxy.call(handle.method("forward"), torch.ones(2)).value.tolist() == [3, 3]
    assert proxy.load(handle, {"by": torch.tensor(5.0)}).error is None
    assert proxy.state(handle).value["by"].item() == 5
    assert proxy.call("apply", handle, torch.ones(1)).value.item() == 5
    assert proxy.load(handle, {"nonsense": torch.ones(1)}).error.type == "RuntimeError"
    assert proxy.release().error is None
    assert proxy.call(handle.method("forward"), torch.ones(2)).error.type == "KeyError"


def test_fixtures_are_built_on_the_other_side(proxy):
    layer = Fixture("linear", {"weight": torch.eye(2) * 4})
    assert proxy.call("apply", layer, torch.ones(2)).value.tolist() == [4, 4]
    seeded = Fixture("generator", {"seed": 7})
    drawn = torch.randn(3, generator=torch.Generator().manual_seed(7))
    assert torch.equal(proxy.call("draw", seeded, 3).value, drawn)
    assert "no fixture" in proxy.call("apply", Fixture("nonsense"), 1).error.message


def test_what_cannot_cross_is_opaque(proxy):
    assert proxy.call("module").value == Opaque("Linear")


def test_vjp_of_functions_and_modules(proxy):
    x = torch.tensor([1.0, -2.0])
    reply = proxy.vjp("square", (x,), [torch.tensor([1.0, 10.0]), None])
    assert reply.value.inputs[0].tolist() == [2, -40] and reply.after == []
    assert proxy.vjp("cut", (x,), [x]).value.inputs == [None]
    handle = proxy.build("Scale").value
    gradients = proxy.vjp(handle.method("forward"), (x,), [torch.ones(2)]).value
    assert gradients.inputs[0].tolist() == [2, 2]
    assert gradients.parameters["by"].item() == -1


@pytest.mark.parametrize("names", [torch.ones(2), 6.0, {"a": 1}])
def test_names_of_operators_that_are_no_list_lose_the_answer(names):
    reply = pack({"value": names, "error": None, "after": []})
    with pytest.raises(AnswerLost, match="makes no sense"):
        AnswerProxy(lambda request: reply).seen()
