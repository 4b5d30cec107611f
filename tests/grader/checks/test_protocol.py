"""What crosses between an answer and its grader."""

import contextlib
import json
import random
import struct
from typing import NamedTuple

import pytest
import torch

from grader.checks.answer_proxy import AnswerLost, AnswerProxy
from grader.checks.protocol import DTYPES, Fixture, Opaque, ProtocolError, pack, unpack
from grader.judge.channel import Worker
from grader.judge.forkserver import ForkServer


def same(a, b):
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES.keys())
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)])
def test_tensors_survive(dtype, shape):
    tensor = torch.randint(0, 2, shape).to(dtype)
    assert same(unpack(pack({"x": tensor}))["x"], tensor)


def test_views_and_strides_survive():
    tensor = torch.arange(24.0).reshape(2, 3, 4).transpose(0, 2)[1:, ::2]
    assert same(unpack(pack({"x": tensor}))["x"], tensor)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -(2**70),
        1.5,
        float("inf"),
        "ä\n",
        [],
        (),
        {},
        [(1, [2])],
        {"a": {"b": None}},
        b"\xff",
        Fixture("normal", {"shape": [1, 2]}),
        Opaque("Module"),
    ],
    ids=repr,
)
def test_plain_values_survive(value):
    assert same(unpack(pack({"x": value}))["x"], value)


def test_what_is_not_data_becomes_its_type_name():
    class Liar(int):
        def __eq__(self, other):
            return True

        __hash__ = int.__hash__

    assert unpack(pack({"x": Liar(3)}))["x"] == Opaque("Liar")
    assert unpack(pack({"x": {1: 2}}))["x"] == Opaque("dict")
    assert unpack(pack({"x": torch.eye(2).to_sparse()}))["x"].type_name.startswith("torch.sparse")


def test_of_a_subclass_of_tensor_only_the_name_arrives():
    """Its methods are the answer's own code, which would run while it is being packed."""

    class Sly(torch.Tensor):
        def detach(self):
            raise RuntimeError("computes only now")

    sent = {"x": torch.ones(2).as_subclass(Sly), "weight": torch.nn.Parameter(torch.ones(2))}
    arrived = unpack(pack(sent))
    assert arrived["x"].type_name == "Sly"
    assert type(arrived["weight"]) is torch.Tensor and arrived["weight"].tolist() == [1, 1]


def test_subclasses_of_lists_tuples_and_dicts_are_read_and_not_asked():
    def never(self, *args):
        raise RuntimeError("computes only now")

    lazy = {"__iter__": never, "__len__": never, "__getitem__": never, "items": never}
    for kind, value in ((list, [1, 2]), (tuple, (1, 2)), (dict, {"a": 1})):
        sly = type("Sly", (kind,), {**lazy, "keys": never})(value)
        assert unpack(pack({"x": sly})) == {"x": value}
    point = NamedTuple("Point", [("x", int), ("y", int)])(1, 2)
    assert unpack(pack({"x": point, "y": torch.ones(2).max(0)}))["x"] == (1, 2)


def test_too_large_and_too_deep_are_refused():
    with pytest.raises(ProtocolError, match="too large|may cross"):
        pack({"x": torch.zeros(2**25, dtype=torch.float64)})
    nested = []
    for _ in range(30):
        nested = [nested]
    with pytest.raises(ProtocolError, match="nested"):
        pack({"x": nested})


def test_no_bytes_make_unpack_do_anything_but_refuse():
    frame = pack({"x": torch.arange(5), "y": [1, "two", (None,)], "z": b"three"})
    rng = random.Random(0)
    for _ in range(3000):
        damaged = bytearray(frame)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        damaged = damaged[: rng.randint(0, len(damaged))]
        with contextlib.suppress(ProtocolError):
            assert isinstance(unpack(bytes(damaged)), dict)


@pytest.mark.parametrize("frame", [b"", b"\0\0\0\2{}", b"\0\0\0\4null", b"\xff\xff\xff\xff"])
def test_malformed_frames_are_named(frame):
    with pytest.raises(ProtocolError, match="malformed"):
        unpack(frame)


def framed(tree, *buffers, sizes=None):
    sizes = [len(b) for b in buffers] if sizes is None else sizes
    header = json.dumps({"tree": {"dict": {"x": tree}}, "sizes": sizes}).encode()
    return struct.pack(">I", len(header)) + header + b"".join(buffers)


TENSOR = {"tensor": 0, "dtype": "uint8", "shape": [4]}


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (framed({"list": [TENSOR, TENSOR]}, b"1234"), "same bytes"),
        (framed({"list": [TENSOR, {"bytes": 0}]}, b"1234"), "same bytes"),
        (framed({"bytes": 1}, b"1234"), "malformed"),
        (framed({**TENSOR, "shape": [0, 2**62, 2**62]}, b""), "malformed"),
        (framed({**TENSOR, "shape": [-4]}, b"1234"), "shape"),
        (framed({"int": "nine"}), "malformed"),
        (framed({"int": ["1"] * 9}), "unknown kind"),
        (framed({"int": "9" * 400}), "thousand bits"),
        (framed(10**400), "thousand bits"),
        (framed(None, b"12", sizes=[-1]), "outside"),
        (framed({"list": [{"list": []}] * 300_000}), "without tensors"),
    ],
    ids=range(11),
)
def test_small_messages_that_would_grow_or_overflow_are_refused(frame, words):
    with pytest.raises(ProtocolError, match=words):
        unpack(frame)


def test_an_integer_that_is_no_float_does_not_cross():
    assert unpack(pack({"x": 10**400}))["x"] == Opaque("huge int")
    with pytest.raises(ProtocolError, match="without tensors"):
        pack({"x": [[]] * 1_000_000})


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


@pytest.mark.parametrize("names", [torch.ones(2), 6.0, ["a"]])
def test_counts_of_operators_that_are_no_table_lose_the_answer(names):
    reply = pack({"value": names, "error": None, "after": []})
    with pytest.raises(AnswerLost, match="makes no sense"):
        AnswerProxy(lambda request: reply).seen()


def test_a_reply_that_lacks_a_part_loses_the_answer():
    with pytest.raises(AnswerLost, match="no reply to a call"):
        AnswerProxy(lambda request: pack({"outputs": b"[]"})).call("square", (), {})
