"""The walls hold every probe, and without walls the probes get out: they are no dummies."""

import pytest

from course_lib.grading import doctor
from course_lib.grading.nursery import Nursery, WorkerFailed

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
