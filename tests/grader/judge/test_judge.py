"""What students' notebooks do to the judge, with real workers."""

import re
import subprocess
import time
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from grader.judge import sandbox_package
from grader.judge.causes import Raised, root, worth_a_note
from grader.judge.channel import Limits, Worker
from grader.judge.forkserver import ForkServer, WorkerFailed

# The weights of a right answer, as the lines of its body.
WEIGHTS = (
    "    scores = q / q.shape[-1] ** 0.5 @ k.transpose(-2, -1)\n"
    "    if mask is not None:\n"
    "        scores = scores.masked_fill(~mask, -float('inf'))\n"
)
RIGHT = """
import sys, warnings

def scaled_dot_product_attention(q, k, v, mask=None):
    warnings.warn("an honest warning")
    print("thinking", file=sys.stderr)
WEIGHTS    return scores.softmax(-1) @ v, scores.softmax(-1)
""".replace("WEIGHTS", WEIGHTS)


def test_solution_stub_and_mistake(judge, assignment, solved, answer, first, others):
    assert judge(solved).score == assignment.automatic
    stub = judge(assignment.release)
    assert stub.score == 0 and not stub.notes
    wrong = judge(answer(first.mistakes[0].source))
    assert others < wrong.score < assignment.automatic
    assert wrong.marks[0].report.named == first.mistakes[0].name


def test_outputs_are_kept(judge, solved):
    solved.cells.insert(1, new_code_cell("print('hello')\n6 * 7"))
    solved.cells.insert(
        2, new_code_cell("%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);")
    )
    cells = judge(solved).notebook.cells
    assert cells[1].outputs[0].text == "hello\n"
    assert cells[1].outputs[1].data["text/plain"] == "42"
    assert any("image/png" in o.get("data", {}) for o in cells[2].outputs)


@pytest.mark.sample("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
@pytest.mark.parametrize(
    "fatal", ["import os; os._exit(3)", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]
)
def test_a_cell_that_kills_the_worker_costs_only_itself(judge, solved, assignment, fatal):
    solved.cells.insert(1, new_code_cell(fatal))
    judged = judge(solved)
    assert judged.score == assignment.automatic
    assert "ended" in " ".join(judged.notes)


def test_an_answer_that_kills_the_worker_costs_its_own_exercise(judge, answer, others):
    judged = judge(
        answer("def scaled_dot_product_attention(*args):\n    import os\n    os._exit(3)")
    )
    assert judged.score == others
    assert "did not survive" in judged.marks[0].reason


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("while True: pass", marks=pytest.mark.slow),
        "while True:\n        try:\n            while True: pass\n"
        "        except BaseException: pass",
    ],
)
def test_an_endless_answer_costs_its_own_exercise(judge, answer, others, body):
    source = f"def scaled_dot_product_attention(*args):\n    {body}"
    judged = judge(answer(source), Limits(cell=20, call=3))
    assert judged.score == others and "no answer within" in judged.marks[0].reason


def test_memory_is_capped(judge, answer, others):
    source = (
        "def scaled_dot_product_attention(*args):\n    import torch\n    return torch.ones(2**33)"
    )
    judged = judge(answer(source), Limits(memory=6 * 2**30, call=20))
    assert judged.score == others


def test_a_flood_of_output_is_not_kept(judge, solved, assignment):
    solved.cells.insert(1, new_code_cell("print('x' * 50_000_000)"))
    judged = judge(solved)
    assert judged.score == assignment.automatic
    assert len(nbformat.writes(judged.notebook)) < 1_000_000


def test_whatever_is_written_into_the_socket_is_refused(judge, solved):
    source = """
import os, stat
for fd in range(3, 64):
    try:
        if stat.S_ISSOCK(os.fstat(fd).st_mode):
            os.write(fd, b"\\0" * 7 + b"\\2{}" * 50)
    except OSError:
        pass
"""
    solved.cells.insert(1, new_code_cell(source))
    judged = judge(solved)
    assert "makes no sense" in " ".join(judged.notes) or "no output" in " ".join(judged.notes)


def test_neither_references_nor_checks_are_there(judge, answer, others):
    bank = "course_lib.bank.attention.layer_cost"
    modules = "course_lib.attention", "grader.checks.report", bank
    for module in modules:
        judged = judge(answer(f"from {module} import *"))
        cell = next(c for c in judged.notebook.cells if module in c.source)
        assert "not there while your work is graded" in cell.outputs[0].evalue
        assert judged.score == others


def test_an_import_of_the_library_costs_the_answer_that_uses_it(judge, solved, first, others):
    imports = next(c for c in solved.cells if c.cell_type == "code")
    imports.source = f"from course_lib.masks import causal_mask\n{imports.source}"
    judged = judge(solved)
    assert judged.score == judged.max_points - 2 and judged.notes == []
    answer = next(c for c in solved.cells if c.id == f"{first.grade_id}-solution")
    answer.source = f"{answer.source}\n\nown = {first.function}\n\n\n"
    answer.source += f"def {first.function}(*args):\n    causal_mask(3)\n    return own(*args)"
    judged = judge(solved)
    assert judged.score == others
    assert "course_lib.masks is not there" in judged.marks[0].report.headline


def test_an_inert_check_gives_nothing_away(judge, solved, assignment):
    solved.cells.append(new_code_cell('check("attention.scaled_dot_product")'))
    judged = judge(solved)
    assert judged.score == assignment.automatic


def test_transformers_that_strip_checks_find_none(judge, solved, assignment):
    for cell in solved.cells:
        if "-solution" in cell.metadata.get("nbgrader", {}).get("grade_id", ""):
            cell.source = "pass"
    solved.cells.insert(
        1,
        new_code_cell(
            "get_ipython().input_transformers_post.append(lambda lines: ['6.0\\n'])\n"
            "get_ipython().run_cell = None"
        ),
    )
    assert judge(solved).score == 0


def test_a_deleted_graded_cell_is_judged_at_the_end(judge, solved, assignment):
    solved.cells = [c for c in solved.cells if not c.metadata.get("nbgrader", {}).get("grade")]
    judged = judge(solved)
    assert judged.score == assignment.automatic
    assert [m.max_points for m in judged.marks if m.score is None] == [2]
    assert len(judged.marks) == len(assignment.exercises) + 1


def test_a_worker_that_cannot_start_is_nobodys_zero(tmp_path):
    package = sandbox_package.build(tmp_path)
    (package / "grader/judge/forkserver_process.py").unlink()
    with ForkServer(tmp_path) as forkserver, pytest.raises(WorkerFailed, match="did not start"):
        Worker(forkserver)


def test_magics_that_change_the_folder_work_as_at_home(forkserver):
    with Worker(forkserver) as worker:
        cells = "import os; os.mkdir('deeper')", "%cd deeper", "%reset -f", "%cd -q ..\n%pwd"
        outputs = [output for cell in cells for output in worker.run(cell)]
    assert not [o for o in outputs if o["output_type"] == "error"], outputs


def test_a_worker_leaves_nothing_behind(forkserver):
    mark = "course-left-behind"
    with Worker(forkserver) as worker:
        worker.run(
            "import subprocess, sys\n"
            f"code = 'import time; time.sleep(600) # {mark}'\n"
            "child = subprocess.Popen([sys.executable, '-c', code], start_new_session=True)"
        )
        assert running(mark)
    deadline = time.monotonic() + 10
    while running(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not running(mark)


def running(mark):
    return subprocess.run(["pgrep", "-f", mark], stdout=subprocess.DEVNULL).returncode == 0


def test_the_solution_runs_without_an_error_where_pictures_draw_nothing(judge, solved):
    judged = judge(solved)
    outputs = [o for c in judged.notebook.cells if c.cell_type == "code" for o in c.outputs]
    assert not [o for o in outputs if o.output_type == "error"]
    assert "not drawn while an answer is graded" in str(outputs)


@pytest.mark.parametrize(
    "call",
    [
        "getattr(F, 'scaled_' + 'dot_product_attention')(q, k, v, mask)",
        "torch._C._nn.scaled_dot_product_attention(q, k, v, mask)",
        "saved(q, k, v, mask)",
        "F.scaled_dot_product_attention(q, k, v, mask)",
    ],
)
def test_what_an_exercise_forbids_is_refused_there_and_works_elsewhere(judge, answer, others, call):
    source = (
        "saved = F.scaled_dot_product_attention\n"
        "print('outside', saved(*torch.ones(3, 1, 2, 2)).shape)\n"
        "import contextlib, sys, types\n"
        "for name in ('grader.checks.forbidden', 'grader.checks.answer_host'):\n"
        "    module = __import__(name, fromlist=['during'])\n"
        "    module.during = lambda *args: contextlib.nullcontext()\n"
        "    module.FORBIDDEN = {}\n"
        "def scaled_dot_product_attention(q, k, v, mask=None):\n"
        f"    out = {call}\n{WEIGHTS}"
        "    return out, scores.softmax(-1)\n"
    )
    judged = judge(answer(source))
    assert judged.score == others
    assert "may not be used in attention.scaled_dot_product" in judged.marks[0].report.headline
    cell = next(c for c in judged.notebook.cells if "outside" in c.source)
    assert "outside" in str(cell.outputs)


@pytest.mark.parametrize(
    ("first_line", "error"),
    [
        ("from google.colab import drive", "ModuleNotFoundError: No module named 'google"),
        ("%matplotlib widget", "RuntimeError: 'widget' is not a recognised GUI loop"),
        ("%matplotlb inline", "UsageError: Line magic function `%matplotlb` not found"),
        ("from helper import scale", "ModuleNotFoundError: No module named 'helper'"),
    ],
)
def test_an_import_or_a_magic_that_fails_costs_its_own_line(
    judge, solved, assignment, first_line, error
):
    imports = next(c for c in solved.cells if c.cell_type == "code")
    imports.source = f"{first_line}\n{imports.source}"
    judged = judge(solved)
    assert judged.score == assignment.automatic
    (note,) = judged.notes
    assert f"The cell that begins with `{first_line}` raised {error}" in note


@pytest.mark.parametrize(
    ("first_line", "error"),
    [
        ("x = [][0]", "IndexError: list index out of range"),
        ("x = (", "SyntaxError: '(' was never closed"),
    ],
)
def test_a_cell_that_raised_is_named_before_what_it_left_undefined(
    judge, solved, first, first_line, error
):
    imports = next(c for c in solved.cells if c.cell_type == "code")
    imports.source = f"{first_line}\n{imports.source}"
    judged = judge(solved)
    said = f"the cell that begins with `{first_line}` raised {error}"
    (note,) = judged.notes
    assert said in note.replace("The cell", "the cell")
    assert said in judged.marks[0].report.cause
    table = judged.marks[0].report.table()
    assert " ".join(table.split()).index(said[:60]) < table.index("is not defined")


@pytest.mark.parametrize(
    "source", ["x = 1" + "\n" * 120_000 + "y = 2", "x = 1\n" + " " * 120_000 + "\ny = 2"]
)
def test_empty_lines_cost_the_judge_no_time(judge, solved, assignment, source):
    solved.cells.insert(2, new_code_cell(source))
    began = time.process_time()
    assert judge(solved).score == assignment.automatic
    assert time.process_time() - began < 20, "the solution alone takes one or two"


def test_a_long_chain_of_names_that_are_missing_has_a_first_one():
    cells = [
        Raised(f"x{n} = x{n - 1}", f"NameError: name 'x{n - 1}' is not defined")
        for n in range(1, 2000)
    ]
    assert root("x1999", cells) == cells[0] and not worth_a_note(cells[-1], cells[:-1])


def test_a_definition_that_comes_too_late_is_named(judge, answer, solved, others, first):
    judged = judge(answer("def scaled_dot_product_attention(*args):\n    return later(*args)"))
    assert judged.marks[0].report.cause == ""
    solved.cells.append(new_code_cell("# mine\ndef later(q, k, v, mask=None):\n    return v, v"))
    judged = judge(solved)
    assert judged.score == others and judged.notes == []
    cause = judged.marks[0].report.cause
    assert "only further down, in the cell that begins with `def later(" in cause
    assert "order counts" in cause


def test_a_command_costs_the_cell_it_stands_in_nothing(judge, solved, assignment):
    commands = "!pip install -q einops", "!nvidia-smi", "!no-such-command", "!false", "!yes | head"
    imports = next(c for c in solved.cells if c.cell_type == "code")
    imports.source = "\n".join([*commands, imports.source])
    judged = judge(solved, Limits())
    assert judged.score == assignment.automatic and judged.notes == []


def test_a_compiled_answer_runs_as_it_is_written(judge, answer, assignment):
    compiled = (
        "import sys, warnings\n\n@torch.compile(mode='max-autotune')\n"
        + RIGHT[RIGHT.index("def ") :]
    )
    judged = judge(answer(compiled), Limits())
    assert judged.score == assignment.automatic


@pytest.mark.parametrize("used", [True, False])
def test_a_note_says_refused_only_of_what_was_refused(judge, answer, others, first, used):
    source = (
        "def compared(q, k, v, mask):\n"
        "    return F.scaled_dot_product_attention(q, k, v, mask)\n"
        f"def scaled_dot_product_attention(q, k, v, mask=None):\n{WEIGHTS}"
        f"    out = compared(q, k, v, mask) if {used} else scores.softmax(-1) @ v\n"
        "    return out, scores.softmax(-1)\n"
    )
    judged = judge(answer(source))
    assert [("it was refused" in note) for note in judged.notes] == [True] * used
    assert judged.score == others + (0 if used else first.points)


@pytest.mark.parametrize(
    "value", ["torch.zeros(1_000_000, dtype=torch.float64)", "[[float(n)] for n in range(30_000)]"]
)
def test_what_answers_send_takes_little_of_the_judges_memory(judge, solved, assignment, value):
    def memory(which):
        (kib,) = re.findall(rf"{which}:\s+(\d+) kB", Path("/proc/self/status").read_text())
        return int(kib)

    names = {f"{e.grade_id}-solution": e.function for e in assignment.exercises}
    for cell in solved.cells:
        if name := names.get(cell.metadata.get("nbgrader", {}).get("grade_id")):
            cell.source = f"import torch\n\n\ndef {name}(*args, **kwargs):\n    return {value}\n"
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = memory("VmRSS")
    assert judge(solved).score == 0
    assert memory("VmHWM") - before < 160 * 1024
