"""The walls around a student's process: namespaces, a private root, no privileges.

Two layers: :func:`enclose` is called once, by the warm parent before it imports anything, and
:func:`confine` in each fork of it, before a student's first cell. Everything goes through the C
library; nothing has to be installed.
"""

import contextlib
import ctypes
import errno
import os
import platform
import resource
import signal
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = (1 << n for n in (17, *range(26, 31)))
_OTHERS = _NEWNS | _NEWUTS | _NEWIPC | _NEWPID | _NEWNET
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC = 2, 4, 8, 4096, 16384
_MS_PRIVATE = 1 << 18
_RDONLY, _AT_RECURSIVE, _AT_FDCWD = 1, 0x8000, -100
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SYS_MOUNT_SETATTR = 442
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP = 1, 4, 24
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 22, 38
_SYS_CAPSET = {"x86_64": 126, "aarch64": 91}

# The users that workers become, counted from the first of a range that belongs to nobody.
_RANGE = 65536
_FIRST_HOST_USER = 1_000_000
_FIRST_USER, _USERS = 1000, 60_000

SCRATCH = "/scratch"
# Where the sandbox package is seen: its own place would tell the path of the course.
KIT = "/kit"
_DEVICES = ("null", "zero", "full", "random", "urandom")

# System calls that no exercise needs and escapes begin with: x86_64, aarch64.
_REFUSED = (
    "ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, mount 165 40, "
    "umount2 166 39, pivot_root 155 41, chroot 161 51, unshare 272 97, setns 308 268, bpf 321 280, "
    "keyctl 250 219, add_key 248 217, request_key 249 218, perf_event_open 298 241, "
    "userfaultfd 323 282, kexec_load 246 104, init_module 175 105, finit_module 313 273, "
    "open_by_handle_at 304 265, io_uring_setup 425 425, mount_setattr 442 442, move_mount 429 429, "
    "open_tree 428 428, fsopen 430 430, quotactl 179 60, swapon 167 224, reboot 169 142, "
    "pidfd_getfd 438 438, pidfd_open 434 434, memfd_secret 447 447, open_tree_attr 467 467, "
    "fanotify_init 300 262, kcmp 312 272, name_to_handle_at 303 264"
).split(", ")
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SOCKET = {"x86_64": 41, "aarch64": 198}
_PRLIMIT = {"x86_64": 302, "aarch64": 261}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
# Of a filter: load, compare, test bits, end; and its ends, let through or refuse with an error.
_FILTER = (0x20, 0x15, 0x45, 0x06, 0x7FFF0000, 0x00050000)
# execve, execveat
_STARTING = {"x86_64": (59, 322), "aarch64": (221, 281)}


class Unusable(OSError):
    """This machine does not allow the walls: which step failed, and why."""


_libc = ctypes.CDLL(None, use_errno=True)
# Looked up now: a notebook may put something in their place.
_kill, _handler, _handle = os.kill, signal.getsignal, signal.signal


def _call(what: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise Unusable(number, f"{what}: {os.strerror(number)}")
    return result


def _unshare(flags: int) -> None:
    _call("unshare", _libc.unshare(flags))


def _mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    encoded = [text.encode() if text is not None else None for text in (source, target, kind)]
    _call(f"mount {target}", _libc.mount(*encoded, ctypes.c_ulong(flags), data.encode()))


def _seal(path: str, attributes: int, *, deep: bool = True) -> None:
    wanted = struct.pack("QQQQ", attributes, 0, 0, 0)
    flags = _AT_RECURSIVE if deep else 0
    number = ctypes.c_long(_SYS_MOUNT_SETATTR)
    result = _libc.syscall(number, _AT_FDCWD, path.encode(), flags, wanted, len(wanted))
    _call(f"sealing {path} (needs Linux 5.12)", result)


def enclose(mounts: Sequence[Sequence[str]], at: str) -> tuple[int, bool]:
    """Go on in a process that is the first of its own namespaces and sees only what it needs.

    Must be called in a process of one thread. The calling process stays outside as a mere guardian:
    it waits, and when it is killed everything inside is killed. What is in ``mounts`` stays
    visible, read-only; the private root is mounted over the empty folder ``at``.

    Returns a descriptor of the outer ``/proc``, which :func:`confine` needs and closes, and whether
    every worker can have a user of its own. Where kernel or container forbid a step, it is
    :class:`Unusable`.
    """
    proc = os.open("/proc", os.O_PATH | os.O_CLOEXEC)
    own_users = os.geteuid() == 0 and _many_users()
    if own_users:
        _unshare(_OTHERS)
    else:
        uid, gid = os.geteuid(), os.getegid()
        _unshare(_NEWUSER | _OTHERS)
        _write(proc, "self/setgroups", "deny")
        _write(proc, "self/uid_map", f"0 {uid} 1")
        _write(proc, "self/gid_map", f"0 {gid} 1")
    _private_root(mounts, at)
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child:
        theirs.close()
        if own_users and ours.recv(1):
            for kind in ("uid_map", "gid_map"):
                _write(proc, f"{child}/{kind}", f"0 {_FIRST_HOST_USER} {_RANGE}")
            ours.send(b"!")
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
        ours.close()
        os.closerange(3, 1024)
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    ours.close()
    if own_users:
        _unshare(_NEWUSER)
        theirs.send(b"?")
        theirs.recv(1)
        os.setgroups([])
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
    theirs.close()
    die_with_parent()
    return proc, own_users


def die_with_parent(by: signal.Signals = signal.SIGKILL) -> None:
    """In a process just forked: be ended when the one that forked it ends, however it ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, by)


def _many_users() -> bool:
    """Tell whether this root is one that may hand out other users."""
    lines = Path("/proc/self/uid_map").read_text().splitlines()
    extents = [[int(n) for n in line.split()] for line in lines]
    return any(start + count > _FIRST_HOST_USER + _RANGE for start, _, count in extents)


def _write(proc: int, name: str, text: str) -> None:
    try:
        descriptor = os.open(name, os.O_WRONLY, dir_fd=proc)
        os.write(descriptor, text.encode())
        os.close(descriptor)
    except OSError as error:
        raise Unusable(error.errno, f"writing {name}: {error.strerror}") from None


def _private_root(mounts: Sequence[Sequence[str]], at: str) -> None:
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    _mount("tmpfs", at, "tmpfs", _MS_NOSUID, "mode=755,size=16m")
    for path, source in mounts:
        os.makedirs(os.path.dirname(at + path), exist_ok=True)
        if not source:
            _mount("tmpfs", at + path, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=755,size=16m")
        elif os.path.islink(source):
            os.symlink(os.readlink(source), at + path)
        else:
            # A container may keep its own files from being shown to another namespace.
            with contextlib.suppress(*[OSError] * path.startswith(("/proc/", "/sys/", "/etc/"))):
                _bind(source, at + path)
    os.makedirs(f"{at}/dev", exist_ok=True)
    for name in _DEVICES:
        Path(f"{at}/dev/{name}").touch()
        _mount(f"/dev/{name}", f"{at}/dev/{name}", None, _MS_BIND)
    os.symlink(f"{SCRATCH}/shm", f"{at}/dev/shm")
    os.makedirs(at + SCRATCH, exist_ok=True)
    # For what the parent's imports write; each worker mounts its own over it.
    _mount("tmpfs", at + SCRATCH, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=777,size=64m")
    if not os.path.exists(f"{at}/tmp"):  # it does where Python lies below it
        os.symlink(SCRATCH, f"{at}/tmp")
    os.makedirs(f"{at}/.outside")
    number = ctypes.c_long(_SYS_PIVOT_ROOT[platform.machine()])
    _call("pivot_root", _libc.syscall(number, at.encode(), f"{at}/.outside".encode()))
    os.chdir("/")
    _call("umount", _libc.umount2(b"/.outside", 2))
    os.rmdir("/.outside")
    for path in ["/", *(path for path, source in mounts if not source)]:
        _seal(path, _RDONLY | _MS_NOSUID, deep=False)


def _bind(source: str, target: str) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        Path(target).touch()
    _mount(source, target, None, _MS_BIND | _MS_REC)
    _seal(target, _RDONLY | _MS_NOSUID | _MS_NODEV)


def confine(proc: int | None, number: int, scratch: int, covered: Mapping[Path, str]) -> None:
    """Build the inner walls around this process; the caller forks once more behind them.

    The calling process becomes the first of its process namespace with its next fork. Call it in a
    fresh fork of the enclosed parent, then :func:`surrender` in the child. The worker's ``number``
    picks its user, -1 keeps the parent's; ``scratch`` are bytes in memory. Of
    ``covered`` files only the text given is to be seen, of folders nothing.
    """
    assert proc is not None
    if number >= 0:
        user = _FIRST_USER + number % _USERS
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    # A changed user makes its entries in /proc root's, unless told that nothing is secret here.
    _libc.prctl(_PR_SET_DUMPABLE, 1)
    uid, gid = os.geteuid(), os.getegid()
    _unshare(_NEWUSER | _OTHERS)
    _write(proc, "self/setgroups", "deny")
    _write(proc, "self/uid_map", f"1000 {uid} 1")
    _write(proc, "self/gid_map", f"1000 {gid} 1")
    os.close(proc)
    with contextlib.suppress(OSError):
        socket.sethostname("worker")
    held = _MS_NOSUID | _MS_NODEV | (_MS_NOEXEC if covered else 0)
    _mount("tmpfs", SCRATCH, "tmpfs", held, f"mode=700,size={scratch}")
    seen = Path(SCRATCH, "seen")
    for path, text in covered.items():
        if path.is_dir():
            _mount(
                "tmpfs", str(path), "tmpfs", _MS_NOSUID | _MS_NODEV | _RDONLY, "mode=755,size=4k"
            )
        elif path.exists():
            seen.write_text(text, encoding="utf-8")
            _bind(str(seen), str(path))
            seen.unlink()
    os.makedirs(f"{SCRATCH}/home")
    os.makedirs(f"{SCRATCH}/shm")
    os.chdir(f"{SCRATCH}/home")


def surrender() -> None:
    """Give up every privilege for good, in this process and all that it starts."""
    _call("no_new_privs", _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    for capability in range(64):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) and ctypes.get_errno():
            break
    header = struct.pack("Ii", 0x20080522, 0)
    capset = ctypes.c_long(_SYS_CAPSET[platform.machine()])
    _call("capset", _libc.syscall(capset, header, bytes(24)))
    _filter_system_calls()


def _filter_system_calls() -> None:
    """Refuse the calls of ``_REFUSED``, sockets but local ones, user namespaces, others' limits."""
    machine = platform.machine()
    column = {"x86_64": 1, "aarch64": 2}.get(machine)
    if column is None:
        return
    load, equal, allbits, give, allow, refuse = _FILTER
    program = [
        (load, 0, 0, 4),  # the architecture: a 32-bit call has other numbers
        (equal, 1, 0, _AUDIT[machine]),
        (give, 0, 0, refuse | errno.EPERM),
        (load, 0, 0, 0),
    ]
    if machine == "x86_64":  # the x32 variants of all calls
        program += [(0x35, 0, 1, 0x40000000), (give, 0, 0, refuse | errno.ENOSYS)]
    for call in _REFUSED:
        number = int(call.split()[column])
        program += [(equal, 0, 1, number), (give, 0, 0, refuse | errno.EPERM)]
    # glibc falls back to clone, whose flags can be looked at.
    program += [(equal, 0, 1, _CLONE3), (give, 0, 0, refuse | errno.ENOSYS)]
    program += [
        (equal, 0, 3, _SOCKET[machine]),
        (load, 0, 0, 16),
        (equal, 9, 0, socket.AF_UNIX),
        (give, 0, 0, refuse | errno.EPERM),
        (equal, 0, 3, _PRLIMIT[machine]),
        (load, 0, 0, 16),
        (equal, 5, 0, 0),  # the process itself
        (give, 0, 0, refuse | errno.EPERM),
        (equal, 0, 3, _CLONE[machine]),
        (load, 0, 0, 16),
        (allbits, 0, 1, _NEWUSER),
        (give, 0, 0, refuse | errno.EPERM),
        (give, 0, 0, allow),
    ]
    _install(program)


def refuse_programs() -> None:
    """From now on this process and all that it makes run no other program."""
    machine = platform.machine()
    if machine not in _AUDIT:
        return
    _call("no_new_privs", _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    load, equal, _, give, allow, refuse = _FILTER
    program = [(load, 0, 0, 0)]
    for number in _STARTING[machine]:
        program += [(equal, 0, 1, number), (give, 0, 0, refuse | errno.EPERM)]
    _install([*program, (give, 0, 0, allow)])


def end_others() -> None:
    """End all other processes of a worker and its handlers of signals, none of which is capped."""
    kept: dict[int, Any] = {
        signal.SIGCHLD: signal.SIG_DFL,
        signal.SIGINT: signal.default_int_handler,
    }
    for number in signal.valid_signals():
        if callable(_handler(number)):
            _handle(number, kept.get(number, signal.SIG_IGN))
    with contextlib.suppress(ProcessLookupError):
        _kill(-1, signal.SIGKILL)  # but itself and the first of the namespace


def _install(program: list[tuple[int, int, int, int]]) -> None:
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    wanted = Program(len(program), ctypes.cast(buffer, ctypes.c_void_p))
    result = _libc.prctl(_PR_SET_SECCOMP, 2, ctypes.byref(wanted), 0, 0)
    # A kernel without filters is rare; the other walls stand without this one.
    if result and ctypes.get_errno() != errno.EINVAL:
        _call("seccomp", result)


@contextlib.contextmanager
def capped(more: int) -> Iterator[None]:
    """Give this process so many bytes of address space beyond what it has, while this lasts."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + more
    hard = before[1] if before[1] != resource.RLIM_INFINITY else most
    resource.setrlimit(resource.RLIMIT_AS, (min(most, hard), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def limit(memory: int, file_size: int, cpu: int, processes: int) -> None:
    """Cap what this process and each of its children may use; no core dumps.

    Bytes of address space and of any one file, seconds of processor time, tasks of the worker's
    user.
    """
    caps = {"AS": memory, "FSIZE": file_size, "CORE": 0, "CPU": cpu, "NPROC": processes}
    for name, value in {**caps, "NOFILE": 512}.items():
        what = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(what)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (value, value))
