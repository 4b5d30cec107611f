"""Judges side by side: all work is done, whoever dies."""

import os
import signal
import time

import pytest
import torch

from grader.judge.forkserver import ForkServer, ForkServerLost, WorkerFailed
from grader.judge.pool import Pool


class NoForkServer:
    """Stands where no worker is needed; remembers that it was ended."""

    started = ended = 0

    def __init__(self):
        type(self).started += 1

    def end(self):
        type(self).ended += 1


@pytest.fixture
def started():
    NoForkServer.started = NoForkServer.ended = 0
    yield NoForkServer
    assert NoForkServer.started == NoForkServer.ended


class Work:
    def __init__(self, judge):
        self.judge, self.prepared = judge, 0

    def prepare(self):
        self.prepared += 1
        self.threads = torch.get_num_threads()

    def lost(self, task, why):
        return f"{task}: {why}"


def judge_all(tasks, work, start, jobs):
    return Pool(start, jobs).judge_all(Work(work), tasks)


def test_everything_is_done_once(started):
    done = dict(judge_all(range(7), lambda task, forkserver, judge: task * 10, NoForkServer, 3))
    assert done == {n: n * 10 for n in range(7)} and started.started == 1


def test_what_is_prepared_before_judges_are_forked_starts_no_threads(started):
    work = Work(lambda task, forkserver, judge: task)
    torch.set_num_threads(2)
    assert dict(Pool(NoForkServer, 2).judge_all(work, range(2))) == {0: 0, 1: 1}
    assert (work.prepared, work.threads) == (1, 1)


def test_no_task_starts_nothing(started):
    assert list(judge_all([], None, NoForkServer, 2)) == [] and not started.started


def test_a_judge_that_dies_once_is_replaced(started, tmp_path):
    def work(task, forkserver, judge):
        if task == 3 and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return task

    assert dict(judge_all(range(6), work, NoForkServer, 2)) == {n: n for n in range(6)}


def test_a_task_on_which_judges_die_stops_nobody_else(started):
    def work(task, forkserver, judge):
        if task == 2:
            os._exit(1)
        return task

    done = dict(judge_all(range(5), work, NoForkServer, 2))
    assert done.pop(2) == "2: the judge ended 2 times while at work on it"
    assert done == {n: n for n in (0, 1, 3, 4)}


def test_a_task_that_fails_stops_nobody_else(started):
    done = dict(judge_all([1, 0, 2], lambda task, forkserver, judge: 2 // task, NoForkServer, 1))
    assert done.pop(0).startswith("0: The grader itself failed: ZeroDivisionError")
    assert done == {1: 2, 2: 1}


def test_a_pool_that_is_entered_keeps_its_judges_for_the_same_work(started):
    here = Work(lambda task, forkserver, judge: os.getpid())
    with Pool(NoForkServer, 1) as pool:
        (first,), (second,) = (dict(pool.judge_all(here, [n])).values() for n in (1, 2))
        other = Work(here.judge)
        ((_, third),) = pool.judge_all(other, [3])
        assert first == second != third and started.started == 1
    with pytest.raises(ProcessLookupError):
        os.kill(third, 0)


def test_a_lost_parent_is_started_again(started, tmp_path):
    def work(task, forkserver, judge):
        if task == 1 and not (tmp_path / "lost").exists():
            (tmp_path / "lost").touch()
            raise ForkServerLost("gone")
        time.sleep(0.05)
        return task

    assert dict(judge_all(range(6), work, NoForkServer, 2)) == {n: n for n in range(6)}
    assert started.started == 2


def test_a_machine_without_workers_ends_it_all(started):
    def work(task, forkserver, judge):
        raise WorkerFailed("nothing here")

    with pytest.raises(WorkerFailed, match="nothing here"):
        list(judge_all(range(3), work, NoForkServer, 2))


def test_no_judge_is_refused():
    with pytest.raises(ValueError, match="jobs is 0"):
        list(judge_all([1], None, NoForkServer, 0))


def test_killing_the_warm_parent_is_noticed_as_such(kits):
    from grader.judge.channel import Worker

    with ForkServer(kits) as forkserver:
        forkserver.ready()
        os.kill(forkserver.process.pid, signal.SIGKILL)
        forkserver.process.wait()
        with pytest.raises((ForkServerLost, WorkerFailed)):
            Worker(forkserver)


def test_what_all_judges_need_is_computed_once_and_for_several_tasks_only(started):
    work = Work(lambda task, forkserver, judge: work.prepared)
    pool = Pool(NoForkServer, 2)
    assert dict(pool.judge_all(work, [1])) == {1: 0}
    assert dict(pool.judge_all(work, [1, 2])) == {1: 1, 2: 1}


def test_no_judge_waits_for_who_writes(started, tmp_path):
    def work(task, forkserver, judge):
        (tmp_path / str(task)).touch()

    for task, _ in judge_all([1, 2], work, NoForkServer, 1):
        until = time.monotonic() + 20
        while task == 1 and not (tmp_path / "2").exists():
            assert time.monotonic() < until
            time.sleep(0.01)


def test_a_pool_that_is_entered_starts_at_once_and_is_ended_without_work(started):
    with Pool(NoForkServer):
        assert started.started == 1
