"""Every verb, in this process and over a worker: what holds for one transport holds for both."""

import pytest
import torch

from grader.checks.answer_proxy import AnswerLost, AnswerProxy
from grader.checks.protocol import Fixture, Opaque, pack
from grader.judge.channel import Worker
from grader.judge.forkserver import ForkServer

SOURCE = """
import torch
from torch import nn


def spoil(x):
    x.zero_()
    return x.sum()


def given(x):
    return x


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


def test_fixtures_are_built_on_the_other_side(proxy):
    drawn = torch.randn(3, generator=torch.Generator().manual_seed(7))
    inner = [{"x": Fixture("normal", {"shape": [3], "seed": 7})}]
    assert torch.equal(proxy.call("given", inner).value[0]["x"], drawn)
    assert "nonsense" in proxy.call("given", Fixture("nonsense")).error.message


def test_what_cannot_cross_is_opaque(proxy):
    assert proxy.call("module").value == Opaque("Linear")


def test_vjp_of_functions(proxy):
    x = torch.tensor([1.0, -2.0])
    reply = proxy.vjp("square", (x,), [torch.tensor([1.0, 10.0]), None])
    assert reply.value.inputs[0].tolist() == [2, -40] and reply.after == []
    assert proxy.vjp("cut", (x,), [x]).value.inputs == [None]


@pytest.mark.parametrize("names", [torch.ones(2), 6.0, {"a": 1}])
def test_names_of_operators_that_are_no_list_lose_the_answer(names):
    reply = pack({"value": names, "error": None, "after": []})
    with pytest.raises(AnswerLost, match="makes no sense"):
        AnswerProxy(lambda request: reply).seen()
