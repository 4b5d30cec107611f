"""Tries to escape from a worker, as a student might; grading refuses where it can.

Every probe is a few lines that run inside a worker, like a student's, and end with what they got
hold of. The bait lies outside: files in several folders, a process, two servers, a variable.
"""

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from grader.base.course import HERE, course
from grader.judge.channel import Limits, Worker
from grader.judge.forkserver import ForkServer, WorkerFailed
from grader.judge.sandbox import die_with_parent

_SECRET = "COURSE_DOCTOR_SECRET"
# Where nbgrader's exchange is by default, and where the configuration of services may hold secrets.
_PLACES = ("/usr/local/share", "/usr/local/etc", f"{sys.prefix}/etc", f"{sys.base_prefix}/etc")


# Ways out: lines that see a mapping ``bait``, and set ``got`` to something true.
PROBES = {
    "read a file of the grader": "got = bait['secret'] in open(bait['file']).read()",
    "see the exchange, the course, or configuration": (
        "got = [path for path in bait['places'] if os.path.lexists(path)]"
    ),
    "import what the course does not need": (
        "import importlib.metadata as m\n"
        "unwanted = {'nbgrader', 'jupyterlab', 'einops', 'transformers'}\n"
        "got = unwanted & {d.name for d in m.distributions()}"
    ),
    "write into the course folder": "open(bait['folder'] + '/written', 'w'); got = True",
    "change what later submissions import": (
        "import importlib\n"
        "open(importlib.import_module(bait['library']).__file__, 'a').close(); got = True"
    ),
    "signal a process of the grader": "os.kill(bait['process'], 0); got = True",
    "read another process's memory": (
        "got = len(open('/proc/' + str(bait['process']) + '/environ').read())"
    ),
    "see other processes": "got = [p for p in os.listdir('/proc') if p.isdigit()]",
    "connect to a server on this machine": (
        "s = socket.create_connection(('127.0.0.1', bait['port']), 2); got = s.recv(1)"
    ),
    "connect to a local socket by name": (
        "s = socket.socket(socket.AF_UNIX)\n"
        "s.settimeout(2); s.connect('\\0' + bait['socket']); got = s.recv(1)"
    ),
    "connect to the outside": "s = socket.create_connection(('198.51.100.1', 80), 1)\ngot = True",
    "see the grader's environment": "got = bait['secret'] in str(dict(os.environ))",
    "become another user": "os.setresuid(0, 0, 0); os.chown(os.getcwd(), 1, 1); got = True",
    "make namespaces of its own": "got = libc.unshare(0x10000000) == 0",
    "mount something": "got = libc.mount(b'none', os.getcwd().encode(), b'tmpfs', 0, b'') == 0",
    "trace a process": "got = libc.ptrace(16, os.getppid(), 0, 0) == 0",
    # The name can be imported, as notebooks do; what it names is not there.
    "call a reference": "import importlib\ngot = importlib.import_module(bait['bank']).__path__",
    "find the checks on the disk": "got = [p for p in bait['checks'] if os.path.exists(p)]",
    "leave the root folder": "os.chroot('.'); got = True",
}

_FRAME = """
import ctypes, json, os, socket
libc = ctypes.CDLL(None)
bait = json.loads({bait!r})
results = {{}}
for name, code in json.loads({probes!r}).items():
    names = {{"os": os, "socket": socket, "libc": libc, "bait": bait, "got": None}}
    try:
        exec(code, names)
    except BaseException:
        names["got"] = None
    results[name] = bool(names["got"])
print(json.dumps(results))
"""


def examine(forkserver: ForkServer, places: Iterable[Path] = ()) -> dict[str, bool]:
    """Run all probes in one worker, which must not see ``places`` either: whether each got out."""
    with _bait(places) as bait, Worker(forkserver, Limits(cell=60)) as worker:
        frame = _FRAME.format(bait=json.dumps(bait), probes=json.dumps(PROBES))
        outputs = worker.run(frame)
    printed = "".join(str(o.get("text", "")) for o in outputs if o.get("name") == "stdout")
    try:
        results = json.loads(printed)
        return {name: bool(results[name]) for name in PROBES}
    except (ValueError, KeyError):
        raise WorkerFailed(f"the probes of the walls did not run: {str(outputs)[-500:]}") from None


def refuse_escapes(forkserver: ForkServer, places: Iterable[Path] = ()) -> None:
    """Do nothing where the walls hold, else say what got out and what to do."""
    escapes = [name for name, escaped in examine(forkserver, places).items() if escaped]
    if escapes:
        raise WorkerFailed(
            f"a student's code could, on this machine: {'; '.join(escapes)}. Nothing was graded."
            " `course doctor` tells more; --unsafe grades all the same, for code you trust"
        )


def behind_walls(forkserver: ForkServer, places: Iterable[Path] = ()) -> ForkServer:
    """The fork server, if its workers cannot escape or have been allowed to."""
    try:
        if forkserver.walls:
            refuse_escapes(forkserver, places)
    except BaseException:
        forkserver.end()
        raise
    return forkserver


@contextlib.contextmanager
def _bait(places: Iterable[Path]) -> Iterator[dict[str, Any]]:
    secret = secrets.token_hex(8)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="course-doctor-"))
        Path(folder, "secret").write_text(secret)
        planted, prefix = [f"{folder}/secret"], Path(sys.prefix)
        for place in [*map(Path, _PLACES), *places]:
            if not place.is_dir():
                continue
            try:
                with tempfile.NamedTemporaryFile(
                    dir=place, prefix=".course-doctor-", delete=False
                ) as file:
                    planted.append(file.name)
                stack.callback(os.unlink, file.name)
            except OSError:  # Not this account's to write; then what is there already must do.
                # Folders that lead to the interpreter have to be there.
                with contextlib.suppress(OSError):
                    planted += [str(p) for p in place.iterdir() if not prefix.is_relative_to(p)]
        process = subprocess.Popen(
            ["sleep", "600"],
            env={"PATH": os.environ.get("PATH", ""), _SECRET: secret},
            preexec_fn=die_with_parent,
        )
        stack.callback(process.wait)
        stack.callback(process.kill)
        name = f"course-doctor-{secret}"
        port = 0
        for family, address in ((socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_UNIX, "\0" + name)):
            server = stack.enter_context(socket.socket(family))
            server.bind(address)
            server.listen()
            if family == socket.AF_INET:
                port = server.getsockname()[1]
            stack.enter_context(_greeting(server))
        bank = course().root / course().bank.replace(".", "/")
        checks = bank, course().library / "__init__.py", HERE / "grader/checks/report.py"
        yield {
            "secret": secret,
            "file": f"{folder}/secret",
            "folder": folder,
            "places": planted,
            "process": process.pid,
            "port": port,
            "socket": name,
            "library": course().package,
            "bank": course().bank,
            "checks": [*map(str, checks)],
        }


@contextlib.contextmanager
def _greeting(server: socket.socket) -> Iterator[None]:
    """Answer connections to a server, from a process of its own: this one must keep one thread."""
    parent, child = os.getpid(), os.fork()
    if child == 0:
        try:
            die_with_parent()
            while os.getppid() == parent:
                connection, _ = server.accept()
                connection.send(b"!")
                connection.close()
        finally:
            os._exit(0)
    try:
        yield
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
