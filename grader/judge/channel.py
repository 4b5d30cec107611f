"""The judge's end of a worker: speak to it within a deadline, end it and its children."""

import contextlib
import json
import os
import select
import signal
import struct
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass

from nbformat import NotebookNode

from grader.checks.answer_proxy import AnswerLost, AnswerProxy
from grader.checks.protocol import MAX_FRAME, ProtocolError, pack, unpack, weight
from grader.intake.parsing import load_json
from grader.judge.forkserver import ForkServer
from grader.judge.outputs import clean_outputs
from grader.judge.session import Killed

# Outputs that a worker sends are at most half of this, unless it has been tampered with.
MAX_OUTPUTS = 4 * 2**20
# All replies to the checks of one exercise, which are kept until it is graded. The most is sent in
# the training of `transformer.decoder_step`: a test holds it below two thirds of this.
MAX_REPLIES = 32 * 2**20


@dataclass(frozen=True)
class Limits:
    """Resources of one submission."""

    cell: float = 60  # seconds for one cell
    call: float = 20  # seconds for one call of a check
    whole: float = 900  # seconds for the whole submission
    memory: int = 8 * 2**30  # bytes of address space of any process; torch alone maps about 3 GiB
    file_size: int = 64 * 2**20  # bytes of any one file
    scratch: int = 256 * 2**20  # bytes of all files together, which lie in memory
    cpu: int = 300  # seconds of processor time
    processes: int = 128  # processes and threads at the same time


class Worker(AbstractContextManager["Worker"]):
    """A running worker process; use it as a context manager.

    It finds ``needs`` imported (of :data:`.forkserver.COSTLY`) and lacks what is in ``without`` (of
    :data:`grader.checks.forbidden.FORBIDDEN`); where something is lacking, it keeps a record of
    torch's operators that run. ``beside`` are files in the folder where it starts: their text by
    name.
    """

    def __init__(
        self,
        forkserver: ForkServer,
        limits: Limits | None = None,
        judge: int = 0,
        needs: Iterable[str] = (),
        without: Iterable[str] = (),
        beside: Mapping[str, str] | None = None,
    ) -> None:
        self.limits = limits or Limits()
        wanted = asdict(self.limits)
        caps = {k: v for k, v in wanted.items() if k not in ("cell", "call", "whole")}
        self.socket, self.pid, self.ended = forkserver.fork(caps, judge, needs, without)
        self.walls = forkserver.walls
        self.alive = True
        self.until = float("inf")
        if beside:
            files = json.dumps(dict(beside)).encode()
            self.exchange(pack({"verb": "beside", "source": files}), self.limits.call)

    def proxy(self) -> AnswerProxy:
        """The student's functions, as the checks of one exercise see them."""
        room = MAX_REPLIES

        def exchange(frame: bytes) -> bytes:
            nonlocal room
            reply = self.exchange(frame, self.limits.call)
            room -= weight(reply)
            if room < 0:
                self.end()
                raise AnswerLost("its answers are too large to be kept while they are compared")
            return reply

        return AnswerProxy(exchange)

    def run(self, source: str) -> list[NotebookNode]:
        """Execute a cell; its outputs in nbformat's form, and nothing that is not."""
        request = {"verb": "run", "source": source.encode(errors="surrogatepass")}
        reply = unpack(self.exchange(pack(request), self.limits.cell))
        if error := reply.get("error"):
            kind = error.get("type") if isinstance(error, dict) else error
            raise AnswerLost(f"the cell ended with {kind!s:.100}")
        raw = reply.get("outputs")
        if isinstance(raw, bytes) and len(raw) <= MAX_OUTPUTS:
            with contextlib.suppress(ValueError, RecursionError):
                outputs = load_json(raw)
                if isinstance(outputs, list):
                    return clean_outputs(outputs)
        self.end()
        raise AnswerLost("the worker sent something that is no output")

    def exchange(self, frame: bytes, seconds: float) -> bytes:
        """Send one frame and wait for the reply; a process that is lost is ended."""
        deadline = min(time.monotonic() + seconds, self.until)
        try:
            self._before(deadline)
            self.socket.sendall(struct.pack(">Q", len(frame)) + frame)
            (size,) = struct.unpack(">Q", self._receive(8, deadline))
            if size > MAX_FRAME:
                raise AnswerLost(f"an answer of {size:,} bytes is too large")
            reply = self._receive(size, deadline)
            unpack(reply)
            return reply
        except AnswerLost:
            self.end()
            raise
        except TimeoutError:
            self.end()
            if deadline == self.until:
                raise AnswerLost(f"all {self.limits.whole:g} seconds were used up") from None
            raise AnswerLost(f"no answer within {seconds:g} seconds") from None
        except ProtocolError as error:
            self.end()
            raise AnswerLost(f"the answer makes no sense: {error}") from None
        except OSError:
            raise self._obituary() from None

    def _before(self, deadline: float) -> None:
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        self.socket.settimeout(seconds)

    def _receive(self, size: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._before(deadline)
            part = self.socket.recv(min(size - len(data), 2**20))
            if not part:
                raise self._obituary()
            data += part
        return bytes(data)

    def _obituary(self) -> AnswerLost:
        # It hung up, so it is about to end: its own exit code says more than our kill.
        ready = select.select([self.ended], [], [], 1)[0] if self.alive else []
        status = os.read(self.ended, 16).decode() if ready else ""
        self.end()
        if not status:
            return Killed("the process was ended, with all it had started")
        code = int(status)
        if code == -signal.SIGKILL:
            return Killed("the process was ended by SIGKILL")
        if code < 0:
            with contextlib.suppress(ValueError):
                return AnswerLost(f"the process was ended by {signal.Signals(-code).name}")
        return AnswerLost(f"the process ended with exit code {code}")

    def end(self) -> None:
        """Kill the process and all it has started, and with it its scratch folder."""
        if not self.alive:
            return
        self.alive = False
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self.walls:
                # The first process of a namespace takes all others with it.
                os.kill(self.pid, signal.SIGKILL)
            else:
                os.killpg(self.pid, signal.SIGKILL)
        self.socket.close()
        os.close(self.ended)

    def __exit__(self, *_: object) -> None:
        self.end()
