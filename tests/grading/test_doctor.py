"""The walls hold every probe, and without walls the probes get out: they are no dummies."""

import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.grading import doctor
from course_lib.grading.nursery import Nursery, WorkerFailed

ROOT = Path(__file__).resolve().parents[2]
# What a worker cannot do even without walls: it has neither the library nor the environment.
HELD_ANYWAY = {"import a reference", "see the grader's environment"}


def test_the_walls_hold(nursery):
    assert [f.name for f in doctor.examine(nursery) if f.escaped] == []
    doctor.refuse_escapes(nursery)


def test_without_walls_the_probes_get_out(kit_folder):
    with Nursery(kit_folder, walls=False) as bare:
        escaped = {f.name for f in doctor.examine(bare) if f.escaped}
        with pytest.raises(WorkerFailed, match="read a file of the grader"):
            doctor.refuse_escapes(bare)
    assert {
        "read a file of the grader",
        "write into the course folder",
        "change what later submissions import",
        "signal a process of the grader",
        "read another process's memory",
        "see other processes",
        "connect to a server on this machine",
        "connect to a local socket by name",
        "find the checks on the disk",
    } <= escaped
    assert not escaped & HELD_ANYWAY


def test_the_walls_hold_for_an_ordinary_user_too():
    """A user namespace with one user in it is what an ordinary account has."""
    ordinary = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
    command = [*ordinary, sys.executable, "-m", "course_lib.cli", "doctor"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "a user for every worker: no" in done.stdout, done.stdout + done.stderr
    assert done.stdout.endswith(f"walls {len(doctor.PROBES)}/{len(doctor.PROBES)} hold\n")


def test_where_namespaces_are_forbidden_nothing_is_graded(kit_folder, tmp_path):
    """What a container without the right does to it: the first call is refused."""
    script = (
        "import ctypes, runpy, sys\n"
        "libc = ctypes.CDLL(None)\n"
        # A filter that refuses unshare, as container runtimes install it.
        "import struct\n"
        "lines = [(0x20, 0, 0, 0), (0x15, 0, 1, 272), (6, 0, 0, 0x50001), (6, 0, 0, 0x7FFF0000)]\n"
        "code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *l) for l in lines))\n"
        "class P(ctypes.Structure):\n"
        "    _fields_ = [('n', ctypes.c_ushort), ('f', ctypes.c_void_p)]\n"
        "libc.prctl(38, 1, 0, 0, 0)\n"
        "program = P(4, ctypes.cast(code, ctypes.c_void_p))\n"
        "assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0\n"
        "sys.argv = ['course', 'doctor']\n"
        "runpy.run_module('course_lib.cli', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "unshare: Operation not permitted" in done.stdout
    assert "--unsafe" in done.stdout and done.stdout.endswith("no walls here: grading refuses\n")
