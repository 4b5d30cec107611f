"""Judging on other machines: whoever dies or is cut off, every submission is graded, and once."""

import collections
import os
import pickle
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_lib.cli import main
from grader.classroom import Classroom
from grader.judge import judge_process
from grader.judge.channel import Limits
from grader.judge.forkserver import WorkerFailed

pytest.importorskip("distributed", reason="no dask.distributed: pip install -e '.[cluster]'")
from grader.judge.cluster import Cluster

NAME, SEED = "03_attention", "0123456789abcdef"
LIMITS = Limits()


@pytest.mark.slow
def test_workers_die_and_come_and_the_scheduler_starts_anew(
    crowd, undisturbed, machines, grading, tmp_path, dump
):
    course = crowd.copied(tmp_path)
    run = grading(course, "--scheduler", machines.address)
    machines.start()  # later than the command that wants it
    first = machines.hire()
    run.reach(2)
    first.send_signal(signal.SIGKILL)
    machines.hire()
    run.reach(4)
    machines.scheduler.kill()
    machines.scheduler.wait()
    machines.start()
    machines.hire()
    facts = run.finished()
    assert facts["graded_now"] == facts["submissions"] == len(crowd.names)
    assert dump(course) == undisturbed


@pytest.mark.slow
def test_a_worker_that_is_cut_off_and_comes_back_changes_nothing(
    crowd, undisturbed, machines, grading, tmp_path, dump
):
    course = crowd.copied(tmp_path)
    machines.start()
    silent = machines.hire()
    run = grading(course, "--scheduler", machines.address)
    run.reach(2)
    silent.send_signal(signal.SIGSTOP)
    machines.hire()
    run.reach(len(crowd.names) - 1)
    silent.send_signal(signal.SIGCONT)
    assert run.finished()["graded_now"] == len(crowd.names)
    assert dump(course) == undisturbed


@pytest.mark.slow
def test_a_command_that_was_killed_goes_on_and_judge_processes_end_with_their_workers(
    crowd, undisturbed, machines, grading, tmp_path, dump
):
    course = crowd.copied(tmp_path)
    machines.start()
    worker = machines.hire()
    run = grading(course, "--scheduler", machines.address)
    run.reach(3)
    run.kill()
    there = run.verdicts()
    facts = grading(course, "--scheduler", machines.address).finished()
    assert (
        facts["submissions"] == len(crowd.names) and facts["graded_now"] == len(crowd.names) - there
    )
    assert dump(course) == undisturbed
    desks = list(children_of(worker.pid))
    assert desks, "a worker keeps a judge process"
    worker.kill()
    worker.wait()
    until = time.monotonic() + 20
    while any(alive(p) for p in desks) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(alive(p) for p in desks)


def children_of(pid):
    return [
        int(p)
        for t in Path(f"/proc/{pid}/task").iterdir()
        for p in (t / "children").read_text().split()
    ]


def alive(pid):
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_nobody_there_is_said_and_nothing_is_lost(
    crowd, machines, root, tmp_path, monkeypatch, capsys
):
    course = crowd.copied(tmp_path)
    monkeypatch.chdir(root)

    def refused(*more):
        asked = ["grade", NAME, "--course", str(course), "--scheduler", machines.address]
        assert main([*asked, *more]) == 2
        return capsys.readouterr().err

    assert "no scheduler at tcp://127.0.0.1" in refused("--patience", "1")
    assert "--jobs" in refused("--jobs", "2")
    machines.start()
    said = refused("--patience", "6")
    assert "no worker at tcp://127.0.0.1" in said and "again to resume" in said
    assert not [*course.glob("autograded/*/*/verdict.json")]


def test_a_nonsensical_address_is_refused():
    with pytest.raises(ValueError, match="nonsense"):
        list(Cluster("nonsense://x", 0.5).judge_all(MARKER, [one_task("ada")]))


def one_task(student):
    from grader.judge.results import Task

    return Task(student, b"{}", "", "k")


MARKER = SimpleNamespace(
    assignment=SimpleNamespace(name=NAME),
    seed=SEED,
    engine="another",
    limits=LIMITS,
    lost=lambda task, why: why,
)


def order_of(task, marker=MARKER):
    return judge_process.request(marker, task, walls=True)


@pytest.fixture(scope="module")
def office():
    office = judge_process.JudgeProcess()
    yield office
    office.end()


def test_a_judge_process_judges_as_the_pool_does_and_refuses_other_versions(office, crowd, root):
    room = Classroom(crowd.course, root, NAME, LIMITS, seed=SEED)
    task = room.take_in(crowd.names[0])
    kind, result = pickle.loads(office.ask(order_of(task, room.marker)))
    assert kind == "done", result
    verdict, _ = result
    assert verdict.key == task.key
    assert verdict.score == room.assignment.automatic
    kind, why = pickle.loads(office.ask(order_of(task)))
    assert kind == "failed" and "another version of the course" in why


class Deadly:
    """Ends whoever unpickles it."""

    def __reduce__(self):
        return os._exit, (3,)


def test_a_judge_process_that_ends_is_set_up_again(office, crowd, root):
    kind, why = pickle.loads(office.ask(pickle.dumps(Deadly())))
    assert kind == "died" and "ended 2 times" in why
    assert pickle.loads(office.ask(order_of(one_task("ada"))))[0] == "failed"


class Silent:
    """Stands for dask: runs at once, and loses some answers on the way."""

    class KilledWorker(Exception):
        pass

    def __init__(self, script):
        self.script, self.asked, self.released = script, collections.Counter(), 0

    def Client(self, address, timeout):
        return self

    status = "running"

    def close(self, timeout):
        pass

    def nthreads(self):
        return {"tcp://one": 1}

    def submit(self, work, request, key, pure):
        student = pickle.loads(request)[1].student
        self.asked[student] += 1
        return Answer(self, student, self.script(student, self.asked[student]))


class Answer:
    def __init__(self, dask, student, outcome):
        self.dask, self.student, self.outcome = dask, student, outcome
        self.status = outcome if outcome in ("cancelled", "lost") else "finished"
        if isinstance(outcome, Exception):
            self.status = "error"

    def add_done_callback(self, call):
        call(self)

    def exception(self):
        return self.outcome

    def result(self):
        if self.outcome == "cut":
            raise TimeoutError("in <TCP (closed)>")
        return pickle.dumps(self.outcome)

    def release(self):
        self.dask.released += 1


def through(script, students):
    cluster = Cluster("tcp://nowhere:1", 1)
    cluster._dask = Silent(script)
    done = list(cluster.judge_all(MARKER, [one_task(s) for s in students]))
    return cluster._dask, done


@pytest.mark.parametrize("lost", ["cancelled", "cut"])
def test_what_a_scheduler_forgets_or_cuts_off_is_asked_for_again_and_yielded_once(lost, capsys):
    def script(student, time_):
        return lost if student in "bd" and time_ < 3 else ("done", student)

    dask, done = through(script, "abcde")
    assert sorted(d for _, d in done) == list("abcde")
    assert dask.released == 5 and max(dask.asked.values()) >= 3
    assert lost != "cut" or dask.asked["b"] == 3
    assert "ungraded work is sent out again" in capsys.readouterr().err


def test_what_kills_worker_after_worker_stops_nobody_else():
    def script(student, time_):
        return Silent.KilledWorker() if student == "b" else ("done", student)

    _, done = through(script, "abc")
    assert [d for t, d in done if t.student == "b"] == [
        "worker after worker ended while at work on it"
    ]


def test_a_worker_that_cannot_judge_ends_it_all():
    with pytest.raises(WorkerFailed, match="not here"):
        through(lambda student, time_: ("failed", "not here"), "abc")
    with pytest.raises(WorkerFailed, match="same installation.*"):
        through(lambda student, time_: ImportError("course_lib"), "abc")
