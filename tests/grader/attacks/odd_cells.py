# ruff: noqa: E501 - students' lines have any length
"""What stands in an odd but honest notebook, by name: own cells, and last the cell of an answer.

``@`` is the usual answer, ``NAME`` its function. What is not there while work is graded, or ends
the cell in a kernel too, costs the answer: these are in ``LOST``.
"""

AS_MODULE = "import math\nimport torch\nfrom torch import Tensor, nn\nfrom torch.nn import functional as F\n\n@\n"
CELLS: dict[str, tuple[str, ...]] = {
    # Files that it writes, and modules beside it.
    "writes-a-file": ("%%writefile wrote_NAME.py\n" + AS_MODULE, "from wrote_NAME import NAME"),
    "opens-a-file": (f"with open('opened_NAME.py', 'w') as file:\n    file.write(r'''{AS_MODULE}''')", "import opened_NAME\nNAME = opened_NAME.NAME"),
    "appends": ("%%writefile parts_NAME.py\nx = 1", "%%writefile -a parts_NAME.py\n" + AS_MODULE, "from parts_NAME import *"),
    "package": ("import os\nos.makedirs('own_NAME')\nopen('own_NAME/__init__.py', 'w').close()", "%%writefile own_NAME/core.py\n" + AS_MODULE, "from own_NAME.core import NAME"),
    "reloaded": ("%%writefile again_NAME.py\nNAME = None", "import again_NAME", "%%writefile again_NAME.py\n" + AS_MODULE, "import importlib\nNAME = importlib.reload(again_NAME).NAME"),
    "runs-a-script": ("%%writefile script_NAME.py\n" + AS_MODULE, "%run script_NAME.py"),
    "saves-tensors": ("torch.save(torch.ones(1), 'one.pt')", "assert torch.load('one.pt').item() == 1\n@"),
    "other-folder": ("import os\nos.makedirs('below', exist_ok=True)\n%cd below", "%%writefile there_NAME.py\n" + AS_MODULE, "from there_NAME import NAME"),
    "module-beside": ("from my_helpers import rescale", "assert rescale(4.0, 4) == 2\n@"),
    "reads-data": ("import csv", "rows = open('data.csv').read()\n@"),
    "folder-beside": ("import sys", "from helpers.more import rescale\nassert rescale\n@"),
    # What a kernel keeps.
    "last-result": ("1.0", "assert _ == 1.0\n@"),
    "results": ("2", "3", "assert list(Out.values())[-2:] == [2, 3]\n@"),
    "inputs": ("x = 'here it is'", "assert 'here it is' in In[-2] and 'here it is' in _i\n@"),
    "no-result": ("4", "5;", "assert list(Out.values())[-1] == 4\n@"),
    "captured": ("%%capture said\nprint('kept')", "assert said.stdout == 'kept\\n'\n@"),
    "assigned-command": ("lines = !echo kept", "assert lines == ['kept']\n@"),
    "exit-code": ("!false", "assert _exit_code == 1\n@"),
    "stored": ("kept_NAME = 3\n%store kept_NAME", "del kept_NAME\n%store -r kept_NAME\nassert kept_NAME == 3\n@"),
    "kernel": ("shell = get_ipython()", "assert hasattr(shell, 'kernel')\n@"),
    "main": ("import __main__", "if __name__ == '__main__':\n    assert __main__.torch is torch\n@"),
    "source": ("def mine(x):\n    return x + 1", "import inspect, pickle\nassert 'x + 1' in inspect.getsource(mine)\nassert pickle.loads(pickle.dumps(mine))(1) == 2\n@"),
    "arguments": ("import argparse", "options, rest = argparse.ArgumentParser().parse_known_args()\nassert rest\n@"),
    "output-stream": ("import faulthandler, subprocess\nfaulthandler.enable()", "import sys\nsubprocess.run(['echo', 'there'], stdout=sys.stdout)\nsys.stdout.flush()\n@"),
    "who-am-i": ("import getpass, os, pwd", "assert getpass.getuser() and pwd.getpwuid(os.getuid()).pw_name\n@"),
    "in-a-notebook": ("shell = get_ipython()", "assert type(shell).__name__ == 'ZMQInteractiveShell' and 'zmqshell' in str(type(shell))\n@"),
    "in-a-kernel": ("shell = get_ipython()", "assert 'IPKernelApp' in shell.config and 'ipykernel' in __import__('sys').modules\n@"),
    "breakpoint": ("breakpoint()", "@\n\nown = NAME\n\n\ndef NAME(*args, **kwargs):\n    breakpoint()\n    return own(*args, **kwargs)"),
    "set-trace": ("import pdb", "pdb.set_trace()\n@"),
    "debug": ("1 / 0", "%debug\n@"),
    # Magics.
    "below-a-comment": ("# how long?\n%%time\nx = 1", "# my answer\n%%time\n@"),
    "below-blanks": ("", "\n\n%%time\n@"),
    "mistyped": ("%tiem x = 1\nafter = 1", "%mtaplotlib inline\nassert after\n@"),
    "cell-magic-mistyped": ("x = 1", "%%tiem\n@"),
    "timed-away": ("%timeit -n1 -r1 sum(range(9))", "%%timeit -n1 -r1\n@"),
    "captured-answer": ("%%capture --no-stderr\nprint(1)", "%%capture\n@"),
    "alias": ("%alias told echo", "%told me\n@"),
    "macro": ("m = 3", "%macro -q again_NAME 1\n@"),
    "interactivity": ("%config InteractiveShell.ast_node_interactivity = 'all'\n1\n2", "@\n_ == 2"),
    "help": ("torch.softmax?", "?print\n@"),
    "no-such-extension": ("%load_ext tensorboard_of_mine\nloaded = 1", "assert loaded\n@"),
    "python-cell": ("%%python\nprint(1)", "%%python\n@"),
    # Packages, network.
    "colab": ("from google.colab import drive\ndrive.mount('/content/drive')\nmounted = 1", "assert mounted\n@"),
    "widget": ("%matplotlib widget\nimport matplotlib.pyplot as plt\nplt.figure()\nshown = 1", "assert shown\n@"),
    "window": ("%matplotlib tk\nshown = 1", "assert shown\n@"),
    "other-window": ("import matplotlib.pyplot as plt\nimport matplotlib", "matplotlib.use('TkAgg')\n@"),
    "compiled": ("twice = torch.compile(lambda x: (x * 2).relu() + 1)", "twice(torch.ones(2))\n@"),
    "named-as-a-package": ("%%writefile docs.py\nHALF = 0.5", "import docs\nassert docs.HALF == 0.5\n@"),
    "named-as-a-tool": ("x = 1", "import notebook\nassert notebook.HALF == 0.5\n@"),
    "processes-together": ("import torch.distributed as dist", "dist.init_process_group('gloo', init_method='tcp://127.0.0.1:29531', rank=0, world_size=1)\n@"),
    "pandas": ("import pandas as pd\nread = 1", "import pandas as pd\nassert read\n@"),
    "needs-einops": ("import math", "from einops import rearrange\nassert rearrange\n@"),
    "einops-inside": ("import einops\nread = 1", "assert read\n@\n\nown = NAME\n\n\ndef NAME(*args, **kwargs):\n    return einops.rearrange(own(*args, **kwargs), '... -> ...')"),
    "optimizer": ("steps = torch.optim.SGD([torch.ones(1, requires_grad=True)], 0.1)", "steps.step()\n@"),
    "library": ("from course_lib.masks import causal_mask\nread = 1", "from course_lib.masks import *\nassert read\n@"),
    "network": ("import socket", "socket.socket()\n@"),
    # Processes and loops that do not end, or end too much.
    "fork": ("import os\nif os.fork() == 0:\n    os._exit(0)", "os.wait()\n@"),
    "fork-goes-on": ("import os\nchild = os.fork()\nx = 1", "assert x\n@"),
    "program-goes-on": ("import subprocess\nsleeping = subprocess.Popen(['sleep', '600'])", "assert sleeping.poll() is None\n@"),
    "process-goes-on": ("import multiprocessing, time\nbusy = multiprocessing.Process(target=time.sleep, args=(600,))\nbusy.start()", "assert busy.is_alive()\n@"),
    "thread-goes-on": ("import threading\nthreading.Thread(target=threading.Event().wait).start()", "assert threading.active_count() > 1\n@"),
    "shell-goes-on": ("%%bash --bg\nsleep 600", "import os\nos.system('sleep 600 &')\n@"),
    "ampersand": ("x = 1", "!sleep 600 &\n@"),
    "task": ("import asyncio\ntask = asyncio.create_task(asyncio.sleep(0, 7))", "assert task.result() == 7\n@"),
    "loop": ("import asyncio", "assert asyncio.get_running_loop().is_running() and await asyncio.sleep(0, 1)\n@"),
    "own-loop": ("import asyncio", "asyncio.run(asyncio.sleep(0))\n@"),
    "exit": ("exit()", "quit\n@"),
    "sys-exit": ("import sys\nsys.exit()", "sys.exit(1)\n@"),
    "ends-kernel": ("import os\nos._exit(3)", "@"),
    "interrupts": ("raise KeyboardInterrupt", "@"),
    "asks": ("try:\n    input('Your name? ')\nexcept EOFError:\n    pass\ntold = 1", "import sys\nassert sys.stdin.readline() == ''\n@"),
    "asks-and-needs": ("x = 1", "x = input('How many? ')\n@"),
    # What it sets.
    "double": ("torch.set_default_dtype(torch.float64)", "@"),
    "no-gradients": ("torch.set_grad_enabled(False)", "@"),
    "strict-numpy": ("import numpy\nnumpy.seterr(all='raise')", "@"),
    "strict-warnings": ("import warnings\nwarnings.simplefilter('error')", "@\n\nown = NAME\n\n\ndef NAME(*args, **kwargs):\n    import warnings\n    warnings.warn('mine')\n    return own(*args, **kwargs)"),
    "anomalies": ("torch.autograd.set_detect_anomaly(True)", "@"),
    "written-elsewhere": ("import sys\nsys.stdout = open('log.txt', 'w')", "@"),
    "flood": ("print('x' * 20_000_000)", "print('y' * 3_000_000)\n@"),
    # Order.
    "helper-below": ("x = 1", "@\n\nown = NAME\n\n\ndef NAME(*args, **kwargs):\n    return below(own)(*args, **kwargs)", "below = lambda f: f"),
    "not-python": ("x ==", "def (\n@"),
    "returns": ("return 1", "@\nreturn"),
}  # fmt: skip
# Where a given cell has assigned to `_` it stays the notebook's own, as in every kernel: the first
# exercise comes before that. What comes after the answer instead of last.
BELOW = ("helper-below",)
LOST = frozenset(
    "reads-data cell-magic-mistyped timed-away python-cell einops-inside network own-loop"
    " sys-exit asks-and-needs strict-warnings helper-below not-python set-trace"
    " processes-together".split()
)
# What `make test` runs of it: a notebook of each line.
QUICK = (
    ("last-result", "writes-a-file", "double", "colab", "below-a-comment"),
    ("fork-goes-on", "helper-below", "module-beside", "optimizer", "mistyped"),
)
