"""What an exercise forbids is out of reach while its answer runs, by whatever name."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._pytree import tree_leaves

from grader.checks.answer_host import AnswerHost
from grader.checks.answer_proxy import AnswerProxy, Gradients
from grader.checks.forbidden import FORBIDDEN, NotAllowed, during

SAVED = F.scaled_dot_product_attention
q = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
layer = nn.MultiheadAttention(4, 1, batch_first=True).eval()
encoder = nn.TransformerEncoderLayer(4, 1, 4, batch_first=True).eval()
scores = torch.zeros(3, requires_grad=True)

ATTENTION = {
    "name": lambda: F.scaled_dot_product_attention(q, q, q),
    "built name": lambda: getattr(F, "scaled_" + "dot_product_attention")(q, q, q),
    "saved": lambda: SAVED(q, q, q),
    "inside torch._C": lambda: torch._C._nn.scaled_dot_product_attention(q, q, q),
    "operator": lambda: torch.ops.aten.scaled_dot_product_attention(q, q, q),
    "operator behind it": lambda: torch._scaled_dot_product_attention_math(q, q, q),
    "vmap": lambda: torch.vmap(SAVED)(q[None], q[None], q[None]),
    "with gradient": lambda: SAVED(q.clone().requires_grad_(), q, q),
    "in double": lambda: SAVED(q.double(), q.double(), q.double()),
    "layer": lambda: layer(q, q, q),
    "layer without weights": lambda: layer(q, q, q, need_weights=False),
    "fast layer": torch.no_grad()(lambda: layer(q, q, q, need_weights=False)),
    "encoder": lambda: encoder(q),
    "fast encoder": torch.no_grad()(lambda: encoder(q)),
}
AUTOGRAD = {
    "backward": lambda: scores.softmax(-1)[0].backward(),
    "grad": lambda: torch.autograd.grad(scores.softmax(-1)[0], scores),
    "jacobian": lambda: torch.autograd.functional.jacobian(lambda s: s.softmax(-1), q[0, 0]),
    "vjp": lambda: torch.func.vjp(lambda s: s.softmax(-1), q[0, 0])[1](q[0, 1]),
    "jvp": lambda: torch.func.jvp(lambda s: s.softmax(-1), (q[0, 0],), (q[0, 1],)),
    "jacfwd": lambda: torch.func.jacfwd(lambda s: s.softmax(-1))(q[0, 0]),
    "jacrev": lambda: torch.func.jacrev(lambda s: s.softmax(-1))(q[0, 0]),
}
NORM = {
    "function": lambda: F.layer_norm(q, (4,)),
    "layer": lambda: nn.LayerNorm(4)(q),
    "inside torch": lambda: torch.native_layer_norm(q, [4], None, None, 1e-5),
    "with gradient": lambda: F.layer_norm(q.clone().requires_grad_(), (4,)),
    "without mean": lambda: F.rms_norm(q - q.mean(-1, keepdim=True), (4,)),
    "one group": lambda: F.group_norm(q[0], 1),
    "tokens as channels": lambda: F.batch_norm(q[0].T, None, None, training=True),
    "instances": lambda: F.instance_norm(q),
    "neighbouring channels": lambda: F.local_response_norm(q, 3),
    "neighbours' layer": lambda: nn.LocalResponseNorm(3)(q),
    "length": lambda: F.normalize(q - q.mean(-1, keepdim=True)),
    "one by one": lambda: torch.vmap(lambda row: F.rms_norm(row, (4,)))(q),
    "angles to the axes": lambda: F.cosine_similarity(q[..., None, :], torch.eye(4), dim=-1),
    "angles as a loss": lambda: F.cosine_embedding_loss(q[0], q[0], torch.ones(3)),
    "correlations": lambda: torch.corrcoef(q.reshape(-1, 4)),
    "length by name": lambda: torch.nn.functional.normalize(q),
    "greatest length": lambda: torch.renorm(q[0], 2, 0, 1.0),
    "of weights": lambda: torch._weight_norm(q[0], torch.ones(3, 1), 0),
}
words = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(1))
layers = {cell: getattr(nn, cell)(4, 4, batch_first=True) for cell in ("RNN", "GRU", "LSTM")}
steps = {f"{cell}Cell": getattr(nn, f"{cell}Cell")(4, 4) for cell in layers}
RECURRENCE = {
    **{cell: lambda layer=layer: layer(words) for cell, layer in layers.items()},
    **{
        f"packed {cell}": lambda layer=layer: layer(
            nn.utils.rnn.pack_padded_sequence(words, [5, 3], batch_first=True)
        )
        for cell, layer in layers.items()
    },
    **{name: lambda step=step: step(words[:, 0]) for name, step in steps.items()},
}
picture = torch.randn(1, 2, 4, 4, generator=torch.Generator().manual_seed(2))
places = torch.rand(1, 5, 5, 2, generator=torch.Generator().manual_seed(3))
INTERPOLATE = {
    "linear": lambda: F.interpolate(picture[0], size=6, mode="linear"),
    "bilinear": lambda: F.interpolate(picture, size=(6, 6), mode="bilinear"),
    "bicubic": lambda: F.interpolate(picture, size=(6, 6), mode="bicubic"),
    "blurred": lambda: F.interpolate(picture, size=(2, 2), mode="bilinear", antialias=True),
    "trilinear": lambda: F.interpolate(picture[None], size=(2, 6, 6), mode="trilinear"),
    "layer": lambda: nn.Upsample((6, 6), mode="bilinear")(picture),
    "inside torch": lambda: torch._C._nn.upsample_bilinear2d(picture, [6, 6], False),
    "with gradient": lambda: F.interpolate(
        picture.clone().requires_grad_(), size=(6, 6), mode="bilinear"
    ),
    "sampled": lambda: F.grid_sample(picture, places, align_corners=False),
    "quantile": lambda: torch.quantile(picture.flatten(), torch.tensor([0.3])),
    "sampled in space": lambda: F.grid_sample(
        picture[None], F.pad(places, (0, 1))[None], align_corners=False
    ),
}
kernel = torch.randn(4, 2, 2, 2, generator=torch.Generator().manual_seed(4))
PATCHES = {
    "unfold": lambda: F.unfold(picture, 2, stride=2),
    "layer": lambda: nn.Unfold(2, stride=2)(picture),
    "shuffle": lambda: F.pixel_unshuffle(picture, 2),
    "convolution": lambda: F.conv2d(picture, kernel, stride=2),
    "operator": lambda: torch.ops.aten.convolution(
        picture, kernel, None, [2, 2], [0, 0], [1, 1], False, [0, 0], 1
    ),
    "with gradient": lambda: F.conv2d(picture.clone().requires_grad_(), kernel, stride=2),
    "dilated": lambda: F.conv2d(picture, kernel, dilation=2),
    "in a line": lambda: F.conv1d(picture[:, :, 0], kernel[..., 0], stride=2),
    "transposed": lambda: F.conv_transpose2d(picture, kernel.transpose(0, 1), stride=2),
    "slow": lambda: torch._C._nn.thnn_conv2d(picture, kernel, [2, 2], None, [2, 2], [0, 0]),
    "in double": lambda: F.conv2d(picture.double(), kernel.double(), stride=2),
}
KINDS = {
    "attention": ATTENTION,
    "autograd": AUTOGRAD,
    "recurrence": RECURRENCE,
    "norm": NORM,
    "interpolate": INTERPOLATE,
    "patches": PATCHES,
}
ROUTES = [(kind, name, call) for kind, calls in KINDS.items() for name, call in calls.items()]


@pytest.mark.parametrize(("kind", "name", "call"), ROUTES, ids=[f"{k}: {n}" for k, n, _ in ROUTES])
def test_every_route_is_closed_inside_and_open_outside(kind, name, call):
    call()
    with (
        during([kind], "the.exercise"),
        pytest.raises(NotAllowed, match=r"may not be used in the\.exercise: write"),
    ):
        call()
    call()


def test_one_kind_leaves_the_other_alone():
    with during(["attention"]):
        for call in AUTOGRAD.values():
            call()
        (q @ q.transpose(-2, -1)).softmax(-1) @ q
        F.cross_entropy(q[0], torch.zeros(3, dtype=torch.long))
    with during(["autograd"]):
        SAVED(q, q, q)


def test_an_unknown_kind_is_an_error():
    with pytest.raises(KeyError), during(["nothing of that name"]):
        pass


@pytest.mark.parametrize("kind", FORBIDDEN)
def test_a_subject_refuses_for_one_exercise_only(kind):
    route = list(KINDS[kind].values())[2 if kind == "attention" else 1]
    proxy = AnswerProxy(AnswerHost({"answer": lambda: route() is None}).answer)
    assert proxy.call("answer").error is None
    with proxy.refusing([kind], "an.exercise"):
        error = proxy.call("answer").error
        assert error.type == "NotAllowed" and "an.exercise" in error.message
    assert proxy.call("answer").error is None


class LateList(list):
    def __iter__(self):
        yield SAVED(q, q, q)

    def __len__(self):
        return 1

    __getitem__ = pop = lambda self, *args: SAVED(q, q, q)


class LateTuple(tuple):
    __iter__, __len__, __getitem__ = LateList.__iter__, LateList.__len__, LateList.__getitem__


class LateDict(dict):
    def items(self):
        return [("x", SAVED(q, q, q))]

    keys, __iter__ = LateList.__iter__, LateList.__iter__


class LateTensor(torch.Tensor):
    def detach(self):
        return SAVED(q, q, q)

    numpy = to = clone = __getitem__ = detach

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is torch.Tensor.detach or "copy_" in str(function):
            return SAVED(q, q, q)
        return super().__torch_function__(function, types, args, kwargs)


class LateFloat(float):
    __float__ = __repr__ = __abs__ = __int__ = lambda self: SAVED(q, q, q).sum().item()


def patched():
    value = q.clone()
    value.detach = value.numpy = value.dim = lambda *args: SAVED(q, q, q)
    return value


LATE = {
    "list": LateList,
    "tuple": LateTuple,
    "dict": LateDict,
    "number": LateFloat,
    "tensor": lambda: q.as_subclass(LateTensor),
    "method of one tensor": patched,
    "generator": lambda: (SAVED(q, q, q) for _ in range(2)),
    "nested": lambda: [LateList([LateTuple()]), {"x": LateDict()}],
    "function": lambda: lambda: SAVED(q, q, q),
}


def reaches(reply):
    wanted = SAVED(q, q, q)
    found = [reply.value, *reply.after]
    return any(
        isinstance(leaf, torch.Tensor) and leaf.shape == wanted.shape and leaf.allclose(wanted)
        for leaf in tree_leaves([vars(x) if isinstance(x, Gradients) else x for x in found])
    )


@pytest.mark.parametrize("name", LATE)
def test_what_is_returned_computes_nothing_when_it_is_read(name):
    names = {
        "answer": lambda x: LATE[name](),
        "leave": lambda x: x.append(LATE[name]()),
    }
    proxy = AnswerProxy(AnswerHost(names).answer)
    with proxy.refusing(["attention"], "an.exercise"):
        replies = [
            proxy.call("answer", q),
            proxy.call("leave", [q[0]]),
            proxy.probe("answer", [q[0]], memory=500, cpu=5, keep=[(slice(0, 9),)]),
            proxy.vjp("answer", (q,), [torch.ones(2, 3, 4)]),
        ]
    assert [reaches(reply) for reply in replies] == [False] * len(replies)


def test_the_grader_differentiates_an_answer_that_may_not():
    proxy = AnswerProxy(AnswerHost({"answer": lambda x: x * x}).answer)
    with proxy.refusing(["autograd"], "an.exercise"):
        gradients = proxy.vjp("answer", (torch.tensor(3.0),), [torch.tensor(1.0)]).value
    assert gradients.inputs == [6.0]


# In a process of its own each, as there is no way back.
FOR_GOOD = """
import gc, os, sys, torch
from torch.nn.utils._expanded_weights import conv_utils
from torch.utils._pytree import tree_leaves
from grader.checks.forbidden import FORBIDDEN, for_good
import test_forbidden as tests
for kind in FORBIDDEN:
    if not os.fork():
        break
    assert os.wait()[1] == 0, kind
else:
    sys.exit()
for_good([kind])
assert not [x for x in gc.get_objects() if type(x).__name__ == "_DispatchModule"]
own = (tests.q @ tests.q.transpose(-2, -1)).softmax(-1) @ tests.q
assert own.isfinite().all()
graph = tests.scores.softmax(-1)[0]
ways = dict(tests.KINDS[kind])
if kind == "autograd":
    ways["engine"] = lambda: torch._C._ImperativeEngine().run_backward(
        (graph,), (torch.ones(()),), False, False, (tests.scores,), accumulate_grad=False)
    ways["graph"] = lambda: torch._C._jit_differentiate(torch.jit.script(torch.tanh).graph)
    ways["slope"] = lambda: torch.distributions.TanhTransform().log_abs_det_jacobian(graph, graph)
if kind == "patches":
    x = tests.picture[:, :, None]
    # Of a kernel of no backend's own, the one that another backend would have.
    ways["backend"] = lambda: torch.library.get_kernel("aten::pixel_unshuffle", "XPU").call_boxed(
        torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), tests.picture, 2)
    ways["weights"] = lambda: conv_utils.unfold3d(x, (1, 2, 2), (0, 0, 0), (1, 2, 2), (1, 1, 1))
for name, call in ways.items():
    try:
        got = call()
    except Exception:
        continue
    # Some ways say "no gradient" by zeros.
    if any(bool(leaf.any()) for leaf in tree_leaves(got) if isinstance(leaf, torch.Tensor)):
        print(kind, name)
"""


# In workers, `tests/grader/judge/test_bare.py` takes away every kind.
def test_for_good_closes_every_route_and_leaves_nothing_to_undo():
    done = subprocess.run(
        [sys.executable, "-c", FOR_GOOD],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and done.stdout == "", done.stdout + done.stderr


MACHINE_CODE = """
import ctypes, mmap, shutil, sys, tempfile
from importlib.util import find_spec
from grader.checks.forbidden import NotAllowed, refuse_machine_code
known = ctypes.CDLL(None)
made = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.cast(known.getpid, ctypes.c_void_p).value)
refuse_machine_code()
with tempfile.TemporaryDirectory() as folder:
    shutil.copy(find_spec("_lsprof").origin, folder)
    sys.modules.pop("_lsprof", None)
    sys.path.insert(0, folder)
    for way in (
        lambda: ctypes.CDLL(None),
        lambda: known.getppid,
        lambda: ctypes.pythonapi.PyLong_FromLong,
        lambda: ctypes.string_at(1, 1),
        lambda: ctypes.c_int.from_address(1),
        lambda: __import__("_lsprof"),
        lambda: mmap.mmap(-1, 4096, prot=7),
    ):
        try:
            print("open", way())
        except NotAllowed:
            pass
import sqlite3, zoneinfo
mmap.mmap(-1, 4096, access=mmap.ACCESS_WRITE).close()
print(known.getpid() == made() and "as before")
"""


def test_no_kernel_is_called_past_the_dispatcher():
    """What was looked up before is still there, and so are modules that are installed."""
    done = subprocess.run(
        [sys.executable, "-c", MACHINE_CODE], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "as before\n"), done.stdout + done.stderr
