"""The warm parent: imports once what every submission needs, and forks a worker for each.

A program of its own, started inside the sandbox package: it has never seen a reference or a check,
so its forks cannot find one in their memory. It never runs a line that a student wrote.
"""

import gc
import importlib
import json
import os
import select
import signal
import socket
import threading
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from grader.judge import sandbox


def main(controls: list[int], unneeded: list[str], proc: int | None, own_users: bool) -> None:
    """Serve requests for workers until the grader hangs up.

    A message on one of ``controls``, a socket for each judge, holds limits as JSON and two
    descriptors: the new worker's socket and a pipe for its end. Where something is forbidden,
    what is ``unneeded`` of the packages is gone, too. The rest is what :func:`.sandbox.enclose`
    returned; ``proc`` is None without walls.
    """
    os.umask(0o077)
    _unneeded.extend(unneeded)
    warm()
    # Children end by themselves; whoever waits for one reads the pipe.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    listening = [socket.socket(fileno=number) for number in controls]
    for control in listening:
        control.send(json.dumps({"ready": True, "own_users": own_users}).encode())
    number = 0
    while listening:
        for control in select.select(listening, [], [])[0]:
            message, descriptors, _, _ = socket.recv_fds(control, 4096, 2)
            if not message:
                control.close()
                listening.remove(control)
                continue
            number += 1
            wanted = json.loads(message)
            provide(wanted.pop("needs"))
            if os.fork() == 0:
                try:
                    _worker(descriptors, wanted, proc, number if own_users else -1)
                finally:
                    os._exit(70)
            for descriptor in descriptors:
                os.close(descriptor)


def warm() -> None:
    """Import and touch what the first cells of a submission would, with one thread."""
    gc.disable()  # nothing that an import makes is garbage
    import numpy

    from grader.base.course import course
    from grader.base.tensors import torch
    from grader.checks.operator_recorder import recorder
    from grader.judge.worker import own_modules, shell

    of = course()
    for name in filter(None, [of.check, *(n for n, place in of.answers.items() if n != place)]):
        importlib.import_module(f"{of.package}.{name}")

    if torch:
        torch.set_num_threads(1)
        x = torch.ones(2, 2, requires_grad=True)
        out = (x @ x).softmax(-1)
        torch.autograd.grad(out, [x], [torch.ones_like(out)])  # takes a quarter of a second
        recorder()
    # The first traceback of a process takes as long as ten others.
    shell().run_cell("1 / 0", silent=True)
    own_modules()
    numpy.random.seed()  # imports the generators, as every worker does first of all
    _settle()


def provide(needs: Iterable[str]) -> None:
    """Import what of :data:`.forkserver.COSTLY` a submission is the first to mention."""
    new = [name for name in needs if name in _COSTLY and name not in _provided]
    if not new:
        return
    gc.disable()
    for name in new:
        _provided.add(name)
        _COSTLY[name]()
    _settle()


def _settle() -> None:
    from grader.checks.forbidden import hidden_files, library_code

    gc.unfreeze()
    for look in (library_code, hidden_files):
        look.cache_clear()
        look(*_unneeded)
    gc.freeze()  # or the first collection in each fork would copy every page
    gc.enable()
    if threading.active_count() > 1:
        raise RuntimeError(f"{threading.active_count()} threads before a fork, wanted 1")


def _matplotlib() -> None:
    import matplotlib.pyplot

    from grader.judge.worker import shell

    matplotlib.pyplot.figure()
    matplotlib.pyplot.close("all")
    shell().run_cell("%matplotlib inline\n1 + 1", silent=True)


def _testing() -> None:
    from grader.base.tensors import torch

    if torch:
        torch.testing.assert_close(torch.ones(2), torch.ones(2))


_COSTLY = {"matplotlib": _matplotlib, "torch.testing": _testing}
_provided: set[str] = set()
_unneeded: list[str] = []


def _worker(descriptors: list[int], limits: dict[str, Any], proc: int | None, number: int) -> None:
    """In the first fork: walls, then a fork that waits and one that serves."""
    connection, ending = descriptors
    needed = sorted({2, connection, ending, *([] if proc is None else [proc]), 1024})
    for low, high in pairwise(needed):
        os.closerange(low + 1, high)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if proc is None:
        os.setsid()
        os.makedirs(limits["home"], exist_ok=True)
        os.chdir(limits["home"])
    else:
        from grader.checks.forbidden import hidden_files

        covered = hidden_files(*_unneeded) if limits["without"] else {}
        sandbox.confine(proc, number, limits["scratch"], covered)
        if os.fork():
            os._exit(0)
    _guard(connection, ending, limits, walls=proc is not None)


def _guard(connection: int, ending: int, limits: dict[str, Any], *, walls: bool) -> None:
    """As the first process of the namespace: start the worker and tell how it ended."""
    if walls:
        sandbox.surrender()
    link = socket.socket(fileno=connection)
    # The kernel adds this process's number as the judge sees it, which no worker can forge later.
    link.send(b"h")
    if link.recv(1) != b"g":
        os._exit(0)
    child = os.fork()
    if child == 0:
        os.close(ending)
        # Output that the student's code writes past Python is nobody's to read.
        os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        from grader.judge.worker import main as work

        work(link, limits, _unneeded, walls=walls)
        os._exit(0)
    link.close()
    while True:
        ended, status = os.wait()
        if ended == child:
            os.write(ending, str(os.waitstatus_to_exitcode(status)).encode())
            # Without walls nothing else ends what the worker has left running.
            if not walls:
                os.killpg(0, signal.SIGKILL)
            os._exit(0)
