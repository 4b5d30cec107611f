"""The judge's end of a worker: start it, speak to it within a deadline, end it and its children."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from torch import Tensor

from course_lib.checks.subject import Subject, SubjectLost
from course_lib.checks.wire import MAX_FRAME, WireError, pack, unpack

# Runs in the worker before anything else: only the kit may provide `course_lib`, even where the
# real one is installed in the same environment.
START = """
import os, sys
kit, descriptor, memory, file_size = sys.argv[1], *map(int, sys.argv[2:5])
sys.meta_path = [f for f in sys.meta_path if "editable" not in getattr(f, "__module__", "")
                 and "editable" not in getattr(f, "__name__", "")]
sys.path = [kit] + [p for p in sys.path if not os.path.isdir(os.path.join(p, "course_lib"))]
sys.argv = [""]
from course_lib.grading.worker import main
main(descriptor, memory, file_size)
"""


@dataclass(frozen=True)
class Limits:
    """What one submission may use.

    Args:
        start: Seconds until the worker answers for the first time.
        cell: Seconds for one cell.
        call: Seconds for one call of a check.
        memory: Bytes of address space; torch alone maps about 3 GiB.
        file_size: Bytes of any one file.
    """

    start: float = 120
    cell: float = 60
    call: float = 20
    memory: int = 8 * 2**30
    file_size: int = 64 * 2**20


class WorkerFailed(RuntimeError):
    """A worker that did not even start: a fault of the installation, never of a student."""


class Worker:
    """A running worker process; use it as a context manager.

    Args:
        kit: The folder of :func:`course_lib.grading.kit.build`.
        limits: What it may use.

    Raises:
        WorkerFailed: It does not answer; the message holds what it said on stderr.
    """

    def __init__(self, kit: Path, limits: Limits | None = None) -> None:
        """Start the process and wait until it answers."""
        self.limits = limits or Limits()
        self.scratch = tempfile.TemporaryDirectory(prefix="course-worker-")
        self.last_words = b""
        ours, theirs = socket.socketpair()
        said = Path(self.scratch.name, "start.log")
        with theirs, said.open("wb") as log:
            self.process = subprocess.Popen(
                launch(kit, theirs.fileno(), self.limits),
                pass_fds=[theirs.fileno()],
                cwd=self.scratch.name,
                env=environment(self.scratch.name),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        self.socket = ours
        try:
            self.exchange(pack({"verb": "release"}), self.limits.start)
        except SubjectLost as lost:
            text = self.last_words.decode(errors="replace").strip()
            raise WorkerFailed(f"the grading worker did not start: {lost}\n{text}") from None
        said.unlink()

    def subject(self) -> Subject:
        """The student's functions, as a check sees them."""
        return Subject(lambda frame: self.exchange(frame, self.limits.call))

    def run(self, source: str) -> list[dict[str, Any]]:
        """Execute a cell; its outputs in nbformat's form.

        Raises:
            SubjectLost: The process died, hung or spoke nonsense.
        """
        request = {"verb": "run", "source": as_bytes(source)}
        reply = unpack(self.exchange(pack(request), self.limits.cell))
        if reply.get("error"):
            raise SubjectLost(f"the cell ended with {reply['error'].get('type')}")
        try:
            raw = reply["outputs"]
            assert isinstance(raw, Tensor)
            outputs = json.loads(raw.numpy().tobytes())
            assert isinstance(outputs, list)
        except (KeyError, ValueError, AssertionError):
            raise SubjectLost("the worker sent something that is no output") from None
        return outputs

    def exchange(self, frame: bytes, seconds: float) -> bytes:
        """Send one frame and wait for the reply.

        Raises:
            SubjectLost: As for :meth:`run`; the process is ended.
        """
        deadline = time.monotonic() + seconds
        try:
            self._before(deadline)
            self.socket.sendall(struct.pack(">Q", len(frame)) + frame)
            (size,) = struct.unpack(">Q", self._receive(8, deadline))
            if size > MAX_FRAME:
                raise SubjectLost(f"an answer of {size:,} bytes is too large")
            reply = self._receive(size, deadline)
            unpack(reply)
            return reply
        except SubjectLost:
            self.end()
            raise
        except TimeoutError:
            self.end()
            raise SubjectLost(f"no answer within {seconds:g} seconds") from None
        except WireError as error:
            self.end()
            raise SubjectLost(f"the answer makes no sense: {error}") from None
        except OSError:
            raise SubjectLost(self._obituary()) from None

    def _before(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.socket.settimeout(left)

    def _receive(self, size: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._before(deadline)
            part = self.socket.recv(min(size - len(data), 2**20))
            if not part:
                raise SubjectLost(self._obituary())
            data += part
        return bytes(data)

    def _obituary(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            # It hung up, so it is about to exit: its own exit code says more than our kill.
            self.process.wait(1)
        self.end()
        code = self.process.returncode
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                return f"the process was ended by {signal.Signals(-code).name}"
        return f"the process ended with exit code {code}"

    def end(self) -> None:
        """Kill the process and all it has started, and remove its scratch folder."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.socket.close()
        with contextlib.suppress(OSError):
            self.last_words = Path(self.scratch.name, "start.log").read_bytes()[-4000:]
        with contextlib.suppress(OSError):
            self.scratch.cleanup()

    def __enter__(self) -> Worker:
        """The worker itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process."""
        self.end()


def as_bytes(text: str) -> Tensor:
    """Text as a byte tensor, for text that may be longer than a message's strings."""
    raw = text.encode(errors="surrogatepass")
    return torch.frombuffer(bytearray(raw or b"\n"), dtype=torch.uint8)


def launch(kit: Path, descriptor: int, limits: Limits) -> list[str]:
    """The command that starts a worker: the one place where a sandbox goes around it."""
    numbers = [str(n) for n in (descriptor, limits.memory, limits.file_size)]
    return [sys.executable, "-I", "-X", "utf8", "-c", START, str(kit), *numbers]


def environment(home: str) -> dict[str, str]:
    """The few variables that a worker gets."""
    one = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    return {**one, "HOME": home, "TMPDIR": home, "PATH": path, "MPLBACKEND": "agg",
            "IPYTHONDIR": home, "LANG": "C.UTF-8"}  # fmt: skip
