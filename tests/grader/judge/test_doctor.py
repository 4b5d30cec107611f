"""The walls hold every probe, and without walls the probes get out: they are no dummies."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from course_tests.grader.submitted import hand_in
from grader.judge import doctor
from grader.judge.channel import Worker
from grader.judge.forkserver import ForkServer, WorkerFailed

ROOT = Path(__file__).resolve().parents[3]
NAME = "03_attention"
# What a worker cannot do even without walls: it has neither the library nor the environment.
HELD_ANYWAY = {"call a reference", "see the grader's environment"}


def test_the_walls_hold(forkserver):
    assert [name for name, got_out in doctor.examine(forkserver).items() if got_out] == []
    doctor.refuse_escapes(forkserver)


def test_without_walls_the_probes_get_out(kits):
    with ForkServer(kits, walls=False) as bare:
        escaped = {name for name, got_out in doctor.examine(bare).items() if got_out}
        with pytest.raises(WorkerFailed, match="read a file of the grader"):
            doctor.refuse_escapes(bare)
    assert {
        "read a file of the grader",
        "see the exchange, the course, or configuration",
        "import what the course does not need",
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


CALLS = """
import ctypes, resource
libc = ctypes.CDLL(None, use_errno=True)
def errno(number, *more):
    ctypes.set_errno(0)
    return ctypes.get_errno() if libc.syscall(number, *more) < 0 else 0
print([errno(number, *[ctypes.c_long(-1)] * 5) for number in {numbers}])
print(errno({prlimit}, 1, 7, None, None), resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 0)
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="these are x86-64's numbers")
def test_rare_calls_are_refused_and_limits_are_ones_own(forkserver):
    """EPERM is 1; a call that is let through has no such arguments and says something else."""
    numbers = [428, 467, 300, 312, 447, 434]
    with Worker(forkserver) as worker:
        outputs = worker.run(CALLS.format(numbers=numbers, prlimit=302))
    assert outputs[0]["text"].split("\n")[:2] == [str([1] * len(numbers)), "1 True"]


def test_nothing_in_a_worker_tells_where_the_course_lies(forkserver, kits):
    with Worker(forkserver) as worker:
        shown = worker.run("import sys, course_lib\nprint(sys.orig_argv, sys.path, course_lib)")
    assert str(kits) not in shown[0]["text"] and "/kit" in shown[0]["text"]


def test_a_worker_that_does_not_start_leaves_no_descriptor_open(forkserver):
    forkserver.ready()
    before = os.listdir("/proc/self/fd")
    with pytest.raises(WorkerFailed, match="did not start"):
        forkserver.fork({})  # without limits it ends at once
    assert os.listdir("/proc/self/fd") == before


def test_the_walls_hold_for_an_ordinary_user_too():
    """A user namespace with one user in it is what an ordinary account has."""
    ordinary = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
    command = [*ordinary, sys.executable, "-m", "course_lib.cli", "doctor"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "a user for every worker: no" in done.stdout, done.stdout + done.stderr
    assert done.stdout.endswith(f"walls {len(doctor.PROBES)}/{len(doctor.PROBES)} hold\n")


STEAL = """
import json, os

stolen = {{}}
for folder, _, names in os.walk({root!r}):
    for name in names:
        if name.endswith(".ipynb"):
            with open(os.path.join(folder, name)) as file:
                for cell in json.load(file)["cells"]:
                    grade_id = cell["metadata"].get("nbgrader", {{}}).get("grade_id")
                    stolen[grade_id] = "".join(cell["source"])


def take(grade_id):
    exec(stolen[grade_id], globals())
"""
# An exchange where nbgrader has it by default, in which another student's work lies.
EXCHANGE = """
mount -t tmpfs tmpfs /usr/local/share
inbound=/usr/local/share/nbgrader/exchange/attention/inbound
mkdir -p $inbound/ben+03_attention+2026/ && cp "$1" $inbound/ben+03_attention+2026/
shift
exec unshare --user --map-user=1000 --map-group=1000 "$@"
"""


# That walls are what holds, `test_without_walls_the_probes_get_out` shows in every run.
@pytest.mark.parametrize("walls", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_another_students_work_in_the_exchange_is_out_of_reach(
    walls, tmp_path, assignment, blank_gradebook, grading
):
    """The class of an ordinary user, as whom its workers run; without walls the theft succeeds."""
    ben = tmp_path / f"{NAME}.ipynb"
    ben.write_text(nbformat.writes(assignment.solution))
    thief = nbformat.from_dict(assignment.release)
    for cell in thief.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("solution") and cell.cell_type == "code":
            cell.source = f"take({marks['grade_id']!r})"
    thief.cells.insert(0, new_code_cell(STEAL.format(root="/" if walls else "/usr/local/share")))
    course = tmp_path / "course"
    hand_in(course, "eve", thief)
    (course / "gradebook.db").write_bytes(blank_gradebook.read_bytes())
    alone = ["unshare", "--mount", *["--user", "--map-root-user"] * (os.geteuid() != 0)]
    on = [*alone, "sh", "-ec", EXCHANGE, "sh", str(ben)]
    facts = grading(course, *["--unsafe"] * (not walls), on=on).finished()
    assert facts["students"] == {"eve": 0.0 if walls else assignment.automatic}


def test_where_namespaces_are_forbidden_nothing_is_graded():
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
    assert "--unsafe" in done.stdout and done.stdout.endswith("no sandbox here: grading refuses\n")


def test_a_folder_that_one_may_not_write_is_known_by_what_lies_in_it(monkeypatch):
    """The folder itself is in a worker's root if the interpreter lies below it."""
    monkeypatch.setattr(doctor.sys, "prefix", "/sys/kernel/mm")
    with doctor._bait([Path("/sys/kernel")]) as bait:
        assert "/sys/kernel/debug" in bait["places"]
        assert not {"/sys/kernel", "/sys/kernel/mm"} & set(bait["places"])
