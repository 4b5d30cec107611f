"""One call within caps on memory and processor time, in a process of its own.

Counting operations can be dodged. A *size probe* cannot: its input is so large that the forbidden
way exceeds a cap at least tenfold, and every good way stays under a fifth of it. The call runs in a
fork, so that neither a student's kernel nor a worker is harmed by a cap that strikes.
"""

import contextlib
import ctypes
import faulthandler
import gc
import io
import mmap
import os
import select
import signal
import struct
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, NoReturn

from grader.base.tensors import Tensor, torch
from grader.checks.protocol import TENSORS, items

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

_SLACK = 5  # seconds on the wall beyond twice the processor time
_MIB = 2**20
_M_MMAP_THRESHOLD = -3
# Looked up now: where something is forbidden, no function of a library is any more.
_mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
# In this kind of call no thread of the notebook's, which has no cap, gets a turn.
_poll = ctypes.PyDLL(None).poll if os.name == "posix" else None
# MiB that libraries may take on the way, or a notebook may hold.
_ROOM = 128
_started: list[int] = []
if torch:
    # From before an answer could put something in its place.
    _getitem = Tensor.__getitem__
_OUT_OF_MEMORY = ("allocate memory", "Cannot allocate", "not enough memory", "bad_alloc")


class End(StrEnum):
    """Ends of a call that gave no answer, by the names under which a check hears of them."""

    MEMORY = "TooMuchMemory"  # it ran into the cap on memory
    TIME = "OutOfTime"  # what it would have taken of memory is not known
    STARVED = "Starved"  # before it had its processor time: too much else runs, or it waits
    UNCAPPED = "CannotCap"  # nothing was run, since this system has no caps that hold
    HELD = "Held"  # the process held so much before that nothing is known of the call
    DIED = "Unanswered"  # its process ended by itself


# These tell nothing of what it would have taken.
UNTOLD = (End.TIME, End.STARVED, End.UNCAPPED, End.HELD)


class Unanswered(RuntimeError):
    """A call that did not come to an answer."""

    def __init__(self, end: End, says: str) -> None:
        super().__init__(says)
        self.end = end


class Bounded:
    """A call in a fork of this process, if it comes to an end within the caps.

    What ``compute`` returns answers one question, of which nothing is known in the fork until then.
    ``memory`` are MiB of address space beyond what this process has already, ``cpu`` seconds of one
    thread, at most 7: on the wall it may take twice as long and 5 seconds more, which has to be
    less than a worker has for a call. Memory that was mapped before counts once it is touched.
    """

    def __init__(
        self, compute: Callable[[], Callable[[bytes], bytes]], *, memory: int, cpu: int
    ) -> None:
        if not _possible():
            raise Unanswered(End.UNCAPPED, "caps on a call need a system that forks safely")
        self.memory, self.cpu = memory, cpu
        self.reading, writing = os.pipe()
        asked, self.asking = os.pipe()
        sys.stdout.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about threads, of which the child uses none
            self.child = os.fork()
        if self.child == 0:
            os.close(self.asking)
            self._compute(compute, asked, writing)
        os.close(writing)
        os.close(asked)
        self.patience = 2 * cpu + _SLACK
        self.deadline = time.monotonic() + self.patience
        self.said = self._read(1)
        if self.said != b".":
            self.end()

    def _compute(
        self, compute: Callable[[], Callable[[bytes], bytes]], asked: int, writing: int
    ) -> NoReturn:
        """In the fork: never returns, and runs nothing that the parent would run at its end."""
        status = 1
        try:
            # The threads of the parent are not here, and waiting for them would take for ever.
            if torch:
                torch.set_num_threads(1)
            # Garbage of the parent stays there: its finalizers would run in the midst of
            # the call, and one that parses (as a traceback does) spoils a parse that is under way.
            gc.freeze()
            sys.stdout = sys.stderr = io.StringIO()
            faulthandler.disable()  # it would write past them, of an end that the parent tells
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGXCPU, signal.SIG_DFL)
            # Large blocks on their own: aligned ones leave holes in the heap, of use to nobody.
            if _mallopt:
                _mallopt(_M_MMAP_THRESHOLD, _MIB // 4)
            space = _space_in_use() + self.memory * _MIB
            # At the soft cap on time comes a signal of its own, at the hard one the end.
            caps = (
                (resource.RLIMIT_AS, space, space),
                (resource.RLIMIT_CPU, self.cpu, self.cpu + 1),
            )
            for what, soft, most in caps:
                hard = resource.getrlimit(what)[1]
                most = most if hard == resource.RLIM_INFINITY else min(most, hard)
                resource.setrlimit(what, (min(soft, most), most))
            if not _capped(self.memory + 2):
                os.write(writing, b"?")
            else:
                before = _resident()
                try:
                    finish = compute()
                except MemoryError:
                    os.write(writing, b"m")
                else:
                    self._answer(finish, asked, writing, before)
            status = 0
        finally:
            os._exit(status)

    def _answer(
        self, finish: Callable[[bytes], bytes], asked: int, writing: int, before: int
    ) -> None:
        """In the fork, when its call is over: tell what it took, and then what is asked of it."""
        if _resident() - before > self.memory + _ROOM:
            os.write(writing, b"m")
            return
        if _started and before - _started[0] > 2 * max(self.memory, _ROOM):
            os.write(writing, b"h")
            return
        # In another fork no thread and no alarm of the answer's is left to see the question.
        child = os.fork()
        if child:
            os.write(writing, b".")
            os.waitpid(child, 0)
            return
        sys.settrace(None)
        sys.setprofile(None)
        gc.disable()
        with os.fdopen(asked, "rb") as file:
            view = memoryview(b"=" + finish(file.read()))
        while view:
            view = view[os.write(writing, view) :]

    def ask(self, question: bytes) -> bytes:
        """The answer to the question."""
        with contextlib.suppress(OSError), os.fdopen(self.asking, "wb") as file:
            file.write(question)
        content = self._read()
        self.end()
        if content[:1] != b"=":
            raise Unanswered(End.DIED, "its process ended before it answered")
        return content[1:]

    def _read(self, most: int = -1) -> bytes:
        content = bytearray()
        while most < 0 or len(content) < most:
            seconds = self.deadline - time.monotonic()
            wanted = ctypes.create_string_buffer(struct.pack("ihh", self.reading, select.POLLIN, 0))
            assert _poll
            if seconds <= 0 or not (ready := _poll(wanted, 1, int(1000 * seconds))):
                return b""
            if ready < 0:
                continue  # a signal
            piece = os.read(self.reading, most if most > 0 else _MIB)
            if not piece:
                break
            content += piece
        return bytes(content)

    def end(self) -> None:
        """End the fork; raises why there is nothing to ask, if so."""
        late = time.monotonic() >= self.deadline
        os.close(self.reading)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.child, signal.SIGKILL)
        _, status, used = os.wait4(self.child, 0)
        if self.said == b".":
            return
        os.close(self.asking)
        if self.said == b"m":
            raise Unanswered(End.MEMORY, f"took more than {self.memory} MiB of memory")
        if self.said == b"h":
            raise Unanswered(End.HELD, "its process held too much memory before")
        if self.said == b"?":
            raise Unanswered(End.UNCAPPED, "this system does not hold a process to its caps")
        ended = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU
        if ended or used.ru_utime + used.ru_stime >= self.cpu:
            raise Unanswered(End.TIME, f"not finished in {self.cpu} seconds of processor time")
        if late:
            raise Unanswered(
                End.STARVED,
                f"ended after {self.patience} seconds without {self.cpu} seconds of processor time",
            )
        end = os.waitstatus_to_exitcode(status)
        how = f"signal {-end}" if end < 0 else f"status {end}"
        raise Unanswered(End.DIED, f"its process ended before it answered ({how})")


def begin() -> None:
    """Remember what this process holds now; what it holds beyond that is counted later."""
    _started[:] = [_resident()]


def _resident() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _space_in_use() -> int:
    """Bytes of address space of this process, to a MiB: a worker has no /proc to read it from."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    enough, little = 2**47 if hard == resource.RLIM_INFINITY else hard, 0
    before = (soft, hard)
    while enough - little > _MIB:
        # Counted without the cap: Python's own numbers may be what there is no memory for.
        middle = (enough + little) // 2
        cap = (middle, hard)
        try:
            resource.setrlimit(resource.RLIMIT_AS, cap)
            mmap.mmap(-1, mmap.PAGESIZE, access=mmap.ACCESS_WRITE).close()
            fits = True
        except (OSError, MemoryError):
            fits = False
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)
        enough, little = (middle, little) if fits else (enough, middle)
    return enough


def _possible() -> bool:
    """True if this system can fork a process that has used threads; macOS's libraries cannot."""
    return resource is not None and hasattr(os, "fork") and sys.platform != "darwin"


def _capped(memory: int) -> bool:
    """Tell whether so many MiB cannot be had: some systems take a cap and forget it."""
    try:
        mmap.mmap(-1, memory * _MIB, access=mmap.ACCESS_WRITE).close()
    except (OSError, MemoryError):
        return True
    return False


def out_of_memory(error: BaseException) -> bool:
    """Tell whether an exception, torch's own too, says that there was no memory."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(text in str(error) for text in _OUT_OF_MEMORY)
    )


def part(value: Any, keep: Sequence[Sequence[int]]) -> Any:
    """The slice of every tensor in a value: first and one past the last of each leading axis."""
    if type(value) in TENSORS:
        return _getitem(value, tuple(slice(*pair) for pair in keep[: value.dim()]))
    values = items(value)
    if values is None:
        return value
    parts = [part(item, keep) for item in values]
    return parts if issubclass(type(value), list) else tuple(parts)
