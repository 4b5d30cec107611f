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
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NoReturn

import torch

from course_lib.checks.protocol import TENSORS, items

_SLACK = 5  # seconds on the wall beyond twice the processor time
_MIB = 2**20
_M_MMAP_THRESHOLD = -3
_OUT_OF_MEMORY = ("allocate memory", "Cannot allocate", "not enough memory", "bad_alloc")


class Unanswered(RuntimeError):
    """A call that did not come to an end."""


class TooMuchMemory(Unanswered):
    """It ran into the cap on memory."""


class OutOfTime(Unanswered):
    """It was ended when its time was over; what it would have taken of memory is not known."""


class Starved(Unanswered):
    """It was ended before it had had its processor time: too much else runs, or it waits."""


class CannotCap(Unanswered):
    """Nothing was run, since this system has no caps that hold."""


# Ends of a call that tell nothing of what it would have taken.
UNTOLD = tuple(kind.__name__ for kind in (OutOfTime, Starved, CannotCap))


def bounded(compute: Callable[[], bytes], *, memory: int, cpu: int) -> bytes:
    """What ``compute`` returns in a fork of this process, if that can be had within the caps.

    ``memory`` are MiB of address space beyond what this process has already, ``cpu`` seconds of one
    thread, at most 7: on the wall it may take twice as long and 5 seconds more, which has to be
    less than a worker has for a call.
    """
    if not _possible():
        raise CannotCap("caps on a call need a system that forks safely")
    reading, writing = os.pipe()
    sys.stdout.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about threads, of which the child uses none
        try:
            child = os.fork()
        except PermissionError:
            # Where an answer may make no process, the check may not either; such a process lives
            # for one check only, so that the caps may strike it.
            os.close(reading)
            os.close(writing)
            return _within(compute, memory, cpu)
    if child == 0:
        _compute(compute, writing, memory, cpu)
    os.close(writing)
    patience = 2 * cpu + _SLACK
    deadline = time.monotonic() + patience
    try:
        content = _everything(reading, deadline)
    finally:
        late = time.monotonic() >= deadline
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status, used = os.wait4(child, 0)
    if content[:1] == b"=":
        return content[1:]
    if content[:1] == b"m":
        raise TooMuchMemory(f"took more than {memory} MiB of memory")
    if content[:1] == b"?":
        raise CannotCap("this system does not hold a process to its caps")
    ended = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU
    if ended or used.ru_utime + used.ru_stime >= cpu:
        raise OutOfTime(f"not finished in {cpu} seconds of processor time")
    if late:
        raise Starved(f"ended after {patience} seconds without {cpu} seconds of processor time")
    how = f"signal {-end}" if (end := os.waitstatus_to_exitcode(status)) < 0 else f"status {end}"
    raise Unanswered(f"its process ended before it answered ({how})")


def _everything(descriptor: int, deadline: float) -> bytes:
    content = bytearray()
    while (seconds := deadline - time.monotonic()) > 0:
        if not select.select([descriptor], [], [], seconds)[0]:
            break
        piece = os.read(descriptor, _MIB)
        if not piece:
            return bytes(content)
        content += piece
    return b""


def _compute(compute: Callable[[], bytes], writing: int, memory: int, cpu: int) -> NoReturn:
    """In the fork: never returns, and runs nothing that the parent would run at its end."""
    import resource

    status = 1
    try:
        # The threads of the parent are not here, and waiting for them would take for ever.
        torch.set_num_threads(1)
        # What the parent has left to collect stays there: its finalizers would run in the midst of
        # the call, and one that parses (as a traceback does) spoils a parse that is under way.
        gc.freeze()
        sys.stdout = sys.stderr = io.StringIO()
        faulthandler.disable()  # it would write past them, of an end that the parent tells
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        # Large blocks on their own: aligned ones leave holes in the heap that nothing fits into.
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _MIB // 4)
        space = _space_in_use() + memory * _MIB
        # At the soft cap on time comes a signal of its own, at the hard one the end.
        caps = ((resource.RLIMIT_AS, space, space), (resource.RLIMIT_CPU, cpu, cpu + 1))
        for what, soft, most in caps:
            hard = resource.getrlimit(what)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(what, (min(soft, most), most))
        try:
            answer = b"=" + compute() if _capped(memory + 2) else b"?"
        except MemoryError:
            answer = b"m"
        view = memoryview(answer)
        while view:
            view = view[os.write(writing, view) :]
        status = 0
    finally:
        os._exit(status)


def _within(compute: Callable[[], bytes], memory: int, cpu: int) -> bytes:
    """In this process itself; beyond the cap on time a signal raises."""
    import resource

    spent = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(spent.ru_utime + spent.ru_stime) + 1 + cpu
    caps = {resource.RLIMIT_AS: _space_in_use() + memory * _MIB, resource.RLIMIT_CPU: seconds}
    before = {what: resource.getrlimit(what) for what in caps}
    for what, value in caps.items():
        hard = before[what][1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (value, hard))

    def over(number: int, frame: FrameType | None) -> NoReturn:
        raise OutOfTime(f"not finished in {cpu} seconds of processor time")

    handled = signal.signal(signal.SIGXCPU, over)
    try:
        return compute()
    except MemoryError:
        raise TooMuchMemory(f"took more than {memory} MiB of memory") from None
    finally:
        for what, pair in before.items():
            resource.setrlimit(what, pair)
        signal.signal(signal.SIGXCPU, handled)


def _space_in_use() -> int:
    """Bytes of address space of this process, to a MiB: a worker has no /proc to read it from."""
    import mmap
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    enough, little = 2**47 if hard == resource.RLIM_INFINITY else hard, 0
    before = (soft, hard)
    while enough - little > _MIB:
        # Counted without the cap: Python's own numbers may be what there is no memory for.
        middle = (enough + little) // 2
        cap = (middle, hard)
        try:
            resource.setrlimit(resource.RLIMIT_AS, cap)
            mmap.mmap(-1, mmap.PAGESIZE).close()
            fits = True
        except (OSError, MemoryError):
            fits = False
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)
        enough, little = (middle, little) if fits else (enough, middle)
    return enough


def _possible() -> bool:
    """Whether this system can fork a process that has used threads; macOS's libraries cannot."""
    try:
        import resource  # noqa: F401
    except ImportError:
        return False
    return hasattr(os, "fork") and sys.platform != "darwin"


def _capped(memory: int) -> bool:
    """Whether so many MiB cannot be had: some systems take a cap and forget it."""
    import mmap

    try:
        mmap.mmap(-1, memory * _MIB).close()
    except (OSError, MemoryError):
        return True
    return False


def out_of_memory(error: BaseException) -> bool:
    """Whether an exception, torch's own too, says that there was no memory."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(text in str(error) for text in _OUT_OF_MEMORY)
    )


def places(
    draw: Callable[[int, int], int], axes: Sequence[tuple[int, ...]], number: int
) -> list[tuple[slice, ...]]:
    """Slices of a large tensor, as :meth:`course_lib.checks.trial.Trial.slices` gives them."""

    def one(length: int, wide: int, step: int = 1) -> slice:
        first = step * draw(0, (length - wide) // step)
        return slice(first, first + wide)

    many = number if any(length > wide for length, wide, *_ in axes) else 1
    return [tuple(one(*axis) for axis in axes) for _ in range(many)]


def part(value: Any, keep: Sequence[Sequence[int]]) -> Any:
    """The slice of every tensor in a value: first and one past the last of each leading axis."""
    if type(value) in TENSORS:
        return value[tuple(slice(*pair) for pair in keep[: value.dim()])]
    values = items(value)
    if values is None:
        return value
    parts = [part(item, keep) for item in values]
    return parts if issubclass(type(value), list) else tuple(parts)
