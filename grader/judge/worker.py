"""The process in which a student's cells run.

It is forked from the warm parent inside the sandbox package (:mod:`.sandbox_package`), so the
library seen here holds no reference and no check. Of the requests on its socket ``run`` executes a
cell in an IPython shell; the others go to an :class:`~grader.checks.answer_host.AnswerHost`.
"""

import asyncio
import builtins
import contextlib
import getpass
import io
import json
import os
import random
import re
import socket
import struct
import subprocess
import sys
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy
from ipykernel.zmqshell import ZMQInteractiveShell
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import CapturingDisplayPublisher
from traitlets import Type
from traitlets.config import Config

from grader.base.tensors import torch
from grader.checks import probe
from grader.checks.answer_host import AnswerHost
from grader.checks.forbidden import for_good, refuse_machine_code
from grader.checks.operator_recorder import recorder
from grader.checks.protocol import pack, unpack
from grader.checks.shell import count
from grader.judge import sandbox

MAX_OUTPUT = 2 * 2**20
# Message of an error that comes of what has been taken away.
_GONE = re.compile(
    r"may not be used here|len\(\) takes|has no len\(\)|Unable to cast \d+ to"
    r"|Operation not permitted"
)
SHOWN = ("text/plain", "text/html", "text/markdown", "text/latex", "image/png", "image/svg+xml")


class Screen(io.StringIO):
    """Output stream of a cell; what is written beyond a cap is not kept."""

    encoding = "UTF-8"

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self.descriptor = descriptor

    def fileno(self) -> int:
        """A descriptor for whoever wants one."""
        return self.descriptor

    def write(self, text: str) -> int:
        """Take all of it, and keep what there is room for."""
        return super().write(text) if self.tell() < MAX_OUTPUT else len(text)

    def close(self) -> None:
        """Stay open: there is one for all cells."""

    def taken(self) -> str:
        """Text written since it was last asked."""
        text = self.getvalue()
        self.seek(0)
        self.truncate()
        return text


class Result(DisplayHook):
    """Keeps the value of a cell with what it has displayed."""

    def write_output_prompt(self) -> None:
        """There is none."""

    def write_format_data(self, format_dict: dict[str, Any], md_dict: Any = None) -> None:
        """Keep it."""
        shell: Any = self.shell
        shell.display_pub.outputs.append({"data": format_dict})


class Shell(ZMQInteractiveShell):
    """A kernel's shell without the kernel: what it would publish is kept."""

    displayhook_class = Type(Result)  # type: ignore[assignment]
    display_pub_class = Type(CapturingDisplayPublisher)  # type: ignore[assignment]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.raised: list[dict[str, Any]] = []
        self.screens = {"stdout": Screen(1), "stderr": Screen(2)}
        # Questions of a notebook that finds out where it runs.
        type(self).__name__, type(self).__module__ = "ZMQInteractiveShell", "ipykernel.zmqshell"
        self.lacking = self.spoilt = False
        count(self, self.excused)

    def excused(self, error: BaseException) -> bool:
        """Tell whether a statement has failed for want of what is gone, or after one that has.

        A comparison with it shall end only itself, and what came of it may be missing later.
        """
        found: BaseException | None = error
        while self.lacking and found and not self.spoilt:
            self.spoilt = bool(_GONE.search(_text(found)))
            found = found.__cause__ or found.__context__
        return self.spoilt

    def enable_gui(self, gui: str | None = None) -> None:
        """Accept ``%matplotlib inline``; there is no event loop to integrate."""

    def system(self, cmd: str) -> None:
        """``!command``, by a pipe: there is no terminal here, and maybe no shell.

        What it says is printed; a command that fails or is missing ends no cell, as at home. One
        that is to go on in the background is refused, as IPython does at home, too.
        """
        if cmd.rstrip().endswith("&"):
            raise OSError("Background processes not supported.")
        command = ["/bin/sh", "-c", self.var_expand(cmd, depth=1)]
        try:
            with subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            ) as process:
                assert process.stdout is not None
                # A flood is read to its end, so that the command can finish, but not kept.
                while part := os.read(process.stdout.fileno(), 2**16):
                    print(part.decode(errors="replace"), end="")
            code = process.returncode
        except OSError as error:
            print(f"{cmd}: {error.strerror}")
            code = 127
        self.user_ns["_exit_code"] = code

    def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
        name = getattr(etype, "__name__", "Error")
        self.raised.append(
            {"output_type": "error", "ename": name, "evalue": _text(evalue), "traceback": stb}
        )

    async def cell(self, source: str) -> list[dict[str, Any]]:
        """Run one cell as a kernel does, inside a loop; its outputs as nbformat has them."""
        before = None
        try:
            cell = self.transform_cell(source)
        except Exception:
            cell, before = source, sys.exc_info()
        result = None
        try:
            result = await self.run_cell_async(
                source, store_history=True, transformed_cell=cell, preprocessing_exc_tuple=before
            )
            # A kernel's loop goes on with what a cell has left to it.
            for _ in range(100 * (len(asyncio.all_tasks()) > 1)):
                await asyncio.sleep(0)
        except BaseException:
            self.showtraceback(running_compiled_code=True)
        finally:
            self.events.trigger("post_execute")
            self.events.trigger("post_run_cell", result)
        outputs: list[dict[str, Any]] = []
        for name, screen in self.screens.items():
            if said := screen.taken():
                outputs.append({"output_type": "stream", "name": name, "text": said})
        shown: Any = self.display_pub
        for rich in shown.outputs:
            data = {k: v for k, v in rich["data"].items() if k in SHOWN and isinstance(v, str)}
            outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
        outputs += self.raised
        self.raised, shown.outputs = [], []
        return outputs


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"


def packed(outputs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Outputs in JSON, as bytes; of too many only the errors."""
    raw = json.dumps(outputs).encode()
    if len(raw) > MAX_OUTPUT:
        note = f"[{len(raw):,} bytes of output, more than {MAX_OUTPUT:,}: not kept]\n"
        errors = [o for o in outputs if o["output_type"] == "error" and len(str(o)) < 50_000]
        outputs = [{"output_type": "stream", "name": "stdout", "text": note}, *errors[:20]]
        raw = json.dumps(outputs).encode()
    return {"outputs": raw}


def shell() -> Shell:
    """The one shell of this process."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    # With its surroundings each traceback would take as long as ten cells.
    config.InteractiveShell.xmode = "Plain"
    instance: Shell = Shell.instance(config=config)
    extensions: Any = instance.extension_manager
    extensions.load_extension("storemagic")
    return instance


class _Settings:
    def __getattr__(self, name: str) -> bool:
        """None of the compiler's settings is on."""
        return False


class AsWritten(ModuleType):
    """In the place of torch's compiler, much of which is among what is gone: does nothing."""

    config = _Settings()
    compiled_autograd = SimpleNamespace(_disable=contextlib.nullcontext)

    def __getattr__(self, name: str) -> Any:
        """A decorator, with or without arguments."""
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda fn=None, *_, **__: fn if callable(fn) else lambda function: function


def as_written() -> None:
    """Let what is compiled run as it is written."""
    compiler: Any = AsWritten("torch._dynamo")
    compiler.set_stance = lambda *_, **__: contextlib.nullcontext()
    sys.modules[compiler.__name__] = torch._dynamo = compiler
    torch.compile = compiler.optimize
    torch.cond = lambda pred, true_fn, false_fn, operands=(): (true_fn if pred else false_fn)(
        *operands
    )
    # Deterministic algorithms are a setting of the compiler's, too.
    for name in ("torch._inductor", "torch._inductor.config"):
        sys.modules[name] = AsWritten(name)


@cache
def own_modules() -> tuple[str, ...]:
    """Names of the modules that serve the judge: looked for once, before workers are forked."""
    packages = ("grader.checks", "grader.judge")
    return tuple(name for name in sys.modules if name.rpartition(".")[0] in packages)


def hide() -> None:
    """Take what serves the judge out of reach of an import, which then finds a copy of no use."""
    for name in own_modules():
        package, _, last = name.rpartition(".")
        module = sys.modules.pop(name)
        if vars(sys.modules[package]).get(last) is module:
            delattr(sys.modules[package], last)


async def serve(connection: socket.socket, gone: Sequence[str], walls: Any) -> None:
    """Answer requests until the other side hangs up; what is ``gone`` here has been taken away."""
    here, own = shell(), os.getpid()
    here.lacking = bool(gone)
    sys.modules["__main__"].__dict__.clear()
    sys.modules["__main__"].__dict__.update(__name__="__main__", __builtins__=builtins)
    # Afterwards: some of these names are IPython's, and magics rely on them.
    here.reset(new_session=True)
    here.raised.clear()
    sys.stdout, sys.stderr = here.screens.values()
    recorded = recorder() if gone else dict
    host = AnswerHost(here.user_ns, recorded, gone=gone, walls=walls)
    hide()
    while True:
        header = _receive(connection, 8)
        if not header:
            return
        frame = _receive(connection, struct.unpack(">Q", header)[0])
        request = unpack(frame)
        try:
            if request.get("verb") in ("run", "beside"):
                text = request["source"].decode(errors="replace")
            if request.get("verb") == "run":
                reply = pack(packed(await here.cell(text)))
            elif request.get("verb") == "beside":
                for name, module in json.loads(text).items():
                    Path(name).write_text(module, encoding="utf-8")
                reply = pack(packed([]))
            else:
                reply = host.reply(request)
        except (KeyboardInterrupt, MemoryError) as error:
            failure = {"type": type(error).__name__, "message": _text(error), "line": ""}
            reply = pack({"value": None, "error": failure, "after": []})
        if os.getpid() != own:
            os._exit(0)  # a process that a cell has made and not ended: nobody waits for it
        connection.sendall(struct.pack(">Q", len(reply)) + reply)


def _receive(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 2**20))
        if not part:
            return b""
        data += part
    return bytes(data)


def main(
    connection: socket.socket, limits: dict[str, Any], unneeded: Collection[str], *, walls: bool
) -> None:
    """Serve on a socket, one thread, within the given limits, with fresh random states."""
    for_good(limits["without"], *unneeded)
    if limits["without"]:
        as_written()
        # Those of the shell itself are methods; the packages of all others are gone.
        after = shell().events.callbacks["post_execute"]
        after[:] = [function for function in after if hasattr(function, "__self__")]
        # Or an interpreter in which nothing is missing could answer in this one's place.
        sandbox.refuse_programs()
        refuse_machine_code()
    sandbox.limit(limits["memory"], limits["file_size"], limits["cpu"], limits["processes"])
    # A fork inherits the parent's random states: two students would draw the same numbers.
    random.seed()
    numpy.random.seed()
    if torch:
        torch.default_generator.seed()
    # What a kernel's process has, beside its shell.
    os.getlogin = getpass.getuser
    sys.argv = ["ipykernel_launcher.py", "-f", "kernel.json"]
    # A notebook can import what it writes; of names that are there twice Python's own counts.
    packages = (n for n, path in enumerate(sys.path) if Path(path).name == "site-packages")
    sys.path.insert(next(packages, len(sys.path)), "")
    probe.begin()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    around = sandbox if walls else None
    loop.run_until_complete(serve(connection, limits["without"], around))
