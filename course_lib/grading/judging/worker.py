"""The process in which a student's cells run.

It is forked from the warm parent (:mod:`.forkserver_process`) inside the sandbox package
(:mod:`.sandbox_package`), so the ``course_lib`` seen here holds no reference and no check. It reads
requests from a socket and answers them: ``run`` executes a cell in an IPython shell, every other
verb goes to an :class:`~course_lib.checks.answer_host.AnswerHost`.
"""

import contextlib
import json
import os
import random
import socket
import struct
import subprocess
import sys
from typing import Any

import numpy
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from course_lib.checks.answer_host import AnswerHost
from course_lib.checks.forbidden import for_good
from course_lib.checks.protocol import pack, unpack
from course_lib.checks.seen import Recorder
from course_lib.grading.judging import sandbox

MAX_OUTPUT = 2 * 2**20
SHOWN = ("text/plain", "text/html", "text/markdown", "text/latex", "image/png", "image/svg+xml")


class Shell(InteractiveShell):
    """IPython without a kernel: keeps the last exception instead of printing it."""

    raised: tuple[str, str, list[str]] | None = None

    def enable_gui(self, gui: str | None = None) -> None:
        """Accept ``%matplotlib inline``; there is no event loop to integrate."""

    def system(self, cmd: str) -> None:
        """``!command``, by a pipe: there is no terminal here, and maybe no shell.

        What it says is printed; a command that fails or is missing ends no cell, as at home.

        Raises:
            OSError: It is to go on in the background, which IPython refuses at home, too.
        """
        if cmd.rstrip().endswith("&"):
            raise OSError("Background processes not supported.")
        command = ["/bin/sh", "-c", self.var_expand(cmd, depth=1)]
        try:
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT) as process:  # fmt: skip
                assert process.stdout is not None
                said = 0
                while part := os.read(process.stdout.fileno(), 2**16):
                    # A flood is read to its end, so that the command can finish, but not kept.
                    print(part.decode(errors="replace") if said < MAX_OUTPUT else "", end="")
                    said += len(part)
            code = process.returncode
        except OSError as error:
            print(f"{cmd}: {error.strerror}")
            code = 127
        self.user_ns["_exit_code"] = code

    def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
        self.raised = (getattr(etype, "__name__", "Error"), _text(evalue), stb)


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"


def run(shell: Shell, source: str) -> dict[str, Any]:
    """Execute one cell; its outputs as nbformat has them, in JSON inside a byte tensor."""
    shell.raised = None
    # Entered first, so that running the cell does not put IPython's own display hook back.
    with shell.display_trap, capture_output() as captured:
        shell.run_cell(source, store_history=True)
    outputs: list[dict[str, Any]] = []
    for name, said in (("stdout", captured.stdout), ("stderr", captured.stderr)):
        if said:
            outputs.append({"output_type": "stream", "name": name, "text": said})
    for rich in captured.outputs:
        data = {k: v for k, v in rich.data.items() if k in SHOWN and isinstance(v, str)}
        outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
    if shell.raised is not None:
        ename, evalue, stb = shell.raised
        outputs.append({"output_type": "error", "ename": ename, "evalue": evalue, "traceback": stb})
    raw = json.dumps(outputs).encode()
    if len(raw) > MAX_OUTPUT:
        note = f"[{len(raw):,} bytes of output, more than {MAX_OUTPUT:,}: not kept]\n"
        kept = [o for o in outputs if o["output_type"] == "error" and len(str(o)) < 50_000]
        outputs = [{"output_type": "stream", "name": "stdout", "text": note}, *kept]
        raw = json.dumps(outputs).encode()
    return {"outputs": torch.frombuffer(bytearray(raw), dtype=torch.uint8)}


def shell() -> Shell:
    """The one shell of this process."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    found: Shell = Shell.instance(config=config)
    return found


def hide() -> None:
    """Take what serves the judge out of reach of an import, which then finds a copy of no use."""
    for name, module in list(sys.modules.items()):
        package, _, last = name.rpartition(".")
        if package in ("course_lib.checks", "course_lib.grading.judging"):
            del sys.modules[name]
            if vars(sys.modules[package]).get(last) is module:
                delattr(sys.modules[package], last)


def serve(connection: socket.socket, recorder: Recorder | None = None) -> None:
    """Answer requests until the other side hangs up."""
    here = shell()
    sys.modules["__main__"].__dict__.clear()
    sys.modules["__main__"].__dict__.update(__name__="__main__", __builtins__=__builtins__)
    # Afterwards: some of these names are IPython's, and magics rely on them.
    here.reset(new_session=True)
    host = AnswerHost(here.user_ns, recorder)
    hide()
    while True:
        header = _receive(connection, 8)
        if not header:
            return
        frame = _receive(connection, struct.unpack(">Q", header)[0])
        request = unpack(frame)
        try:
            if request.get("verb") == "run":
                source = request["source"].numpy().tobytes().decode(errors="replace")
                with recorder or contextlib.nullcontext():
                    reply = pack(run(here, source))
            else:
                reply = host.answer(frame)
        except (KeyboardInterrupt, MemoryError) as error:
            failure = {"type": type(error).__name__, "message": _text(error), "line": ""}
            reply = pack({"value": None, "error": failure, "after": []})
        connection.sendall(struct.pack(">Q", len(reply)) + reply)


def _receive(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 2**20))
        if not part:
            return b""
        data += part
    return bytes(data)


def main(connection: socket.socket, limits: dict[str, Any]) -> None:
    """Serve on a socket, one thread, within the given limits, with fresh random states."""
    for_good(limits["without"])
    recorder = Recorder(limits["without"]) if limits.get("record") else None
    if recorder:
        recorder.in_threads()
    if limits["without"]:
        # Or an interpreter in which nothing is missing could answer in this one's place.
        sandbox.refuse_processes()
    sandbox.limit(limits["memory"], limits["file_size"], limits["cpu"], limits["processes"])
    # A fork inherits the parent's random states: two students would draw the same numbers.
    random.seed()
    numpy.random.seed()
    torch.seed()
    serve(connection, recorder)
