"""An answer with unusual names is graded again where nothing forbidden is left."""

from pathlib import Path

import nbformat
import pytest

from course_lib.grading import authoring
from course_lib.grading.intake import parsing
from course_lib.grading.judging.channel import Worker
from course_lib.grading.judging.judge import judge_notebook
from course_lib.grading.judging.second_look import SecondGrader

ROOT = Path(__file__).resolve().parents[3]
LOADED = {source.stem: authoring.load(source, ROOT) for source in authoring.sources(ROOT)}
FORBIDDING = [n for n, a in LOADED.items() if any(e.forbidden for e in a.exercises)]
ODD = "import sys\nprint(sys.version_info, sys._getframe())"


# Between them they forbid every kind; each takes workers of its own.
KINDS = ("01_seq2seq", "06_block", "11_space", "12_vit")
# What an answer to one costs is asked, and an answer that forges it looks up what is looked at.
MEASURED = "08_relative"


def test_the_sample_has_every_kind_that_is_forbidden():
    def kinds(names):
        return {kind for name in names for e in LOADED[name].exercises for kind in e.forbidden}

    assert kinds(KINDS) == kinds(FORBIDDING)


@pytest.mark.sample(*KINDS)
@pytest.mark.parametrize("name", FORBIDDING)
def test_a_solution_with_an_unusual_cell_gets_all_points(name, forkserver, monkeypatch):
    """What its checks need is still there where what it may not use is gone."""
    assignment = LOADED[name]
    looked = []
    regrade = SecondGrader.regrade
    monkeypatch.setattr(
        SecondGrader,
        "regrade",
        lambda self, exercise, *args, **kwargs: (
            looked.append(exercise.id) or regrade(self, exercise, *args, **kwargs)
        ),
    )
    notebook = nbformat.from_dict(assignment.solution)
    notebook.cells.insert(2, nbformat.v4.new_code_cell(ODD))
    submission = parsing.parse(nbformat.writes(notebook).encode())
    judged = judge_notebook(submission, assignment.release, "5eed", forkserver)
    assert looked == [e.id for e in assignment.exercises if e.forbidden or e.measured]
    assert judged.score == sum(e.points for e in assignment.exercises) and judged.notes == []


def test_what_is_measured_is_looked_at_again():
    measured = [e.id for e in LOADED[MEASURED].exercises if e.measured]
    assert "relative.distance_scores" in measured and len(measured) < len(
        LOADED[MEASURED].exercises
    )


def test_who_asks_for_a_person_is_heard_beside_fifty_errors(judge, answer):
    notebook = answer(f"{LONG}\n{SLY}")
    notebook.cells[1:1] = [nbformat.v4.new_code_cell(f"raise ValueError({n})") for n in range(50)]
    assert sum("please read the answer" in note for note in judge(notebook).notes) == 1


def test_a_long_sum_beside_an_unusual_name_gets_all_points(judge, solved, assignment):
    """Nested as deep as it has terms: more than the stack of whoever would write it anew."""
    solved.cells.insert(2, nbformat.v4.new_code_cell(f"{ODD}\ntotal = {' + '.join(['1'] * 600)}"))
    judged = judge(solved)
    assert judged.score == assignment.automatic and judged.notes == []


def test_everyday_answers_are_not_looked_at_again(judge, solved, monkeypatch):
    monkeypatch.delattr(SecondGrader, "regrade")
    assert judge(solved).notes == []


def test_what_the_second_look_takes_is_said(judge, answer, assignment, others):
    """The guard is stepped over by patching what it is made of; the second look has none."""
    notebook = answer(
        "import contextlib\n"
        "def scaled_dot_product_attention(q, k, v, mask=None):\n"
        "    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])\n"
        "    if mask is not None:\n"
        "        scores = scores.masked_fill(~mask, -torch.inf)\n"
        "    import sys\n"
        "    frame = sys._getframe()\n"
        "    while frame is not None:\n"
        "        if 'during' in frame.f_globals:\n"
        "            frame.f_globals['during'] = lambda *a, **k: contextlib.nullcontext()\n"
        "        frame = frame.f_back\n"
        "    name = 'scaled_dot_' + 'product_attention'\n"
        "    return getattr(F, name)(q, k, v, attn_mask=mask), scores.softmax(-1)"
    )
    judged = judge(notebook)
    assert judged.score == others
    assert any("cannot be reached at all; that counts" in note for note in judged.notes)
    first = judged.marks[0]
    cell = next(
        c for c in judged.notebook.cells
        if c.metadata.get("nbgrader", {}).get("grade_id") == first.grade_id
    )  # fmt: skip
    assert cell.outputs[1].data["text/plain"] == repr(first.score)


def test_points_stand_when_time_is_up(judge, solved, assignment, monkeypatch):
    """The time ran out for the grader; the answer is not to blame."""
    sessions = []

    class Short(judge_notebook.__globals__["Session"]):
        def __init__(self, start, seconds):
            sessions.append(self)
            super().__init__(start, seconds if len(sessions) == 1 else 0)

    monkeypatch.setitem(judge_notebook.__globals__, "Session", Short)
    solved.cells.insert(2, nbformat.v4.new_code_cell(ODD))
    judged = judge(solved)
    assert judged.score == assignment.automatic and len(sessions) == 3
    assert len(judged.notes) == 2
    assert all("no time left" in note and "please read" in note for note in judged.notes)


# Names that alone are longer than a note.
LONG = "\n".join(f"try:\n    torch.{'x' * 60}{n}\nexcept Exception:\n    pass" for n in range(8))
SLY = (
    "import sys\nlast = []\n"
    "def scaled_dot_product_attention(q, k, v, mask=None):\n"
    "    last[:] = [sys._getframe()]\n"
    "    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])\n"
    "    if mask is not None:\n"
    "        scores = scores.masked_fill(~mask, -torch.inf)\n"
    "    return scores.softmax(-1) @ v, scores.softmax(-1)"
)
SOON = "tables = F.scaled_dot_product_attention(*[torch.ones(1, 1, 2, 4)] * 3)[0, 0, 0, 0].item()"
USING = (
    "def scaled_dot_product_attention(q, k, v, mask=None):\n"
    "    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]) * tables\n"
    "    if mask is not None:\n"
    "        scores = scores.masked_fill(~mask, -torch.inf)\n"
    "    return scores.softmax(-1) @ v, scores.softmax(-1)"
)


def test_what_was_worked_out_before_by_the_forbidden_earns_nothing(judge, answer, others):
    """By everyday names alone."""
    judged = judge(answer(f"{SOON}\n{USING}"))
    assert judged.score == others
    assert any("cannot be reached at all; that counts" in note for note in judged.notes)


def test_a_cell_that_fails_there_alone_takes_no_points_and_asks_for_a_person(
    judge, answer, assignment
):
    failing = f"try:\n    {SOON}\nexcept Exception:\n    raise ValueError('of mine') from None\n"
    judged = judge(answer(failing + USING))
    assert judged.score == assignment.automatic
    (note,) = judged.notes
    assert "ValueError: of mine" in note and "please read" in note


@pytest.mark.parametrize("sign", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c"])
def test_other_ends_of_lines_cost_nothing(judge, answer, assignment, sign):
    source = USING.replace(" * tables", "")
    judged = judge(answer(f"import sys\nprint(sys.version)  # from{sign}a slide\n{source}"))
    assert judged.score == assignment.automatic and judged.notes == []


STARTS = """
import os, subprocess, sys, threading

def starts():
    made = []
    for way in (
        lambda: os.fork() or os._exit(0),
        lambda: os.posix_spawn("/bin/true", ["true"], {}),
        lambda: subprocess.run([sys.executable, "-c", "1"]),
        lambda: os.system("true") and 1 / 0,
        lambda: __import__("multiprocessing").Pool(1).close(),
    ):
        try:
            way()
            made.append("made")
        except Exception as error:
            made.append(type(error).__name__)
    return made

def threads():
    found = []
    thread = threading.Thread(target=found.append, args=(1,))
    thread.start()
    thread.join()
    return found
"""


def test_no_process_is_made_where_an_answer_is_looked_at_again(forkserver):
    with Worker(forkserver, without=["attention"]) as worker:
        worker.run(STARTS)
        assert "made" not in worker.proxy().call("starts").value
        assert worker.proxy().call("threads").value == [1]


def test_an_answer_makes_no_process_and_a_cell_may(forkserver):
    with Worker(forkserver) as worker:
        worker.run(STARTS)
        proxy = worker.proxy()
        with proxy.refusing(["attention"], "an.exercise"):
            assert set(proxy.call("starts").value) == {"NotAllowed"}
            assert proxy.call("threads").value == [1]
        assert worker.run("import subprocess\nprint(subprocess.run(['true']).returncode)") != []
        assert "made" in worker.run("print(subprocess.run(['true']) and 'made')")[0]["text"]


def test_a_probe_keeps_its_caps_where_it_cannot_fork(forkserver):
    """And says the same as where it can."""
    with Worker(forkserver, without=["attention"]) as bare, Worker(forkserver) as other:
        for worker in (bare, other):
            worker.run("import torch\ndef big(n): return torch.ones(n) + 1")
            caps = {"memory": 100, "cpu": 2, "keep": [(slice(0, 3),)]}
            proxy = worker.proxy()
            assert proxy.probe("big", [2**20], **caps).value[0].tolist() == [2, 2, 2]
            assert "more than 100 MiB" in proxy.probe("big", [2**28], **caps).error.message
            assert proxy.probe("big", [2**20], **caps).value[0].tolist() == [2, 2, 2]
