"""SIGKILL at any point, and the next run comes to what an undisturbed one comes to."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from itertools import cycle, islice
from pathlib import Path

import pytest

from course_tests.grader.submitted import hand_in
from grader import authoring, sample
from grader.checks import seeds
from grader.classroom import Classroom
from grader.judge.channel import Limits
from grader.records import gradebook

NAME = "03_attention"
SEED = "0123456789abcdef"
LIMITS = Limits(cell=30, call=10)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory, root, assignment, lasting, blank_gradebook):
    """A class of 40; six are graded, people have written to them, and three have changed since."""
    course = tmp_path_factory.mktemp("crowd")
    shutil.copy(blank_gradebook, course)
    kinds = [notebook for _, notebook in sample.submissions(assignment)]
    names = [f"s{n:02d}" for n in range(40)]

    def late(student, notebook):
        path = hand_in(course, student, notebook)
        path.with_name("timestamp.txt").write_text("2026-03-01 12:00:00 UTC")

    for student, notebook in zip(names, islice(cycle(kinds), len(names)), strict=True):
        late(student, notebook)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(seeds.ENVIRONMENT, SEED)
        Classroom(course, root, NAME, LIMITS).grade(lasting, names[:6])
    first = assignment.exercises[0].grade_id
    with gradebook.open_gradebook(course) as book:
        for student in names[:6]:
            grade = book.find_grade(first, NAME, NAME, student)
            grade.manual_score, grade.extra_credit = 2.25, 0.5
            comment = book.find_comment(f"{first}-solution", NAME, NAME, student)
            comment.manual_comment = f"see me, {student}"
            book.find_submission_notebook(NAME, NAME, student).late_submission_penalty = 1.5
        book.db.commit()
    for student in names[:3]:
        late(student, kinds[1])
    return course


@pytest.fixture
def start(grading):
    seed = {seeds.ENVIRONMENT: SEED}
    return lambda course, *more: grading(course, "--jobs", "2", *more, **seed).process


@pytest.fixture(scope="module")
def undisturbed(crowd, tmp_path_factory, root, dump):
    course = tmp_path_factory.mktemp("calm") / "course"
    shutil.copytree(crowd, course)
    command = [sys.executable, "-m", "course_lib.cli", "grade", NAME, "--json", "--course", course]
    environment = {**os.environ, seeds.ENVIRONMENT: SEED}
    subprocess.run(command, cwd=root, check=True, capture_output=True, env=environment)
    return dump(course)


def children(pid):
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            found[int(folder.name)] = (parent, (folder / "cmdline").read_bytes())
        except (OSError, ValueError):
            continue
    below, level = {}, {pid}
    while level:
        level = {p for p, (parent, _) in found.items() if parent in level}
        below.update((p, found[p][1]) for p in level)
    return below


def left_over(course):
    return [p for p, line in children(1).items() if str(course).encode() in line]


def strike(process, victim, chance):
    """SIGKILL one of the grader's processes; whether there was one to be killed."""
    below = children(process.pid)
    parents = [p for p, line in below.items() if b"forkserver_process" in line and b"-I" in line]
    workers = [p for one in parents for p in children(one)]
    judges = [p for p in below if p not in parents and p not in workers]
    warm = [p for p in parents if p not in workers]
    chosen = {"grader": [process.pid], "worker": workers, "parent": warm, "judge": judges}[victim]
    for pid in chance.sample(chosen, min(1, len(chosen))):
        try:
            os.kill(pid, signal.SIGKILL)
            return True
        except ProcessLookupError:
            pass
    return False


def wait_for(process, course, more):
    """Until so many more verdicts stand, or the run is over."""

    def count():
        return sum(v.stat().st_mtime_ns for v in course.glob("autograded/*/*/verdict.json"))

    seen, last = 0, count()
    while seen < more and process.poll() is None:
        time.sleep(0.02)
        seen, last = seen + (count() != last), count()


@pytest.mark.slow
@pytest.mark.parametrize("round_", range(3))
def test_killed_at_random_points_and_resumed_is_undisturbed(
    crowd, undisturbed, start, tmp_path, round_, dump
):
    course, chance, struck = tmp_path / "course", random.Random(round_), []
    shutil.copytree(crowd, course)
    for victim in chance.sample(["grader", "worker", "parent", "judge", "worker"], 5):
        process = start(course)
        wait_for(process, course, chance.randint(1, 4))
        time.sleep(chance.random() * 0.1)
        if process.poll() is None and strike(process, victim, chance):
            struck.append(victim)
        time.sleep(chance.random() * 0.5)
        process.kill()
        process.wait()
    last = start(course)
    _, said = last.communicate(timeout=300)
    assert last.returncode == 0, said
    assert {"grader", "parent", "judge"} <= set(struck), "the test itself came too late"
    assert dump(course) == undisturbed
    assert not left_over(course), "a process outlived its grader"


def test_a_killed_run_leaves_what_people_wrote_and_is_finished(
    crowd, start, tmp_path, assignment, dump
):
    course = tmp_path / "course"
    shutil.copytree(crowd, course)
    few = [f"s{n:02d}" for n in range(8)]
    before = dump(course)
    process = start(course, "--students", *few)
    wait_for(process, course, 1)
    process.kill()
    process.wait()
    assert process.returncode == -signal.SIGKILL
    assert dump(course) != before
    again = start(course, "--students", *few)
    _, said = again.communicate(timeout=200)
    assert again.returncode == 0, said
    first = assignment.exercises[0].grade_id
    with gradebook.open_gradebook(course) as book:
        for number, student in enumerate(few):
            grade = book.find_grade(first, NAME, NAME, student)
            if number >= 6:
                assert grade.auto_score is not None and not grade.needs_manual_grade
                continue
            assert (grade.manual_score, grade.extra_credit) == (2.25, 0.5)
            comment = book.find_comment(f"{first}-solution", NAME, NAME, student)
            assert comment.manual_comment == f"see me, {student}"
            notebook = book.find_submission_notebook(NAME, NAME, student)
            assert notebook.late_submission_penalty == 1.5


def test_a_worker_that_somebody_killed_is_tried_again(
    root, tmp_path, assignment, lasting, blank_gradebook, monkeypatch
):
    from grader.judge import judge

    shutil.copy(blank_gradebook, tmp_path)
    sample.make(tmp_path, authoring.named(root, NAME), lambda s: s == "ada-full")
    shutil.copy(blank_gradebook, tmp_path)
    begin, mark = judge.Session._begin, tmp_path / "killed"

    def killed_once(self):
        worker = begin(self)
        if not mark.exists():
            mark.touch()
            os.kill(worker.pid, signal.SIGKILL)
        return worker

    monkeypatch.setattr(judge.Session, "_begin", killed_once)
    (verdict,) = Classroom(tmp_path, root, NAME, LIMITS).grade(lasting)
    assert mark.exists() and verdict.score == assignment.automatic and not verdict.look


def test_what_the_grader_itself_could_not_do_is_tried_by_the_next_run(
    root, tmp_path, assignment, lasting, blank_gradebook, monkeypatch
):
    from grader.judge import marking

    sample.make(tmp_path, authoring.named(root, NAME), lambda s: s == "ada-full")
    shutil.copy(blank_gradebook, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(marking, "judge_notebook", lambda *a, **k: 1 / 0)
        (verdict,) = Classroom(tmp_path, root, NAME, LIMITS).grade(lasting)
    assert "The grader itself failed: ZeroDivisionError" in verdict.reason
    (verdict,) = Classroom(tmp_path, root, NAME, LIMITS).grade(lasting)
    assert verdict.fresh and verdict.score == assignment.automatic
