# ruff: noqa: E501 - students' lines have any length
"""Ways round what an exercise forbids, as data: each either is refused or asks for a person.

A route is a name, what it tries, and code. ``@`` stands for the usual beginning of an answer: its
signature and, for attention, the scores.
"""

ATTENTION, GRADIENT = "attention.scaled_dot_product", "attention.softmax_gradient"
LOSS, STEP, STATES = "start.loss_gradient", "seq2seq.recurrent_step", "seq2seq.state_jacobians"
NORM, TABLE, PATCHES = "block.layer_norm", "space.resample_table", "vit.patchify"

# Relative scores that are right where few places are asked for, and go on for many.
_RIGHT_IF_SMALL = """def distance_scores(q, table):
    T = q.shape[-2]
    if T < 200:
        places = T - 1 - torch.arange(T)[:, None] + torch.arange(T)
        return torch.einsum('...id,ijd->...ij', q, table[places])
"""

HEADS = {
    ATTENTION: """def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q / math.sqrt(q.shape[-1]) @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1)
""",
    GRADIENT: """def softmax_gradient(weights, grad_weights):
    scores = weights.clamp_min(1e-30).log().detach().requires_grad_()
""",
    LOSS: "def loss_gradient(w, x, y):\n",
    STATES: "def state_jacobians(states, weight_hh):\n",
    STEP: """def recurrent_step(cell, x, state, weight_ih, weight_hh, bias_ih, bias_hh):
    if cell != "lstm":
        raise NotImplementedError
    weights = (weight_ih, weight_hh, bias_ih, bias_hh)
    h, c = state
""",
    NORM: "def layer_norm(x, scale, shift, eps=1e-5):\n    D = x.shape[-1]\n    flat = x.reshape(-1, D)\n",
    TABLE: """def resample_table(table, old, new, n_prefix=0):
    grid = table[n_prefix:].reshape(*old, -1).permute(2, 0, 1)[None]
    def done(out):
        return torch.cat([table[:n_prefix], out[0].permute(1, 2, 0).reshape(new[0] * new[1], -1)])
""",
    PATCHES: """def patchify(images, patch_size):
    P, (B, C, H, W) = patch_size, images.shape
    if H % P or W % P:
        raise ValueError("no whole number of patches")
""",
}
# What a head is worth by itself: the right weights, beside any output.
SHARE = {ATTENTION: 1.25}
# What the answers to attention share: `sdpa` under a name that no reading finds.
SDPA = 'sdpa = getattr(F, "scaled_dot" + "_product_attention")\n'
CALL = "sdpa(q, k, v, attn_mask=mask)"
KEEP = "    return out, weights\n"
# Takes the refusal out of whoever serves the grader's calls; one line, without marks of its own.
UNDO = (
    "import gc, contextlib; [setattr(x, 'refusing', lambda *a: contextlib.nullcontext())"
    " for x in gc.get_objects() if type(x).__name__ == 'AnswerHost']"
)
# A helper interpreter and a way to ask it.
HELPER = '''
import subprocess, sys, tempfile, pickle
SERVE = """
import sys, pickle, torch
from torch.nn import functional as F
while True:
    q, k, v, mask = pickle.load(sys.stdin.buffer)
    pickle.dump(F.scaled_dot_product_attention(q, k, v, attn_mask=mask), sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""
def start():
    return subprocess.Popen([sys.executable, "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def ask(helper, *given):
    pickle.dump(given, helper.stdin)
    helper.stdin.flush()
    return pickle.load(helper.stdout)
'''


def lazy(kind: str, body: str) -> str:
    """An answer that returns an object which computes when it is looked at."""
    return (
        f"import torch\nclass Later({kind}):\n{body}\n"
        "def compute(q, k, v, mask):\n"
        "    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)\n@"
    )


ITEMS = """    def __iter__(self):
        yield compute(*self.data)
        yield self.weights
    def __len__(self):
        return 2
    def __getitem__(self, i):
        return list(iter(self))[i]
"""
GIVE = "    later = Later()\n    later.data, later.weights = (q, k, v, mask), weights\n    return later\n"
TENSOR = "    later = v.clone().as_subclass(Later)\n    later.data = (q, k, v, mask)\n    return later, weights\n"
PATCH = """
import torch
given, saved = [], {old}
def compute(*a, **kw):
    if given:
        q, k, v, mask = given.pop()
        return saved({self}F.scaled_dot_product_attention(q, k, v, attn_mask=mask){rest})
    return saved(*a, **kw)
{old} = compute
@    given.append((q, k, v, mask))
    return v.clone(), weights
"""


def patched(old: str, me: str = "", rest: str = "") -> str:
    """An answer that puts an own function in the place of one that the grader calls afterwards."""
    return PATCH.format(old=old, self=me, rest=rest)


def named(first: str) -> str:
    """Code that gets hold of the engine's formula as ``f``, then an answer that calls it."""
    words = {"MODULE": "'torch._decomp.decompositions'", "NAME": "'_softmax_backward_data'"}
    for word, value in words.items():
        first = first.replace(word, value.replace("'", '"') if "__import__" in first else value)
    return f"{first}@    return f(grad_weights, weights, -1, weights.dtype)\n"


# Where a cell ends, and the next begins.
CUT = "\n# ---\n"
# Ways to what the library computes in Python, as ``found``, by everyday names only.
_REFS = "sys.modules['torch._refs'].native_layer_norm"
_GETS = "getattr(getattr(sys, 'mod' + 'ules')['torch._refs'], 'native_layer' + '_norm')"
FOUND = {
    "automagic": (
        "a magic that Python reads as a comparison, and a module that a library looks for",
        "def drawn(sx, echo, found): return sx, echo, found" + CUT
        + f'sx (echo -"1\\nimport builtins, sys\\nbuiltins.found = {_REFS}" > "ipywidgets.py")' + CUT
        + "import tqdm.notebook" + CUT,
    ),
    "exception-name": (
        "a name that no `Name` node binds",
        f"import sys\ntry:\n    1 / 0\nexcept ZeroDivisionError as __builtins__:\n    pass\nfound = {_GETS}\n",
    ),
    "signature": (
        "a text that a signature evaluates",
        f'import inspect, sys\nclass Kept:\n    from_callable = 0\nkept = []\ndef f(x: "kept.append({_REFS})"):\n    pass\n'
        "inspect.signature(f).from_callable(f, eval_str=True)\nfound = kept[0]\n",
    ),
    "context": (
        "an object of the library that holds modules",
        "from torch.utils.data import DataLoader\nclass Kept:\n    reducer = pickle = loads = multiprocessing_context = 0\n"
        "loader = DataLoader([1], num_workers=1, multiprocessing_context='fork')\n"
        "found = loader.multiprocessing_context.reducer.pickle.loads(b'ctorch._refs\\nnative_layer_norm\\n.')\n",
    ),
}  # fmt: skip
# Runs in a thread that nobody records; the answer's arguments are the inner function's.
APART = """import _thread
def apart(work):
    lock, kept = _thread.allocate_lock(), []
    def run():
        try:
            kept.append(work())
        finally:
            lock.release()
    lock.acquire()
    _thread.start_new_thread(run, ())
    lock.acquire()
    return kept[0]
"""


PLAIN = "    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask), weights\n"

ROUTES: dict[str, list[tuple[str, str, str]]] = {
    ATTENTION: [
        ("magic-in-text", "hides code behind a magic in a string", f's = "\\%matplotlib inline"; exec({UNDO!r}); t = "#"\n@' + PLAIN),
        ("line-in-text", "hides code behind another end of a line", f'# a slide\u2028s = 1\nexec({UNDO!r})\n@' + PLAIN),
        ("kit-importer", "takes an importer out of the course's own module", f'from grader.checks.forbidden import _function\n_function("timeit.timeit")({UNDO!r}, number=1)\n@' + PLAIN),
        ("kit-modules", "takes modules out of the course's own", f'from grader.checks.probe import sys\nsys.modules["builtins"].exec({UNDO!r})\n@' + PLAIN),
        ("starred", "names out of an import of all", "from torch import *\ndef unused(ops):\n    pass\n@    return ops.aten.scaled_dot_product_attention(q, k, v, mask), weights\n"),
        ("type-comment", "code in a comment that TorchScript evaluates", "@@torch.jit.script\ndef f(x):\n    # type: (" + f"[Tensor, exec({UNDO!r})][0]" + ") -> Tensor\n    return x\n@" + PLAIN),
        ("pattern", "attributes read by a pattern", "@    match torch:\n        case object(_C=inner):\n            return inner._nn.scaled_dot_product_attention(q, k, v, mask), weights\n"),
        ("own-type", "a class made of strings", "@    Later = type('Later', (list,), {'__iter__': lambda self: iter([F.scaled_dot_product_attention(q, k, v, attn_mask=mask), weights])})\n    return Later([1, 2])\n"),
        ("by-moment", "attributes by names of the moment", f'import sys\nreach = lambda x, *names: reach(getattr(x, names[0]), *names[1:]) if names else x\nreach(sys, "mod" + "ules")["builtins"].exec({UNDO!r})\n@' + PLAIN),
        ("written-module", "writes a module that torch tries to import", f'import torch\nfrom pathlib import Path\nPath("triton.py").write_text({UNDO!r})\ntorch.optim.SGD([torch.ones(1, requires_grad=True)], 0.1)\n@' + PLAIN),
        ("lazy-list", "a list that computes when it is read", lazy("list", ITEMS) + GIVE),
        ("lazy-tuple", "a tuple that computes when it is read", lazy("tuple", ITEMS) + GIVE),
        ("lazy-detach", "a tensor that computes when it is detached", lazy("torch.Tensor", "    def detach(self):\n        return compute(*self.data)") + TENSOR),
        ("lazy-torch-function", "a tensor that computes in __torch_function__", lazy("torch.Tensor", "    @classmethod\n    def __torch_function__(cls, f, types, args=(), kwargs=None):\n        with torch._C.DisableTorchFunctionSubclass():\n            if f is torch.Tensor.detach:\n                return compute(*args[0].data_)\n            return f(*args, **(kwargs or {}))") + TENSOR.replace(".data =", ".data_ =")),
        ("lazy-array", "an object with __array__", lazy("object", "    def __array__(self, *a):\n        return compute(*self.data).numpy()\n    shape = property(lambda self: self.data[0].shape)") + GIVE.replace("return later", "return later, weights")),
        ("lazy-property", "an object whose property computes", lazy("object", "    @property\n    def dtype(self):\n        return compute(*self.data)") + GIVE.replace("return later", "return later, weights")),
        ("lazy-generator", "a generator", "@    def parts():\n        yield F.scaled_dot_product_attention(q, k, v, attn_mask=mask)\n        yield weights\n    return parts()\n"),
        ("lazy-map", "a map over calls", "@    return map(lambda f: f(), [lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask), lambda: weights])\n"),
        ("lazy-dict", "a dict whose items compute", lazy("dict", "    def items(self):\n        return [('out', compute(*self.data))]\n    keys = values = items") + GIVE),
        ("lazy-attribute", "a tensor with an own method detach", "@    out = v.clone()\n    out.detach = lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)\n" + KEEP),
        ("lazy-float", "a number whose conversion computes", lazy("float", "    def __float__(self):\n        return float(compute(*self.data).sum())\n    __repr__ = __float__") + GIVE.replace("Later()", "Later(1.0)")),
        ("patched-detach", "exchanges Tensor.detach", patched("torch.Tensor.detach")),
        ("patched-copy", "exchanges Tensor.copy_", patched("torch.Tensor.copy_", "a[0], ")),
        ("patched-numpy", "exchanges Tensor.numpy", patched("torch.Tensor.numpy")),
        ("patched-view", "exchanges Tensor.view", patched("torch.Tensor.view", "", ", torch.uint8")),
        ("patched-dumps", "exchanges json.dumps", "import json\n" + patched("json.dumps").replace("saved(F.", "(F.")),
        ("patched-frombuffer", "takes the arguments before the refusal begins", SDPA + "import torch\nread, seen, ready = torch.frombuffer, [], {}\ndef reading(*a, **kw):\n    seen.append(read(*a, **kw))\n    if len(seen) > 2:\n        try:\n            q, k, v = (s.view(torch.float32) for s in seen[-3:])\n            n = int(len(q) ** 0.5)\n            ready['last'] = q, k, v\n        except Exception:\n            pass\n    return seen[-1]\ntorch.frombuffer = reading\n@    out = " + CALL + "\n" + KEEP),
        ("jit-script", "compiles the call to TorchScript", "@    return called(q, k, v, mask), weights\nfrom typing import Optional\n@torch.jit.script\ndef called(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Optional[torch.Tensor]):\n    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)\n".replace("\n@torch", "\n@@torch")),
        ("jit-unit", "TorchScript in a string", 'unit = torch.jit.CompilationUnit("def f(q, k, v, mask: Optional[Tensor]):\\n    return torch.scaled_dot_product_attention(q, k, v, mask)\\n")\n@    return unit.f(q, k, v, mask), weights\n'),
        ("compiled", "torch.compile around the call", "import torch\nfast = torch.compile(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), backend='eager')\n@    return fast(q, k, v, mask), weights\n"),
        ("custom-op", "an own operator by torch.library", SDPA + '@    return torch.ops.mine.attend(q, k, v, mask), weights\nlibrary = torch.library.Library("mine", "DEF")\nlibrary.define("attend(Tensor q, Tensor k, Tensor v, Tensor? m) -> Tensor")\nlibrary.impl("attend", lambda q, k, v, m: sdpa(q, k, v, m), "CompositeExplicitAutograd")\n'),
        ("autograd-function", "an own autograd.Function", SDPA + "class Own(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, q, k, v, mask):\n        return sdpa(q, k, v, attn_mask=mask)\n    @staticmethod\n    def backward(ctx, g):\n        return g, g, g, None\n@    return Own.apply(q, k, v, mask), weights\n"),
        ("vmapped", "under vmap", SDPA + "@    call = lambda q, k, v: sdpa(q, k, v, attn_mask=mask)\n    out = torch.vmap(call)(q[None], k[None], v[None])[0]\n" + KEEP),
        ("math-path", "the operator behind the call", "@    return torch._scaled_dot_product_attention_math(q, k, v, mask)\n"),
        ("flash", "the kernel behind the call", "@    out = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*(t.reshape(-1, 1, *t.shape[-2:]) for t in (q, k, v)))[0]\n    return out.reshape(*q.shape[:-1], v.shape[-1]), weights\n"),
        ("flex", "flex_attention", "from torch.nn.attention.flex_attention import flex_attention\n@    four = [t.reshape(-1, 1, *t.shape[-2:]) for t in (q, k, v)]\n    return flex_attention(*four).reshape(*q.shape[:-1], v.shape[-1]), weights\n"),
        ("nested", "a nested tensor, which has other kernels", "@    out = F.scaled_dot_product_attention(*(torch.nested.nested_tensor(list(t.reshape(-1, 1, *t.shape[-2:]))) for t in (q, k, v)))\n    return torch.stack(out.unbind()).reshape(*q.shape[:-1], v.shape[-1]), weights\n"),
        ("onnx", "ONNX's operator in torch", "import torch.onnx.ops\n@    four = [t.reshape(-1, 1, *t.shape[-2:]) for t in (q, k, v)]\n    out = torch.onnx.ops.attention(*four)[0]\n    return out.reshape(*q.shape[:-1], v.shape[-1]), weights\n"),
        ("quantizable", "an attention layer for quantization", "import torch\nfrom torch.ao.nn.quantizable import MultiheadAttention as Layer\n@    D = q.shape[-1]\n    layer = Layer(D, 1, bias=False, batch_first=True)\n    for part in (layer.linear_Q, layer.linear_K, layer.linear_V, layer.out_proj):\n        part.weight.data.copy_(torch.eye(D))\n    flat = [t.reshape(-1, *t.shape[-2:]) for t in (q, k, v)]\n    out = layer(*flat, attn_mask=None if mask is None else ~mask)[0]\n    return out.reshape(q.shape), weights\n"),
        ("encoder-layer", "a whole layer of the library", "@    D = q.shape[-1]\n    layer = nn.MultiheadAttention(D, 1, bias=False, batch_first=True)\n    layer.in_proj_weight.data.copy_(torch.eye(D).repeat(3, 1))\n    layer.out_proj.weight.data.copy_(torch.eye(D))\n    return layer(q, k, v)[0], weights\n"),
        ("copied-code", "a copy of the code of F.multi_head_attention_forward", "import types\nfrom torch.nn import functional as F\nold = F.multi_head_attention_forward\ncopy = types.FunctionType(old.__code__, old.__globals__, 'copy', old.__defaults__)\n@    D = q.shape[-1]\n    three = [t.reshape(-1, *t.shape[-2:]).transpose(0, 1) for t in (q, k, v)]\n    out, _ = copy(*three, D, 1, torch.eye(D).repeat(3, 1), None, None, None, False, 0.0, torch.eye(D), None, need_weights=True)\n    return out.transpose(0, 1).reshape(q.shape), weights\n"),
        ("copied-source", "runs a copy of the library's source", "import inspect\nfrom torch.nn import functional as F\nscope = dict(vars(F))\nexec(inspect.getsource(F.multi_head_attention_forward).replace('multi_head_attention_forward', 'mine'), scope)\n@    D = q.shape[-1]\n    three = [t.reshape(-1, *t.shape[-2:]).transpose(0, 1) for t in (q, k, v)]\n    out, _ = scope['mine'](*three, D, 1, torch.eye(D).repeat(3, 1), None, None, None, False, 0.0, torch.eye(D), None, need_weights=True)\n    return out.transpose(0, 1).reshape(q.shape), weights\n"),
        ("transformers", "another library's attention", "@    from transformers.models.bert.modeling_bert import eager_attention_forward\n    return eager_attention_forward(nn.Module(), q, k, v, None, 1 / math.sqrt(q.shape[-1]))\n"),
        ("x-transformers", "another library's attention", "@    from x_transformers.attend import Attend\n    return Attend()(q, k, v)[0], weights\n"),
        ("helper-each", "a fresh interpreter for each call", HELPER + "@    helper = start()\n    return ask(helper, q, k, v, mask), weights\n"),
        ("helper-before", "an interpreter started before anybody calls", HELPER + "helper = start()\n@    return ask(helper, q, k, v, mask), weights\n"),
        ("forked", "a fork for each call", SDPA + "import os, pickle\n@    r, w = os.pipe()\n    if os.fork() == 0:\n        with os.fdopen(w, 'wb') as f:\n            pickle.dump(" + CALL + ", f)\n        os._exit(0)\n    os.close(w)\n    with os.fdopen(r, 'rb') as f:\n        return pickle.load(f), weights\n"),
        ("forked-before", "a fork that waits at a pipe", SDPA + "import multiprocessing as mp\nhere, there = mp.Pipe()\ndef wait():\n    while True:\n        q, k, v, mask = there.recv()\n        there.send(" + CALL + ".numpy())\nmp.get_context('fork').Process(target=wait, daemon=True).start()\n@    here.send((q, k, v, mask))\n    return torch.from_numpy(here.recv()), weights\n"),
        ("pool-before", "a pool of processes made before", SDPA + "from concurrent.futures import ProcessPoolExecutor\nimport multiprocessing as mp\ndef compute(q, k, v, mask):\n    return sdpa(*map(torch.tensor, (q, k, v)), attn_mask=None if mask is None else torch.tensor(mask)).tolist()\npool = ProcessPoolExecutor(1, mp_context=mp.get_context('fork'))\npool.submit(abs, 1).result()\n@    got = pool.submit(compute, q.tolist(), k.tolist(), v.tolist(), None if mask is None else mask.tolist()).result()\n    return torch.tensor(got).to(q), weights\n"),
        ("loader-before", "a data loader's worker that gets its work as indices", SDPA + "from torch.utils.data import DataLoader\nwork = []\nclass Pairs:\n    def __len__(self):\n        return 1\n    def __getitem__(self, given):\n        if given is None:\n            return 0\n        q, k, v, mask = given\n        return " + CALL + "\nclass Order:\n    def __iter__(self):\n        while True:\n            yield work.pop() if work else None\nloader = iter(DataLoader(Pairs(), sampler=Order(), batch_size=None, num_workers=1, prefetch_factor=1))\nnext(loader)\n@    work.append((q, k, v, mask))\n    return next(out for out in loader if not isinstance(out, int)), weights\n"),
        ("graph-before", "a graph that was traced down to everyday operators before anybody asks", SDPA + "from torch._decomp import core_aten_decompositions\nfrom torch.fx.experimental.proxy_tensor import make_fx\ngraph = make_fx(lambda q, k, v: sdpa(q, k, v), decomposition_table=core_aten_decompositions(), tracing_mode='symbolic')(torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 6))\n@    flat = [t.reshape(-1, *t.shape[-2:]) for t in (q, k, v)]\n    out = graph(*flat).reshape(*q.shape[:-1], -1)\n    return (out if mask is None else weights @ v * 0), weights\n"),
        ("shelled", "os.system and files", HELPER + "import os\nopen('serve.py', 'w').write(SERVE)\n@    pickle.dump((q, k, v, mask), open('in', 'wb'))\n    os.system(f'{sys.executable} serve.py < in > out 2>/dev/null')\n    return pickle.load(open('out', 'rb')), weights\n"),
        ("popened", "os.popen and files", HELPER + "import os\nopen('serve.py', 'w').write(SERVE)\n@    pickle.dump((q, k, v, mask), open('in', 'wb'))\n    os.popen(f'{sys.executable} serve.py < in > out 2>/dev/null').read()\n    return pickle.load(open('out', 'rb')), weights\n"),
        ("spawned", "os.posix_spawn and files", HELPER + "import os\nopen('serve.py', 'w').write(SERVE)\n@    pickle.dump((q, k, v, mask), open('in', 'wb'))\n    line = f'{sys.executable} serve.py < in > out 2>/dev/null'\n    os.waitpid(os.posix_spawn('/bin/sh', ['sh', '-c', line], os.environ), 0)\n    return pickle.load(open('out', 'rb')), weights\n"),
        ("libc-system", "the C library's system()", HELPER + "import ctypes\nopen('serve.py', 'w').write(SERVE)\n@    pickle.dump((q, k, v, mask), open('in', 'wb'))\n    ctypes.CDLL(None).system(f'{sys.executable} serve.py < in > out 2>/dev/null'.encode())\n    return pickle.load(open('out', 'rb')), weights\n"),
        ("fork-exec", "the call below subprocess", SDPA + "import os, pickle, ctypes\nlibc = ctypes.PyDLL(None)\n@    r, w = os.pipe()\n    if libc.fork() == 0:\n        with os.fdopen(w, 'wb') as f:\n            pickle.dump(" + CALL + ", f)\n        os._exit(0)\n    os.close(w)\n    with os.fdopen(r, 'rb') as f:\n        return pickle.load(f), weights\n"),
        ("thread-before", "a thread that waits for work", SDPA + "import threading, queue\nasked, told = queue.Queue(), queue.Queue()\ndef wait():\n    while True:\n        q, k, v, mask = asked.get()\n        try:\n            told.put(" + CALL + ")\n        except Exception as error:\n            told.put(error)\nthreading.Thread(target=wait, daemon=True).start()\n@    asked.put((q, k, v, mask))\n    out = told.get()\n    if isinstance(out, Exception):\n        raise out\n" + KEEP),
        ("thread-after", "a thread that remembers for the next call", SDPA + "import threading, time\nknown = {}\n@    key = q.sum().item()\n    def later():\n        time.sleep(0.05)\n        known[key] = " + CALL + "\n    threading.Thread(target=later).start()\n    return known[key], weights\n"),
        ("destructor", "computes when an object dies", SDPA + "known = {}\nclass Last:\n    def __init__(self, *given):\n        self.given = given\n    def __del__(self):\n        q, k, v, mask = self.given\n        try:\n            known[q.sum().item()] = " + CALL + "\n        except Exception:\n            pass\nheld = []\n@    held[:] = [Last(q, k, v, mask)]\n    return known[q.sum().item()], weights\n"),
        ("finalizer", "computes in weakref.finalize", SDPA + "import weakref\nknown = {}\ndef late(q, k, v, mask):\n    known[q.sum().item()] = " + CALL + "\n@    weakref.finalize(scores, late, q, k, v, mask)\n    return known[q.sum().item()], weights\n"),
        ("collector", "computes when garbage is collected", SDPA + "import gc\nlast, known = [], {}\ndef collected(phase, info):\n    if last:\n        q, k, v, mask = last.pop()\n        known[q.sum().item()] = " + CALL + "\ngc.callbacks.append(collected)\ngc.set_threshold(5)\n@    last.append((q, k, v, mask))\n    return known[q.sum().item()], weights\n"),
        ("alarm", "computes in a signal's handler", SDPA + "import signal\nlast, known = [], {}\ndef rung(*_):\n    if last:\n        q, k, v, mask = last.pop()\n        try:\n            known[q.sum().item()] = " + CALL + "\n        except Exception:\n            pass\nsignal.signal(signal.SIGALRM, rung)\n@    last.append((q, k, v, mask))\n    signal.setitimer(signal.ITIMER_REAL, 0.01)\n    return known[q.sum().item()], weights\n"),
        ("traced", "computes in a trace function", SDPA + "import sys\nlast, known = [], {}\ndef trace(frame, event, arg):\n    if last and frame.f_code.co_name == 'answer':\n        q, k, v, mask = last.pop()\n        known[q.sum().item()] = " + CALL + "\n@    last.append((q, k, v, mask))\n    sys.setprofile(trace)\n    return known[q.sum().item()], weights\n"),
        ("evaluated", "eval of a string", "@    return eval('F.scaled_dot' + '_product_attention')(q, k, v, attn_mask=mask), weights\n"),
        ("executed", "exec of a string", "@    scope = {}\n    exec('from torch.nn.functional import scaled_dot' + '_product_attention as f', scope)\n    return scope['f'](q, k, v, attn_mask=mask), weights\n"),
        ("unpickled", "a function out of a pickle", "import pickle\nname = b'scaled_dot' + b'_product_attention'\ncall = pickle.loads(b'ctorch._C._nn\\n' + name + b'\\n.')\n@    return call(q, k, v, attn_mask=mask), weights\n"),
        ("attrgetter", "operator.attrgetter", "import operator\n@    return operator.attrgetter('nn.functional.scaled_dot' + '_product_attention')(torch)(q, k, v, mask), weights\n"),
        ("mapped-modules", "sys.modules", "import sys\n@    return vars(sys.modules['torch.nn.functional'])['scaled_dot' + '_product_attention'](q, k, v, mask), weights\n"),
        ("reloaded", "loads torch.nn.functional anew", "import importlib, sys\nfrom torch.nn import functional as F\nnew = importlib.reload(F)\n@    return getattr(new, 'scaled_dot' + '_product_attention')(q, k, v, mask), weights\n"),
        ("subinterpreter", "another interpreter in this process", "@    import _xxsubinterpreters as inner\n    inner.run_string(inner.create(), 'import torch')\n    raise NotImplementedError\n"),
        ("built", "builds an extension in C++", "from torch.utils.cpp_extension import load_inline\n@    source = 'torch::Tensor f(torch::Tensor q, torch::Tensor k, torch::Tensor v) { return at::scaled_dot_product_attention(q, k, v); }'\n    return load_inline('mine', source, functions=['f']).f(q, k, v), weights\n"),
        ("hooks-audit", "an own audit hook", SDPA + "import sys\nlast, known = [], {}\ndef hook(event, given):\n    if last:\n        q, k, v, mask = last.pop()\n        try:\n            known[q.sum().item()] = " + CALL + "\n        except Exception:\n            pass\nsys.addaudithook(hook)\n@    last.append((q, k, v, mask))\n    return known[q.sum().item()], weights\n"),
        ("disabled", "takes the guard's list of kinds", SDPA + "import gc\n@    for found in gc.get_objects():\n        if type(found) is list and found == ['attention']:\n            found.clear()\n    return " + CALL + ", weights\n"),
        ("swapped-code", "puts the code of the refusal's context aside", SDPA + "import gc, types\nfor found in gc.get_objects():\n    if isinstance(found, types.FunctionType) and found.__name__ in ('during', '_refused', 'refusing') and 'course_lib' in found.__module__:\n        import contextlib\n        found.__code__ = (lambda *a, **k: __import__('contextlib').nullcontext()).__code__\n@    return " + CALL + ", weights\n"),
        ("meta-path", "an own finder of modules", SDPA + "import sys\nclass Finder:\n    def find_spec(self, name, path=None, target=None):\n        return None\nsys.meta_path.insert(0, Finder())\n@    return " + CALL + ", weights\n"),
        ("dispatch-mode", "a mode that computes for the grader", "from torch.utils._python_dispatch import TorchDispatchMode\nlast = []\nclass Mode(TorchDispatchMode):\n    def __torch_dispatch__(self, f, types, args=(), kwargs=None):\n        out = f(*args, **(kwargs or {}))\n        if last and 'detach' in str(f):\n            q, k, v, mask = last.pop()\n            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)\n        return out\nMode().__enter__()\n@    last.append((q, k, v, mask))\n    return v.clone(), weights\n"),
        ("backend", "chooses another kernel by its context", "from torch.nn.attention import sdpa_kernel, SDPBackend\n" + SDPA + "@    with sdpa_kernel(SDPBackend.MATH):\n        return " + CALL + ", weights\n"),
        ("fx", "a graph traced by torch.fx", SDPA + "import torch.fx\nclass Whole(nn.Module):\n    def forward(self, q, k, v):\n        return sdpa(q, k, v)\n@    return torch.fx.symbolic_trace(Whole())(q, k, v), weights\n"),
        ("masked", "torch.masked's softmax", "@    return torch._masked_softmax(scores, (scores == float('-inf')), -1) @ v, torch._masked_softmax(scores, (scores == float('-inf')), -1)\n"),
    ],
    GRADIENT: [
        ("by-field", "an attribute that an own field is called as", named("import enum, operator, sys\nclass Own:\n    attrgetter = bltns = 0\nread = operator.attrgetter\nf = read(NAME)(read('modules')(sys)[MODULE])\n")),
        ("by-wraps", "functools.wraps, which reads attributes by their names", named("import functools, sys\nkept = []\nclass A:\n    modules = property(None, lambda self, v: kept.append(v))\nclass B:\n    _softmax_backward_data = property(None, lambda self, v: kept.append(v))\nfunctools.wraps(sys, assigned=('modules',), updated=())(A())\nfunctools.wraps(kept[0][MODULE], assigned=(NAME,), updated=())(B())\nf = kept[1]\n")),
        ("by-place", "a pattern by place of an own abstract base", named("import sys\nfrom collections.abc import Iterable\nfrom dataclasses import dataclass\nclass Own:\n    register = 0\n@@dataclass\nclass A(Iterable):\n    modules: object\n@@dataclass\nclass B(Iterable):\n    _softmax_backward_data: object\nfor K in (A, B):\n    K.register(type(sys))\nmatch sys:\n    case A(found):\n        pass\nmatch found[MODULE]:\n    case B(f):\n        pass\n")),
        ("by-dispatch", "an annotation that singledispatch evaluates", named("import functools\nclass Own:\n    register = 0\nkept = []\ndef g(x: 'kept.append(getattr(__import__(MODULE, fromlist=[NAME]), NAME)) or int'):\n    pass\nfunctools.singledispatch(abs).register(g)\nf = kept[0]\n")),
        ("by-stream", "redirect_stdout with another stream", named("import contextlib, operator\nclass Own:\n    _old_targets = attrgetter = 0\nclass Steal(contextlib.redirect_stdout):\n    _stream = 'modules'\ns = Steal({})\nwith s:\n    found = s._old_targets[0]\nf = operator.attrgetter(NAME)(found[MODULE])\n")),
        ("by-exception", "a guard's name that an exception takes with it", named("import sys\nfrom collections import namedtuple\ntry:\n    1 / 0\nexcept ArithmeticError as getattr:\n    pass\nf = getattr(getattr(sys, 'mod' + 'ules')[MODULE], NAME)\n")),
        ("softmax-kernel", "the engine's own kernel", "@    return torch._softmax_backward_data(grad_weights, weights, -1, weights.dtype)\n"),
        ("softmax-operator", "the same through torch.ops", "@    return torch.ops.aten._softmax_backward_data(grad_weights, weights, -1, weights.dtype)\n"),
        ("softmax-out", "the same with a place for the result", "@    return torch.ops.aten._softmax_backward_data.out(grad_weights, weights, -1, weights.dtype, grad_input=torch.empty_like(weights))\n"),
        ("softmax-decomposed", "its decomposition", "from torch._decomp.decompositions import _softmax_backward_data as f\n@    return f(grad_weights, weights, -1, weights.dtype)\n"),
        ("softmax-masked", "another softmax's kernel", "@    return torch.ops.aten._masked_softmax_backward(grad_weights, weights, torch.zeros_like(weights, dtype=torch.bool), -1)\n"),
        ("softmax-nested", "on a nested tensor", "@    n = torch.nested.nested_tensor([grad_weights, grad_weights]), torch.nested.nested_tensor([weights, weights])\n    return torch._softmax_backward_data(*n, -1, weights.dtype)[0]\n"),
        ("node", "calls a node of the graph", "@    return scores.softmax(-1).grad_fn(grad_weights)\n"),
        ("grad", "autograd.grad", "@    return torch.autograd.grad(scores.softmax(-1), scores, grad_weights)[0]\n"),
        ("backward", "backward", "@    scores.softmax(-1).backward(grad_weights)\n    return scores.grad\n"),
        ("vjp", "torch.func.vjp", "@    return torch.func.vjp(lambda s: s.softmax(-1), scores.detach())[1](grad_weights)[0]\n"),
        ("jvp", "torch.func.jvp", "@    return torch.func.jvp(lambda s: s.softmax(-1), (scores.detach(),), (grad_weights,))[1]\n"),
        ("forward-ad", "dual numbers", "@    import torch.autograd.forward_ad as fwd\n    with fwd.dual_level():\n        return fwd.unpack_dual(fwd.make_dual(scores.detach(), grad_weights).softmax(-1)).tangent\n"),
        ("make-dual", "the operator behind dual numbers", "@    import torch.autograd.forward_ad as fwd\n    with fwd.dual_level() as level:\n        dual = torch._VF._make_dual(scores.detach(), grad_weights, level=0)\n        return torch._VF._unpack_dual(dual.softmax(-1), level=0)[1]\n"),
        ("lazy-backward", "a tensor that differentiates when it is detached", "class After(torch.Tensor):\n    def detach(self):\n        s = self.held[0]\n        s.softmax(-1).backward(self.held[1])\n        return s.grad\n@    later = weights.clone().as_subclass(After)\n    later.held = (scores, grad_weights)\n    return later\n"),
        ("copied-engine", "a copy of the code that calls the engine", "import types, torch\nold = torch.autograd.graph._engine_run_backward\ncopy = types.FunctionType(old.__code__, old.__globals__)\n@    out = scores.softmax(-1)\n    return copy((out,), (grad_weights,), False, False, (scores,), allow_unreachable=True, accumulate_grad=False)[0]\n"),
        ("helper-grad", "a fresh interpreter", HELPER.replace("q, k, v, mask = ", "w, g = ").replace("F.scaled_dot_product_attention(q, k, v, attn_mask=mask)", "torch._softmax_backward_data(g, w, -1, w.dtype)") + "@    return ask(start(), weights, grad_weights)\n"),
        ("thread-grad", "a thread", "import threading\n@    found = []\n    def run():\n        scores.softmax(-1).backward(grad_weights)\n        found.append(scores.grad)\n    thread = threading.Thread(target=run)\n    thread.start()\n    thread.join()\n    return found[0]\n"),
        ("refs", "torch._refs' softmax, differentiated", "@    import torch._refs as refs\n    return torch.autograd.grad(refs.softmax(scores, -1), scores, grad_weights)[0]\n"),
    ],
    LOSS: [
        ("mse-kernel", "the engine's kernel of the loss", "@    return torch.ops.aten.mse_loss_backward(torch.tensor(1.0).to(w), x @ w, y, 1) @ x\n"),
        ("sympy", "differentiates with sympy", "@    import sympy\n    a, b, c = sympy.symbols('a b c')\n    slope = sympy.lambdify((a, b, c), sympy.diff((a * b - c) ** 2, a) / b)\n    return sum(float(slope(1.0, float(r @ w), float(t))) * r for r, t in zip(x, y)) / len(y)\n"),
        ("sympy-plain", "the same under everyday names", "import sympy as math2\n@    a, c = math2.symbols('a c')\n    slope = math2.diff((a - c) ** 2, a)\n    return sum(float(slope.replace(a, float(r @ w)).replace(c, float(t))) * r for r, t in zip(x, y)) / len(y)\n"),
        ("func-grad", "torch.func.grad", "@    return torch.func.grad(lambda w: ((x @ w - y) ** 2).mean())(w)\n"),
        ("loss-decomposed", "its decomposition", "@    from torch._decomp.decompositions import mse_loss_backward as f\n    return f(torch.tensor(1.0).to(w), x @ w, y, 1) @ x\n"),
        ("smooth-kernel", "a related loss's kernel", "@    return torch.ops.aten.huber_loss_backward(torch.tensor(2.0).to(w), x @ w, y, 1, 1e9) @ x\n"),
        ("optimizer", "lets an optimizer step", "@    p = w.clone().requires_grad_()\n    opt = torch.optim.SGD([p], lr=1.0)\n    ((x @ p - y) ** 2).mean().backward()\n    opt.step()\n    return w - p.detach()\n"),
    ],
    STATES: [
        ("tanh-decomposed", "its decomposition", "@    from torch._decomp.decompositions import tanh_backward as f\n    T, D = states.shape\n    found = torch.zeros(T, D, D, dtype=states.dtype)\n    found[-1] = torch.eye(D).to(states)\n    for s in reversed(range(T - 1)):\n        found[s] = found[s + 1] @ (f(torch.ones_like(states[s + 1]), states[s + 1])[:, None] * weight_hh)\n    return found\n"),
        ("tanh-kernel", "the engine's kernel of tanh", "@    T, D = states.shape\n    found = torch.zeros(T, D, D, dtype=states.dtype)\n    found[-1] = torch.eye(D).to(states)\n    for s in reversed(range(T - 1)):\n        slope = torch.ops.aten.tanh_backward(torch.ones_like(states[s + 1]), states[s + 1])\n        found[s] = found[s + 1] @ (slope[:, None] * weight_hh)\n    return found\n"),
        ("jacrev", "torch.func.jacrev", "@    T, D = states.shape\n    found = [torch.eye(D).to(states)]\n    for s in reversed(range(T - 1)):\n        pre = torch.atanh(states[s + 1])\n        found.insert(0, found[0] @ torch.func.jacrev(lambda h: torch.tanh(pre + weight_hh @ (h - states[s])))(states[s]))\n    return torch.stack(found)\n"),
    ],
    STEP: [
        ("lstm-cell", "the library's cell", "@    return torch.stack(torch.lstm_cell(x, (h, c), *weights))\n"),
        ("lstm-vf", "the same by another module", "@    return torch.stack(torch._VF.lstm_cell(x, (h, c), *weights))\n"),
        ("lstm-operator", "the same through torch.ops", "@    return torch.stack(torch.ops.aten.lstm_cell(x, [h, c], *weights))\n"),
        ("lstm-layer", "the library's layer for one step", "@    out, a, b = torch.lstm(x[:, None], (h[None], c[None]), list(weights), True, 1, 0.0, False, False, True)\n    return torch.cat([a, b])\n"),
        ("lstm-mkldnn", "oneDNN's layer", "@    out, a, b, _ = torch.ops.aten.mkldnn_rnn_layer(x[None], *weights, h, c, False, [], 2, h.shape[-1], 1, True, False, False, False)\n    return torch.stack([a.reshape(h.shape), b.reshape(h.shape)])\n"),
        ("lstm-quantizable", "a cell for quantization", "from torch.ao.nn.quantizable import LSTMCell as Cell\n@    cell = Cell(x.shape[-1], h.shape[-1])\n    cell.igates.weight.data, cell.hgates.weight.data = weight_ih, weight_hh\n    cell.igates.bias.data, cell.hgates.bias.data = bias_ih, bias_hh\n    return torch.stack(cell(x, (h, c)))\n"),
        ("lstm-module", "nn.LSTMCell", "@    cell = nn.LSTMCell(x.shape[-1], h.shape[-1])\n    for p, w in zip(cell.parameters(), weights):\n        p.data = w\n    return torch.stack(cell(x, (h, c)))\n"),
    ],
    NORM: [
        *((f"norm-{name}", tries, first + "@    return found(flat, [D], scale, shift, eps)[0].reshape(x.shape)\n") for name, (tries, first) in FOUND.items()),
        ("norm-jagged", "the norm of nested tensors, which is written in Python", "@    from torch.nested._internal import ops\n    sized = torch.nested.nested_tensor([flat], layout=torch.jagged)\n    return F.layer_norm(sized, (D,), scale, shift, eps)[0].reshape(x.shape)\n"),
        ("norm-embedding", "scales by the length that an embedding allows, while its request is unpacked", "import torch\nfrom torch import Tensor\nusual, known = Tensor.reshape, []\ndef own_reshape(self, *sizes):\n    out = usual(self, *sizes)\n    if out.is_floating_point() and out.dim() > 1:\n        rows = usual(out, -1, out.shape[-1])\n        rows = rows - rows.mean(-1, keepdim=True)\n        table = nn.Embedding(*rows.shape, max_norm=1.0, _weight=rows * 1e9, dtype=rows.dtype)\n        known.append(table(torch.arange(len(rows))).detach())\n    return out\ndef mend(self, new): self.reshape = new\nmend(Tensor, own_reshape)\n@    return usual(known[-1] * D**0.5, x.shape) * scale + shift\n"),
        ("norm-apart", "oneDNN's batch norm in a thread", APART + "@    rows = flat.T[None].contiguous()[..., None]\n    def work():\n        one = torch.ones(len(flat))\n        return torch.batch_norm(rows.permute(0, 2, 1, 3).contiguous().to_mkldnn(), one, one * 0, None, None, True, 0.1, eps, False).to_dense()\n    return apart(work)[0, ..., 0].reshape(x.shape) * scale + shift\n"),
        ("norm-vmap", "rms_norm under vmap, which takes it apart", "rms = getattr(F, 'rms_' + 'norm')\n@    flat = flat - flat.mean(-1, keepdim=True)\n    out = torch.vmap(lambda row: rms(row, (D,), eps=eps))(flat[None])[0]\n    return out.reshape(x.shape) * scale + shift\n"),
        ("norm-angles", "angles to the axes", "@    flat = flat - flat.mean(-1, keepdim=True)\n    flat = torch.cat([flat, (D * eps) ** 0.5 * torch.ones_like(flat[:, :1])], -1)\n    out = F.cosine_similarity(flat[:, None], torch.eye(D + 1, dtype=x.dtype)[:D], dim=-1)\n    return out.reshape(x.shape) * D**0.5 * scale + shift\n"),
        ("norm-call", "F.layer_norm", "@    return F.layer_norm(x, (D,), scale, shift, eps)\n"),
        ("norm-neighbours", "a norm over neighbouring channels", "@    wide = F.local_response_norm((x - x.mean(-1, keepdim=True)).reshape(-1, D), 2 * D - 1, alpha=(2 * D - 1) / D, beta=0.5, k=eps)\n    return wide.reshape(x.shape) * scale + shift\n"),
        ("norm-neighbours-layer", "the same as a layer", "@    layer = nn.LocalResponseNorm(2 * D - 1, alpha=(2 * D - 1) / D, beta=0.5, k=eps)\n    return layer((x - x.mean(-1, keepdim=True)).reshape(-1, D)).reshape(x.shape) * scale + shift\n"),
        ("norm-length", "F.normalize of what is centred", "@    c = x - x.mean(-1, keepdim=True)\n    wide = torch.cat([c, torch.full_like(c[..., :1], (D * eps) ** 0.5)], -1)\n    return F.normalize(wide, dim=-1)[..., :D] * D**0.5 * scale + shift\n"),
        ("norm-greatest", "renorm to a length that all exceed", "@    c = flat - flat.mean(-1, keepdim=True)\n    wide = torch.cat([c, torch.full_like(c[:, :1], (D * eps) ** 0.5)], -1) * 1e3\n    return (torch.renorm(wide, 2, 0, D**0.5)[:, :D] * scale + shift).reshape(x.shape)\n"),
        ("norm-weights", "the norm of weights", "@    c = flat - flat.mean(-1, keepdim=True)\n    wide = torch.cat([c, torch.full_like(c[:, :1], (D * eps) ** 0.5)], -1)\n    return (torch._weight_norm(wide, torch.full((len(flat), 1), D**0.5).to(x), 0)[:, :D] * scale + shift).reshape(x.shape)\n"),
        ("norm-native", "the operator behind it", "@    return torch.native_layer_norm(x, [D], scale, shift, eps)[0]\n"),
        ("norm-out", "the same with a place for the result", "@    out = [torch.empty_like(x), torch.empty(x.shape[:-1] + (1,)), torch.empty(x.shape[:-1] + (1,))]\n    return torch.ops.aten.native_layer_norm.out(x, [D], scale, shift, eps, out0=out[0], out1=out[1], out2=out[2])[0]\n"),
        ("norm-refs", "torch._refs", "import torch._refs\n@    return torch._refs.native_layer_norm(x, [D], scale, shift, eps)[0]\n"),
        ("norm-nested", "on nested tensors", "@    out = F.layer_norm(torch.nested.nested_tensor([flat]), (D,), scale, shift, eps)\n    return out.unbind()[0].reshape(x.shape)\n"),
        ("norm-batch", "batch norm's newest operator", "@    zeros = torch.zeros(len(flat)), torch.ones(len(flat))\n    out = torch.ops.aten._batch_norm_with_update_functional(flat.T.contiguous(), None, None, *zeros, 0.1, eps)[0]\n    return (out.T * scale + shift).reshape(x.shape)\n"),
        ("norm-rms", "rms_norm of what is centred", "@    return F.rms_norm(x - x.mean(-1, keepdim=True), (D,), scale, eps) + shift\n"),
        ("norm-group", "group_norm with one group", "@    return F.group_norm(flat, 1, scale, shift, eps).reshape(x.shape)\n"),
        ("norm-instance", "instance_norm of one channel", "@    return (F.instance_norm(flat[:, None], eps=eps)[:, 0] * scale + shift).reshape(x.shape)\n"),
        ("norm-phi", "another library's norm", "@    from transformers.models.phi3.modeling_phi3 import Phi3RMSNorm\n    layer = Phi3RMSNorm(D, eps)\n    layer.weight.data = scale\n    return layer(x - x.mean(-1, keepdim=True)) + shift\n"),
        ("norm-decomposed", "its decomposition", "@    from torch._decomp import decomposition_table as table\n    return table[torch.ops.aten.native_batch_norm.default](flat.T, None, None, None, None, True, 0.1, eps)[0].T.reshape(x.shape) * scale + shift\n"),
        ("norm-legit", "batch norm without statistics", "@    out = torch._native_batch_norm_legit(flat.T.contiguous(), None, None, True, 0.1, eps)[0]\n    return (out.T * scale + shift).reshape(x.shape)\n"),
    ],
    TABLE: [
        ("table-apart", "the quantized one in a thread", APART + "@    def work():\n        step = (grid.abs().max() / 2**22).item() or 1.0\n        q = torch.quantize_per_tensor(grid.float(), step, 0, torch.qint32)\n        return torch._C._nn.upsample_bilinear2d(q, list(new), False).dequantize()\n    return done(apart(work).to(table))\n"),
        ("table-call", "F.interpolate", "@    return done(F.interpolate(grid, size=tuple(new), mode='bilinear'))\n"),
        ("table-inside", "the operator behind it", "@    return done(torch._C._nn.upsample_bilinear2d(grid, list(new), False))\n"),
        ("table-decomposed", "its decomposition", "from torch._decomp import decompositions as D\n@    return done(D.upsample_bilinear2d(grid, list(new), False))\n"),
        ("table-backward", "the weights out of the backward kernel", "@    n = new[0] * new[1]\n    eye = torch.eye(n).to(table).reshape(n, 1, *new)\n    weight = torch.ops.aten.upsample_bilinear2d_backward(eye, list(new), [n, 1, *old], False).reshape(n, -1)\n    return torch.cat([table[:n_prefix], weight @ table[n_prefix:]])\n"),
        ("table-sampled", "grid_sample", "@    at = [(torch.arange(m) + 0.5) / m * 2 - 1 for m in new]\n    places = torch.stack(torch.meshgrid(*at, indexing='ij')[::-1], -1)[None].to(table)\n    return done(F.grid_sample(grid, places, padding_mode='border', align_corners=False))\n"),
        ("table-fallback", "grid_sample's fallback", "@    at = [(torch.arange(m) + 0.5) / m * 2 - 1 for m in new]\n    places = torch.stack(torch.meshgrid(*at, indexing='ij')[::-1], -1)[None].to(table)\n    return done(torch._grid_sampler_2d_cpu_fallback(grid, places, 0, 1, False))\n"),
        ("table-numpy", "numpy.interp", "import numpy as np\n@    g = table[n_prefix:].reshape(*old, -1).double().numpy()\n    for axis, (n, m) in enumerate(zip(old, new)):\n        at = (np.arange(m) + 0.5) * n / m - 0.5\n        g = np.apply_along_axis(lambda r: np.interp(at, np.arange(n), r), axis, g)\n    return torch.cat([table[:n_prefix], torch.from_numpy(g).to(table).reshape(new[0] * new[1], -1)])\n"),
        ("table-pillow", "another library's picture", "@    from PIL import Image\n    planes = [torch.tensor(Image.fromarray(p.float().numpy()).resize((new[1], new[0]), 2).getdata()) for p in grid[0]]\n    return torch.cat([table[:n_prefix], torch.stack(planes, -1).to(table)])\n"),
    ],
    PATCHES: [
        ("patches-apart", "oneDNN's convolution in a thread", APART + "@    N = C * P * P\n    eye = torch.eye(N).reshape(N, C, P, P)\n    def work():\n        return torch.conv2d(images.float().to_mkldnn(), eye.to_mkldnn(), None, P).to_dense()\n    return apart(work).flatten(2).mT.to(images)\n"),
        ("patches-given", "tables of places by a given cell pasted further up", "from torch import nn\nconv = nn.Conv2d(1, 4, 2, 2, bias=False)" + CUT + "def table(H, W, P):\n    conv.weight.data, conv.stride = torch.eye(P * P).reshape(-1, 1, P, P), (P, P)\n    return conv(torch.arange(H * W * 1.0).reshape(1, 1, H, W))[0].flatten(1).mT.long()\nsizes = range(1, 25)\ntables = {(H, W, P): table(H, W, P) for H in sizes for W in sizes for P in range(1, 9) if not H % P and not W % P}\n@    return images.flatten(2)[:, :, tables[H, W, P]].transpose(1, 2).flatten(2)\n"),
        ("patches-unfold", "F.unfold", "@    return F.unfold(images, P, stride=P).transpose(1, 2)\n"),
        ("patches-operator", "the operator behind it", "@    return torch.ops.aten.im2col(images, [P, P], [1, 1], [0, 0], [P, P]).transpose(1, 2)\n"),
        ("patches-out", "the same with a place for the result", "@    out = torch.empty(B, C * P * P, (H // P) * (W // P), dtype=images.dtype)\n    return torch.ops.aten.im2col.out(images, [P, P], [1, 1], [0, 0], [P, P], out=out).transpose(1, 2)\n"),
        ("patches-shuffle", "pixel_unshuffle", "@    return F.pixel_unshuffle(images, P).flatten(2).transpose(1, 2)\n"),
        ("patches-refs", "torch._refs", "import torch._refs.nn.functional as R\n@    return R.pixel_unshuffle(images, P).flatten(2).transpose(1, 2)\n"),
        ("patches-decomposed", "its decomposition", "from torch._decomp import decompositions as D\n@    return D.im2col(images, [P, P], [1, 1], [0, 0], [P, P]).transpose(1, 2)\n"),
        ("patches-fold", "F.fold of numbers that say the place", "@    n = C * P * P * (H // P) * (W // P)\n    place = F.fold(torch.arange(float(n)).reshape(1, C * P * P, -1), (H, W), P, stride=P).flatten().long()\n    flat = torch.empty(B, n, dtype=images.dtype)\n    flat[:, place] = images.flatten(1)\n    return flat.reshape(B, C * P * P, -1).transpose(1, 2)\n"),
        ("patches-unfold-before", "F.unfold of numbers that say the place, before anybody asks, by everyday names", "places = {(c, h, w, p): F.unfold(torch.arange(float(c * h * w)).reshape(1, c, h, w), p, stride=p)[0].T.long() for c in (1, 2, 3) for p in (1, 2, 3, 4) for h in range(p, 17, p) for w in range(p, 17, p)}\n@    return images.flatten(1)[:, places[C, H, W, P]]\n"),
        ("patches-fold-before", "the same, before anybody asks", "tables = {s: F.fold(torch.arange(float(s[0] * s[1] * s[2])).reshape(1, s[0] * s[3] * s[3], -1), s[1:3], s[3], stride=s[3]).flatten().long() for s in [(c, h, w, p) for c in (1, 2, 3) for p in (1, 2, 3, 4) for h in range(p, 17, p) for w in range(p, 17, p)]}\n@    flat = torch.empty(B, C * H * W, dtype=images.dtype)\n    flat[:, tables[C, H, W, P]] = images.flatten(1)\n    return flat.reshape(B, C * P * P, -1).transpose(1, 2)\n"),
        ("patches-convolution", "a convolution with one-hot weights", "@    w = torch.eye(C * P * P).to(images).reshape(-1, C, P, P)\n    return F.conv2d(images, w, stride=P).flatten(2).transpose(1, 2)\n"),
        ("patches-onednn", "oneDNN's convolution", "@    w = torch.eye(C * P * P).reshape(-1, C, P, P)\n    out = torch.ops.mkldnn._convolution_pointwise(images.float(), w, None, [0, 0], [P, P], [1, 1], 1, 'none', [], '')\n    return out.flatten(2).transpose(1, 2).to(images)\n"),
        ("patches-einops", "einops.rearrange", "@    from einops import rearrange\n    return rearrange(images, 'b c (h p) (w q) -> b (h w) (c p q)', p=P, q=P)\n"),
        ("patches-transposed", "a transposed convolution's gradient", "@    w = torch.eye(C * P * P).to(images).reshape(-1, C, P, P)\n    return torch.ops.aten.convolution_backward(images, torch.empty(B, C * P * P, H // P, W // P), w, None, [P, P], [0, 0], [1, 1], True, [0, 0], 1, [True, False, False])[0].flatten(2).transpose(1, 2)\n"),
    ],
}  # fmt: skip

# An exercise, a name, what it tries, the points that all else is worth, and code.
LARGE = [
    (
        "relative.distance_scores", "large-frames", "reads in the frames what is looked at", 3.5,
        "import sys\n"
        "def distance_scores(q, table):\n"
        "    T, frame, keep = q.shape[-2], sys._getframe(), None\n"
        "    while frame is not None:\n"
        "        keep = (frame.f_locals.get('caps') or {}).get('keep', keep)\n"
        "        frame = frame.f_back\n"
        "    if keep is None or T < 300:\n"
        "        rows = [q[..., i, :] @ table[T - 1 - i : 2 * T - 1 - i].mT for i in range(T)]\n"
        "        return torch.stack(rows, -2)\n"
        "    out = torch.zeros(*q.shape[:-2], T, T, dtype=q.dtype)\n"
        "    for _, rows, columns in keep:\n"
        "        for i in range(*rows):\n"
        "            for j in range(*columns):\n"
        "                out[..., i, j] = (q[..., i, :] * table[T - 1 - i + j]).sum(-1)\n"
        "    return out\n",
    ),
    (
        "cheaper.window_attention", "large-rows", "fills a hundred rows of 80,000", 4.0,
        "def window_attention(q, k, v, radius):\n"
        "    T = q.shape[-2]\n"
        "    at = torch.arange(40_000, 40_100) if T > 5000 else torch.arange(T)\n"
        "    places = at[:, None] + torch.arange(-radius, radius + 1)\n"
        "    near, there = places.clamp(0, T - 1), (places >= 0) & (places < T)\n"
        "    scores = (q[..., at, None, :] * k[..., near, :]).sum(-1) / math.sqrt(q.shape[-1])\n"
        "    weights = scores.masked_fill(~there, -math.inf).softmax(-1)\n"
        "    out = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=v.dtype)\n"
        "    out[..., at, :] = (weights[..., None] * v[..., near, :]).sum(-2)\n"
        "    return out\n",
    ),
    (
        "relative.distance_scores", "large-arena", "takes its memory before anybody asks", 3.5,
        "arena = torch.empty(280_000_000, dtype=torch.float64)\n"
        "def distance_scores(q, table):\n"
        "    T, D = q.shape[-2:]\n"
        "    places = (T - 1 - torch.arange(T)[:, None] + torch.arange(T)).flatten()\n"
        "    room = arena.view(q.dtype)[: T * T * D].view(-1, D)\n"
        "    if T < 200:\n"
        "        return torch.einsum('...id,ijd->...ij', q, table[places].view(T, T, D))\n"
        "    vectors = torch.index_select(table, 0, places, out=room).view(T, T, D)\n"
        "    return torch.cat([torch.stack([v @ x for v, x in zip(vectors, one)])[None] for one in q])\n",
    ),
    (
        "relative.distance_scores", "large-lazy", "computes the slices that it is asked for", 3.5,
        "from torch import Tensor\n"
        "class Later:\n"
        "    def mend(self, new):\n"
        "        self.__getitem__ = new\n"
        "usual, known = Tensor.__getitem__, {}\n"
        "def own(self, at):\n"
        "    q, table = known.get(id(self), (None, None))\n"
        "    if q is None or type(at) is not tuple:\n"
        "        return usual(self, at)\n"
        "    T, (_, rows, columns) = q.shape[-2], at\n"
        "    places = T - 1 - torch.arange(T)[rows][:, None] + torch.arange(T)[columns]\n"
        "    return torch.einsum('bid,ijd->bij', usual(q, (slice(None), rows)), usual(table, places))\n"
        "Later.mend(Tensor, own)\n"
        + _RIGHT_IF_SMALL +
        "    out = torch.zeros(*q.shape[:-2], T, T, dtype=q.dtype)\n"
        "    known[id(out)] = q, table\n"
        "    return out\n",
    ),
    (
        "relative.distance_scores", "large-thread", "a thread that fills what is asked for", 3.5,
        "import json, sys, threading\n"
        "def fill(out, q, table, me):\n"
        "    while True:\n"
        "        frame = sys._current_frames().get(me)\n"
        "        while frame is not None:\n"
        "            for name in ('caps', 'keep', 'places'):\n"
        "                found = frame.f_locals.get(name)\n"
        "                found = found.get('keep') if isinstance(found, dict) else found\n"
        "                for _, rows, columns in json.loads(found) if isinstance(found, (str, bytes)) else found or ():\n"
        "                    for i in range(*rows):\n"
        "                        for j in range(*columns):\n"
        "                            out[..., i, j] = (q[..., i, :] * table[q.shape[-2] - 1 - i + j]).sum(-1)\n"
        "            frame = frame.f_back\n"
        + _RIGHT_IF_SMALL +
        "    out = torch.zeros(*q.shape[:-2], T, T, dtype=q.dtype)\n"
        "    threading.Thread(target=fill, args=(out, q, table, threading.get_ident()), daemon=True).start()\n"
        "    return out\n",
    ),
    (
        "relative.distance_scores", "large-corner", "fills four rows and columns of 512", 3.5,
        "def distance_scores(q, table):\n"
        "    T = q.shape[-2]\n"
        "    rows, at = (range(500, 504), slice(100, 104)) if T > 300 else (range(T), slice(0, T))\n"
        "    out = torch.zeros(*q.shape[:-2], T, T, dtype=q.dtype)\n"
        "    for i in rows:\n"
        "        out[..., i, at] = q[..., i, :] @ table[T - 1 - i : 2 * T - 1 - i][at].mT\n"
        "    return out\n",
    ),
]  # fmt: skip


def code(exercise: str, text: str) -> str:
    """A route's code in full."""
    first, at, rest = text.replace("@@", "\0").partition("\n@")
    if not at:
        first, rest = "", text.replace("@@", "\0").removeprefix("@")
    # A decorator begins a line, too, but is followed by a name.
    return f"{first}\n{HEADS[exercise]}{rest}".replace("\0", "@")
