"""What a worker that has been taken over can make the judge hold, wait for and print."""

import json
import time

import nbformat
import pytest
import torch
from nbformat.v4 import new_code_cell

from course_tests.grader.attacks import snippets
from grader.checks.answer_proxy import AnswerLost
from grader.checks.protocol import pack
from grader.classroom import Classroom
from grader.judge.channel import Limits, Worker
from grader.judge.judge import FULL, judge_notebook
from grader.judge.marking import Marker
from grader.judge.outputs import clean_outputs
from grader.judge.results import Task


def test_a_submission_has_a_time_of_its_own_whatever_its_cells_take(judge, solved, assignment):
    for _ in range(30):
        solved.cells.insert(1, new_code_cell("import time\ntime.sleep(60)"))
    begin = time.monotonic()
    judged = judge(solved, Limits(cell=3, call=3, whole=6))
    assert time.monotonic() - begin < 60, "thirty cells of three seconds would take ninety"
    assert judged.score == 0 and len(judged.marks) == len(assignment.exercises) + 1
    assert any("all 6 seconds were used up" in note for note in judged.notes)


def test_a_worker_killed_when_time_is_up_gets_no_more_of_it(
    tmp_path, root, assignment, forkserver, blank_gradebook
):
    """Another try has what the first has left."""
    kills = "import os, time\ntime.sleep(8)\nos.kill(os.getpid(), 9)"
    notebook = nbformat.from_dict(assignment.release)
    notebook.cells.insert(0, new_code_cell(kills))
    (tmp_path / "gradebook.db").write_bytes(blank_gradebook.read_bytes())
    room = Classroom(tmp_path, root, assignment.name, Limits(cell=10, whole=12))
    given = []

    def judging(*args, seconds, **kwargs):
        given.append(seconds)
        return judge_notebook(*args, seconds=seconds, **kwargs)

    before = Marker.judge.__globals__["judge_notebook"]
    Marker.judge.__globals__["judge_notebook"] = judging
    try:
        task = Task("eve", nbformat.writes(notebook).encode(), "", "key")
        assert room.marker.judge(task, forkserver, 0)[0].score == 0
    finally:
        Marker.judge.__globals__["judge_notebook"] = before
    assert given[0] > 11 and all(seconds < 12 - 8 for seconds in given[1:])


def test_large_answers_end_their_exercise_and_stay_nowhere(forkserver, judge, answer, others):
    with Worker(forkserver) as worker:
        worker.run("import torch\ndef f(): return torch.zeros(7 * 2**20, dtype=torch.uint8)")
        proxy = worker.proxy()
        with pytest.raises(AnswerLost, match="too large to be kept"):
            assert all(proxy.call("f").error is None for _ in range(5))
    judged = judge(
        answer("def scaled_dot_product_attention(*a, **k): return torch.zeros(1_900_000)")
    )
    assert judged.score == others
    kept = [entry for mark in judged.marks if mark.report for entry in mark.report.transcript]
    assert not any(isinstance(entry, torch.Tensor) for entry in kept)


def test_outputs_of_a_whole_notebook_are_capped(judge, solved, assignment):
    solved.cells[2:2] = [new_code_cell("print('x' * 2_000_000)") for _ in range(10)]
    judged = judge(solved)
    assert judged.score == assignment.automatic
    assert len(nbformat.writes(judged.notebook)) < 20 * 2**20
    assert judged.notebook.cells[10].outputs[0].text == FULL


def test_what_is_no_output_goes_no_further_than_the_worker_that_sent_it(monkeypatch):
    said = {"output_type": "stream", "name": "stdout", "text": "said"}
    forged = json.dumps([3, None, {"output_type": 7}, {"data": {}}, {"output_type": "error"}, said])
    monkeypatch.setattr(Worker, "exchange", lambda *_: pack({"outputs": forged.encode()}))
    worker = Worker.__new__(Worker)
    worker.limits = Limits()
    error, kept = worker.run("")
    assert error.ename == error.evalue == "None" and kept == said


def test_live_outputs_are_dropped_and_pictures_are_only_pictures():
    def shown(**data):
        outputs = clean_outputs([{"output_type": "display_data", "data": data}])
        return dict(outputs[0].data) if outputs else None

    assert shown(**{"text/html": "<script>", "text/plain": "x"}) == {"text/plain": "x"}
    assert shown(**{"image/svg+xml": "<svg>", "application/javascript": "x"}) is None
    assert shown(**{"image/png": '"><script>'}) is None
    assert shown(**{"image/png": "iVBORw0KGgo=\n"}) == {"image/png": "iVBORw0KGgo=\n"}
    assert clean_outputs([7, None, {"output_type": "stream", "name": "x"}]) == []


def test_what_a_worker_calls_itself_does_not_reach_a_terminal(judge, solved):
    solved.cells.insert(1, new_code_cell(snippets.FORGED_ESCAPES))
    judged = judge(solved)
    assert judged.notes and all(note.isprintable() for note in judged.notes)


def test_nan_has_no_gradient_and_agrees_with_nothing():
    import torch

    from grader.checks.answer_proxy import AnswerProxy
    from grader.checks.exercise import find
    from grader.checks.grading import grade

    exercise = find("attention.self_attention")

    def everywhere_nan(*args, **kwargs):
        return tuple(torch.full_like(out, torch.nan) for out in exercise.reference(*args, **kwargs))

    report = grade(exercise, AnswerProxy.local({exercise.function: everywhere_nan}), "1")
    assert report.score == 0 and not any(row.passed for row in report.rows)
