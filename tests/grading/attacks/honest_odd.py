# ruff: noqa: E501 - students' lines have any length
"""Honest, if odd: what stands in an own cell, above the imports, in an answer or in a name.

An answer's code is put in the place of the first one; ``@`` stands for its usual text.
"""

USUAL = """
def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ v, weights
"""
MAIN = "scaled_dot_product_attention"
ODD: dict[str, tuple[str, str]] = {
    "retina": ("top", "%config InlineBackend.figure_format = 'retina'\n%matplotlib inline"),
    "autoreload": ("top", "%load_ext autoreload\n%autoreload 2"),
    "pip-magic": ("top", "%pip install -q einops"),
    "pip-command": ("top", "!pip install -q einops"),
    "smi": ("above", "!nvidia-smi"),
    "timeit": ("cell", "%timeit sum(range(10))"),
    "time": ("cell", "%%time\nx = torch.ones(3)"),
    "capture": ("cell", "%%capture said\nprint('kept')"),
    "bash": ("cell", "%%bash\nls -l | wc"),
    "assigned-command": ("cell", "files = !ls\nprint(files)"),
    "folders": ("cell", "%cd .\n%env WANTED=1\n!ls"),
    "help": ("cell", "torch.softmax?"),
    "input": ("cell", "try:\n    name = input('Your name? ')\nexcept Exception:\n    name = 'me'"),
    "await": ("cell", "import asyncio\nawait asyncio.sleep(0)"),
    "asyncio": ("cell", "import asyncio\nasync def wait():\n    return 1\ntry:\n    print(asyncio.run(wait()))\nexcept RuntimeError:\n    pass"),
    "tqdm": ("cell", "from tqdm.auto import tqdm\nfor n in tqdm(range(10)):\n    pass"),
    "megabyte": ("cell", "print('x' * 1_000_000)"),
    "figures": ("cell", "import matplotlib.pyplot as plt\nfig, ax = plt.subplots(2, 2)\nax[0, 0].imshow(torch.eye(3))\nplt.show()"),
    "log-file": ("cell", "import logging\nlogging.basicConfig(filename='run.log')\nlogging.info('begins')"),
    "annotations": ("top", "from __future__ import annotations"),
    "typing-extensions": ("cell", "from typing_extensions import Self, TypeAlias\nNumber: TypeAlias = float"),
    "comments": ("answer", "# 어텐션: 점수를 나눈다\n@"),
    "strict-warnings": ("cell", "import warnings\nwarnings.simplefilter('error', category=SyntaxWarning)"),
    "double": ("cell", "print(torch.get_default_dtype())\ntorch.set_printoptions(precision=3)"),
    "seeded": ("cell", "import random, numpy\nrandom.seed(0)\nnumpy.random.seed(0)\ntorch.manual_seed(0)"),
    "numpy": ("cell", "import numpy as np\nprint(np.allclose(np.ones(3).mean(), 1.0))"),
    "shadowed": ("cell", "list_ = [1]\nsum_ = sum(list_)\nmax = max\nid = 3"),
    "threads": ("cell", "import threading\ndef work():\n    return torch.ones(3).sum()\nthread = threading.Thread(target=work)\nthread.start()\nthread.join()"),
    "loader": ("cell", "from torch.utils.data import DataLoader, TensorDataset\ndata = TensorDataset(torch.arange(6.0))\nprint([len(b[0]) for b in DataLoader(data, batch_size=2, num_workers=2)])"),
    "pool": ("cell", "from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor(2) as pool:\n    print(list(pool.map(abs, [-1, 2])))"),
    "multiprocessing": ("cell", "import multiprocessing\nwith multiprocessing.Pool(2) as pool:\n    print(pool.map(abs, [-1, 2]))"),
    "subprocess": ("cell", "import subprocess, sys\nprint(subprocess.run([sys.executable, '--version'], capture_output=True).stdout)"),
    "versions": ("cell", "import sys, platform, os\nprint(sys.version, platform.platform(), os.cpu_count(), torch.__version__)"),
    "garbage": ("cell", "import gc\ngc.collect()"),
    "context": ("cell", "import inspect\nprint(inspect.signature(torch.nn.Linear.forward))"),
    "widgets": ("cell", "from IPython.display import display, Markdown\ndisplay(Markdown('# mine'))"),
    "memory": ("cell", "import resource\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"),
    "compares": ("cell", "q = torch.randn(2, 3, 4)\nprint(F.scaled_dot_product_attention(q, q, q).shape, globals().keys())"),
    "autograd": ("cell", "x = torch.ones(3, requires_grad=True)\n(x**2).sum().backward()\nprint(x.grad, x.grad_fn)"),
    "profiled": ("cell", "from torch.profiler import profile\nwith profile() as run:\n    torch.ones(3).sum()\nprint(len(run.key_averages()))"),
    "counted": ("cell", "print(torch.ops.aten.mm, torch.__config__.parallel_info()[:20])"),
    "scripted": ("answer", "@torch.jit.script\ndef scale(x: torch.Tensor, d: int) -> torch.Tensor:\n    return x / float(d) ** 0.5\n" + USUAL.replace("q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])", "scale(q @ k.transpose(-2, -1), q.shape[-1])")),
    "compiled": ("answer", "@torch.compile\n@"),
    "module": ("answer", "class Attend(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.calls_so_far = 0\n    def forward(self, q, k, v, mask=None):\n        self.calls_so_far += 1\n        return plain(q, k, v, mask)\n" + USUAL.replace(MAIN, "plain") + "attend = Attend()\ndef " + MAIN + "(q, k, v, mask=None):\n    return attend(q, k, v, mask)\n"),
    "dataclass": ("answer", "from dataclasses import dataclass\n@dataclass\nclass Given:\n    q: torch.Tensor\n    k: torch.Tensor\n    @property\n    def scores(self):\n        return self.q @ self.k.mT / math.sqrt(self.q.size(-1))\n" + USUAL.replace("q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])", "Given(q, k).scores")),
    "named-tuple": ("answer", "from typing import NamedTuple\nclass Attended(NamedTuple):\n    out: torch.Tensor\n    weights: torch.Tensor\n" + USUAL.replace("return weights @ v, weights", "return Attended(weights @ v, weights)")),
    "format": ("answer", USUAL.replace("    weights = ", "    note = f\"{'shape'!r}: {tuple(scores.shape)}\\n\"\n    weights = ")),
    "einsum": ("answer", USUAL.replace("q @ k.transpose(-2, -1)", "torch.einsum('...td,...sd->...ts', q, k)")),
    "dtype": ("answer", USUAL.replace("scores.softmax(-1)", "F.softmax(scores, dim=-1, dtype=scores.dtype)")),
    "special": ("answer", USUAL.replace("scores.softmax(-1)", "torch.special.softmax(scores, -1)")),
    "by-hand": ("answer", USUAL.replace("scores.softmax(-1)", "torch.exp(scores - torch.logsumexp(scores, -1, keepdim=True))")),
    "logged": ("answer", "import logging\nlog = logging.getLogger('mine')\n" + USUAL.replace("    weights = ", "    log.debug('scores %s', scores.shape)\n    weights = ")),
    "checked": ("answer", USUAL.replace("    weights = ", "    assert isinstance(scores, torch.Tensor), type(scores)\n    weights = ")),
    "cached": ("answer", "import functools\n@functools.lru_cache(maxsize=None)\ndef root(d):\n    return math.sqrt(d)\n" + USUAL.replace("math.sqrt(q.shape[-1])", "root(q.shape[-1])")),
    "timed": ("answer", "import time\nspent = []\n" + USUAL.replace("    weights = ", "    began = time.perf_counter()\n    weights = ").replace("    return", "    spent.append(time.perf_counter() - began)\n    return")),
    "aliased": ("answer", "import torch as t, torch.nn.functional as fn\n" + USUAL.replace("scores.softmax(-1)", "fn.softmax(scores, dim=-1)")),
    "typed": ("answer", USUAL.replace("(q, k, v, mask=None)", "(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: 'torch.Tensor | None' = None) -> tuple[torch.Tensor, torch.Tensor]")),
    "no-grad-elsewhere": ("cell", "with torch.no_grad():\n    print(torch.ones(3).sum())\nwith torch.inference_mode():\n    print(torch.ones(3).sum())"),
    "slide": ("answer", "import sys\nprint(sys.version)  # from\u2028a slide\n@"),
    "page": ("answer", "import sys\nprint(sys.version)\n\x0c\n@"),
    "next-line": ("answer", "import sys\nprint(sys.version, 'a\x85b')\n@"),
    "starred": ("answer", "from math import *\n" + USUAL.replace("math.sqrt", "sqrt")),
    "starred-layers": ("answer", "from torch.nn.functional import *\n" + USUAL.replace("scores.softmax(-1)", "softmax(scores, dim=-1)")),
    "device": ("answer", "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n" + USUAL.replace("    weights = ", "    scores = scores.to(q.device if device.type == 'cpu' else device)\n    weights = ")),
    "matched": ("answer", USUAL.replace("    if mask is not None:\n        scores = ", "    match mask:\n        case torch.Tensor():\n            scores = ")),
    "type-of": ("answer", USUAL.replace("    weights = ", "    assert type(q) is type(k), type(q)\n    weights = ")),
    "attribute": ("answer", USUAL.replace("scores.softmax(-1)", "getattr(F, 'soft' + 'max')(scores, dim=-1)")),
    "attributes-set": ("answer", "class Given:\n    pass\ngiven = Given()\nfor n in range(2):\n    setattr(given, f'power{n}', 0.5)\n" + USUAL.replace("math.sqrt(q.shape[-1])", "q.shape[-1] ** getattr(given, 'power' + '1')")),
    "vmapped": ("answer", USUAL.replace("scores.softmax(-1)", "torch.vmap(lambda s: s.softmax(-1))(scores)")),
    "signature": ("answer", "import inspect\nprint(inspect.signature(F.softmax))\n@"),
    "written-module": ("answer", "from scaling import scale_of\n" + USUAL.replace("math.sqrt(q.shape[-1])", "scale_of(q)")),
    "pooled": ("answer", "from concurrent.futures import ThreadPoolExecutor\n" + USUAL.replace("scores.softmax(-1)", "torch.stack(list(ThreadPoolExecutor(2).map(lambda s: s.softmax(-1), scores)))")),
    "autocast": ("answer", USUAL.replace("    return", "    with torch.autocast('cpu', enabled=False):\n        weights = weights * 1\n    return")),
    "buffered": ("answer", "class Root(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.register_buffer('halved', torch.tensor(0.5))\n    def forward(self, d):\n        return d ** float(self.halved)\nroot = Root()\n" + USUAL.replace("math.sqrt(q.shape[-1])", "root(q.shape[-1])")),
    "tested": ("answer", USUAL + "def test_it():\n    q = torch.randn(1, 2, 3, 4)\n    torch.testing.assert_close(" + MAIN + "(q, q, q)[0], F." + MAIN + "(q, q, q))\ntest_it()\n"),
    "compared-before": ("answer", "wanted = F." + MAIN + "(torch.ones(1, 1, 2, 4), torch.ones(1, 1, 2, 4), torch.ones(1, 1, 2, 4))\n" + USUAL + "assert torch.allclose(" + MAIN + "(torch.ones(1, 1, 2, 4), torch.ones(1, 1, 2, 4), torch.ones(1, 1, 2, 4))[0], wanted)\n"),
    "operators": ("answer", "import operator\n" + USUAL.replace("weights @ v, weights", "operator.matmul(weights, v), weights")),
    "property-cache": ("answer", "from functools import cached_property, partial\nclass Width:\n    def __init__(self, q):\n        self.q = q\n    @cached_property\n    def root(self):\n        return math.sqrt(self.q.shape[-1])\n" + USUAL.replace("math.sqrt(q.shape[-1])", "Width(q).root")),
    "global-count": ("answer", "calls = 0\n" + USUAL.replace("    scores = q", "    global calls\n    calls += 1\n    scores = q")),
    "walrus": ("answer", USUAL.replace("    weights = ", "    assert (shape := scores.shape)[-1] == k.shape[-2], shape\n    weights = ")),
    "wrapped": ("answer", "import functools\ndef told(f):\n    @functools.wraps(f)\n    def inner(*args, **kwargs):\n        return f(*args, **kwargs)\n    return inner\n@told\n@"),
}  # fmt: skip
# A cell before the answer, where one alone is not enough.
BEFORE = {
    "written-module": "%%writefile scaling.py\nimport math\n\ndef scale_of(q):\n    return math.sqrt(q.shape[-1])\n"
}
NAMES = (
    "김민수", "Łukasz Żółć", "O'Brien", 'the "best"', "two\nlines", "-rf", "...", ".hidden", "ñandú",
    "Ångström", "a b  c", "tab\there", "semi;colon", "$(reboot)", "`id`", "100%", "%s%n", "{x}",
    "a&b", "<b>bold<b>", "שלום", "مرحبا", "emoji 🙂", "e\u0301", "x" * 180, "UPPER", "comma,name",
    "=SUM(1)", "back\\slash", "star*", "quest?", "[set]", "~home",
)  # fmt: skip
