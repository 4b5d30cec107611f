"""The command line: help, exit codes, errors that say what to do."""

import contextlib
import dataclasses
import errno
import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import torch

from course_lib import experiments
from course_lib.cli import main, parser
from grader.base.errors import Refused
from grader.cli import SAYS, Interrupt, common
from grader.cli.common import checkout, jobs

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def in_the_checkout(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("command", sorted({*parser().commands.choices} - {"help"}))
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as done:
        main([command, "--help"])
    assert done.value.code == 0 and "usage: course" in capsys.readouterr().out


def test_cores_are_counted_where_a_system_does_not_say_which_are_ours(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    assert jobs(SimpleNamespace(jobs=None)) == os.cpu_count()
    assert jobs(SimpleNamespace(jobs=3)) == 3


def test_no_command_and_an_unknown_one_are_refused(capsys):
    for arguments in ([], ["nonsense"]):
        with pytest.raises(SystemExit) as done:
            main(arguments)
        assert done.value.code == 2


def refused(capsys, *arguments):
    assert main(arguments) == 2
    return capsys.readouterr().err


def ends_with(monkeypatch, error):
    def handler(arguments):
        raise error

    monkeypatch.setattr("course_lib.cli.research.run_data", handler)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no number"),
        OSError("a sentence alone"),
        OSError(errno.EBADF, "Bad file descriptor"),
        ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
        TimeoutError(),
        ImportError("cannot import name", name="course_lib.nothing"),
        ModuleNotFoundError("No module", name="course_lib.nothing"),
    ],
    ids=repr,
)
def test_a_fault_of_the_program_keeps_its_traceback(monkeypatch, error):
    ends_with(monkeypatch, error)
    with pytest.raises(type(error)) as raised:
        main(["data"])
    assert raised.value is error


@pytest.mark.parametrize(
    "error",
    [
        Refused("wanted another"),
        FileNotFoundError("not built: 03"),
        PermissionError(errno.EACCES, "Permission denied", "gradebook.db"),
        OSError(errno.EIO, "Input/output error", "gradebook.db"),
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EADDRINUSE, "Address already in use"),
        FloatingPointError("extrapolation alibi cpu seed 0: loss is nan at step 3"),
    ],
    ids=repr,
)
def test_what_is_no_fault_of_the_program_is_a_line(capsys, monkeypatch, error):
    ends_with(monkeypatch, error)
    assert refused(capsys, "data") == re.sub(r"\[Errno \d+\] ", "", f"course: {error}\n")


def test_a_package_of_another_role_is_named(capsys, monkeypatch):
    ends_with(
        monkeypatch, ModuleNotFoundError("No module named 'nbgrader.api'", name="nbgrader.api")
    )
    assert "nbgrader.api is not installed: `make install`" in refused(capsys, "data")


def test_help_shows_ten_commands_and_each_group_its_own(capsys):
    def listed(*arguments):
        with contextlib.suppress(SystemExit):
            assert main(arguments) == 0
        return re.findall(r"^  ([a-z-]+)(?: |$)", capsys.readouterr().out, re.MULTILINE)

    every = [*parser().commands.choices]
    assert len(listed("--help")) == 10
    assert listed("help", "learn") == ["check", "reset", "prove", "verify", "experiment"]
    assert sorted(listed("help", "--all")) == sorted({*every} - {"help"})
    assert "usage: course grade" in (main(["help", "grade"]), capsys.readouterr().out)[1]
    assert "the groups are read, learn" in refused(capsys, "help", "nothing")


def test_nobodys_name_moves_the_cursor_or_turns_a_line_round(capsys, monkeypatch):
    name = "ada\u202e\x1b[2J\x9b1m\udcff\u2066\r"
    ends_with(monkeypatch, Refused(f"{name} is not there"))
    said = [refused(capsys, "data")]
    common.emit(SimpleNamespace(json=False), {}, name)
    common.say(name)
    said += capsys.readouterr()
    common.emit(SimpleNamespace(json=True), {"name": name})
    said.append(capsys.readouterr().out)
    assert all("ada" in text and text.replace("\n", "").isprintable() for text in said)
    assert json.loads(said[-1]) == {"name": name}


@pytest.mark.parametrize("alphabet", ["ascii", "cp850", "iso8859-1", "cp1252", "utf-8"])
def test_any_console_prints_what_it_can(monkeypatch, alphabet):
    name, screens = (
        "Zoë’s … × 注意 \udcff",
        [io.TextIOWrapper(io.BytesIO(), alphabet) for _ in "ab"],
    )
    for screen, stream in zip(screens, ("stdout", "stderr"), strict=True):
        monkeypatch.setattr(sys, stream, screen)
    ends_with(monkeypatch, Refused(name))
    assert main(["data"]) == 2
    common.emit(SimpleNamespace(json=True), {"name": name})
    out, said = (s.flush() or s.buffer.getvalue().decode(alphabet) for s in screens)
    assert json.loads(out) == {"name": name}
    assert alphabet != "ascii" or said == "course: Zoe's ... x ?? ?\n"
    assert alphabet != "utf-8" or said == "course: Zoë’s … × 注意 \N{REPLACEMENT CHARACTER}\n"


def test_help_is_printed_on_a_plain_console(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
    with pytest.raises(SystemExit, match="0"):
        main(["check", "--help"])  # has a sign of omission


WINDOWS = """
import os, sys
from pathlib import Path
for name in ("fcntl", "resource"):
    sys.modules[name] = None
for name in ("O_NOFOLLOW", "O_NONBLOCK", "fchmod", "killpg", "sched_getaffinity"):
    delattr(os, name)
from course_lib.cli import main
from grader.intake import parsing
from grader.student.proof import packed
notebook = Path(sys.argv[1])
assert packed(notebook, Path.cwd(), {}).modules == {"my_helpers.py": "x = 1\\n"}
sys.exit(main(["reset", str(notebook)]))
"""


def test_students_commands_read_and_write_without_what_windows_lacks(tmp_path):
    notebook = tmp_path / "03_attention.ipynb"
    notebook.write_bytes((ROOT / "exercises/03_attention/03_attention.ipynb").read_bytes())
    (tmp_path / "my_helpers.py").write_text("x = 1\n")
    said = subprocess.run([sys.executable, "-c", WINDOWS, notebook], cwd=ROOT, capture_output=True)
    assert said.returncode == 0, said.stderr.decode()


def test_a_refusal_tells_where_it_came_from_when_asked(capsys, monkeypatch):
    assert refused(capsys, "data", "nothing").startswith("course: no data set ")
    monkeypatch.setenv("COURSE_TRACEBACK", "1")
    said = refused(capsys, "data", "nothing")
    assert said.startswith("Traceback") and "in run_data" in said
    assert said.splitlines()[-1].startswith("course: no data set ")


def test_refusals_say_what_there_is(capsys, tmp_path, monkeypatch):
    assert "there are 00_start, 01_seq2seq" in refused(capsys, "grade", "99_nothing")
    assert "attention.scaled_dot_product" in refused(capsys, "matrix", "attention.nothing")
    assert "at least 1" in refused(capsys, "matrix", "--seeds", "0")
    assert "there are translation" in refused(capsys, "data", "nothing")
    assert "no experiment 'nothing'" in refused(capsys, "run", "nothing")
    assert "its own folder" in refused(
        capsys, "grade", "03_attention", "--sample", "--course", str(tmp_path)
    )
    assert "nothing in" in refused(capsys, "grade", "03_attention", "--course", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert "not inside a checkout" in refused(capsys, "exercises", "--check")


def test_matrix_ends_with_its_line_and_speaks_json(capsys):
    arguments = ["matrix", "attention.scaled_dot_product", "--seeds", "1"]
    assert main(arguments) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "exercises 1, mistakes 11/11 rejected, 11/11 named, alternatives 4/4 full marks,"
        " stubs 1/1 zero, misnamed 0, seeds 1"
    )
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rejected"] == 11


def test_data_lists_licences(capsys):
    assert main(["data"]) == 0
    assert "CC BY-ND 4.0" in capsys.readouterr().out


def test_run_lists_experiments(capsys):
    assert main(["run"]) == 0
    out = capsys.readouterr().out
    assert "seq2seq-bottleneck" in out and "vit-cifar10" in out


def test_a_record_is_run_again(capsys, tmp_path):
    record = experiments.load_records(experiments.SHIPPED_RESULTS, "extrapolation")[0]
    assert [*record.numbers][:2] == ["test_loss", "loss_by_place.16"]
    path = tmp_path / "extrapolation" / record.file_name
    path.parent.mkdir()
    wrong = record.results | {"test_loss": record.results["test_loss"] + 1}
    threads = torch.get_num_threads()
    one_more = record.hardware | {"threads": threads + 1}
    path.write_text(dataclasses.replace(record, results=wrong, hardware=one_more).to_json())
    asked = ["results", "--results", str(tmp_path), "--verify", "extrapolation/alibi-cpu-0"]
    assert main([*asked, "--json"]) == 0
    rows = {row["metric"]: row for row in json.loads(capsys.readouterr().out)}
    near = {m for m, row in rows.items() if math.isclose(row["recorded"], row["now"], rel_tol=0.05)}
    assert [*rows] == [*record.numbers]
    assert rows.keys() - near == {"test_loss"}
    again = experiments.load_records(checkout() / "_build" / "verify", "extrapolation")
    verified = {r.hardware["threads"] for r in again if r.file_name == record.file_name}
    assert verified == {threads + 1}
    assert torch.get_num_threads() == threads
    path.write_text(dataclasses.replace(record, config={"other": 1}).to_json())
    assert "have changed since" in refused(capsys, *asked)
    assert "no record 'none' of extrapolation" in refused(capsys, *asked[:-1], "extrapolation/none")


def test_results_are_the_rows_of_the_records(capsys, tmp_path):
    assert main(["results", "--json", "--document", "ablation-report"]) == 0
    found = json.loads(capsys.readouterr().out)
    keys = {"document", "table", "row", "claimed", "mean", "std", "n", "size", "verdict"}
    keys |= {"margin", "document_inside", "compared_with", "family", "p_adjusted"}
    keys |= {"reach", "differs", "differs_from_document", "machine", "converged"}
    keys |= {"prediction_interval"}
    assert all(keys <= set(row) for row in found)
    assert {row["table"] for row in found} >= {f"Table {i}" for i in range(1, 7)}
    assert {row["document"] for row in found} == {"ablation-report"}
    assert main(["results"]) == 0
    out = capsys.readouterr().out
    assert "the CIFAR-10 report: " in out and "at the document's setting" in out
    assert max(map(len, out.splitlines())) <= 100
    assert main(["results", "--json", "--results", str(tmp_path)]) == 0
    assert {(row["verdict"], row["n"]) for row in json.loads(capsys.readouterr().out)} == {
        ("not run", 0)
    }
    assert "there are cifar-report" in refused(capsys, "results", "--document", "a novel")
    assert "no records in" in refused(capsys, "results", "--results", str(tmp_path / "none"))


def test_links_that_nobody_answered_are_not_called_broken(capsys, monkeypatch):
    def link(status, uri):
        return {"status": status, "uri": uri, "filename": "a.md", "lineno": 3, "info": "no answer"}

    silent, there = link("broken", "https://a.org/x"), link("working", "https://b.org/")
    placeholder = link("ignored", "https://example.org/")
    found = [silent, placeholder]
    monkeypatch.setattr("course_lib.book.links", lambda root, echo: found)
    said = refused(capsys, "book", "--links")
    assert "none of 1 links answered" in said and "https://a.org/x (no answer)" in said
    found.append(there)
    assert main(["book", "--links"]) == 1
    out = capsys.readouterr().out
    assert "a.md:3 https://a.org/x (no answer)" in out and "1 broken, 1 ignored, 1 working" in out
    assert main(["book", "--links", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["silent"] == [silent]
    found.remove(silent)
    assert main(["book", "--links"]) == 0


SLOW = "import time\n\ntime.sleep(50)\n"


@pytest.fixture
def class_of_three(tmp_path):
    """A course folder; the last student's notebook takes longer than any test waits."""
    from grader import authoring, sample

    assignment = authoring.named(ROOT, "03_attention")
    sample.make(tmp_path, assignment, lambda s: s in ("ada-full", "cleo-stub"))
    released = nbformat.read(ROOT / "exercises/03_attention/03_attention.ipynb", as_version=4)
    last = tmp_path / "submitted/zoe/03_attention/03_attention.ipynb"
    last.parent.mkdir(parents=True)
    quick = authoring.text(released)
    released.cells.insert(0, nbformat.v4.new_code_cell(SLOW))
    last.write_text(authoring.text(released), encoding="utf-8")
    return tmp_path, lambda: last.write_text(quick, encoding="utf-8")


def grading(course, *more):
    command = [sys.executable, "-m", "course_lib.cli", "grade", "03_attention", "--jobs", "1"]
    return subprocess.Popen(
        [*command, "--course", str(course), *more],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def interrupted(process, when):
    """Press Ctrl-C as soon as ``when`` holds; what was said."""
    while not when() and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "again to resume" in said, said
    assert "Traceback" not in said
    return said


def test_a_killed_grading_run_is_finished_by_the_next(class_of_three):
    course, quicken = class_of_three

    def graded():
        return len(list(course.glob("autograded/*/*/verdict.json")))

    interrupted(grading(course), lambda: graded() == 2)
    quicken()
    again = grading(course, "--json")
    facts = json.loads(again.communicate(timeout=120)[0])
    assert len(facts["students"]) == 3 and facts["graded_now"] == 1


@pytest.mark.sample(".kits", "gradebook.db")
@pytest.mark.parametrize("there", [".kits", ".grading-seeds.json", ".grading.lock", "gradebook.db"])
def test_ctrl_c_while_it_starts_is_not_lost(class_of_three, there):
    course, _ = class_of_three
    interrupted(grading(course), lambda: (course / there).exists())


def test_ctrl_c_that_became_another_error_is_still_ctrl_c(monkeypatch, capsys):
    from grader.cli import grading as commands

    def swallowed(arguments):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise ImportError("initialisation failed")

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(commands, "run_grade", swallowed)
    try:
        assert main(["grade", "03_attention"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert "again to resume" in capsys.readouterr().err


def test_ctrl_c_upon_code_made_from_text_ends_with_the_same_code(tmp_path):
    (tmp_path / "program.py").write_text("""
import sys
from grader.cli import Interrupt
with Interrupt() as interrupt:
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        code = interrupt.say()
sys.exit(code)
""")
    command, path = [sys.executable, "-m", "program"], os.pathsep.join([str(tmp_path), str(ROOT)])
    ended = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert (ended.returncode, ended.stderr.strip()) == (130, SAYS)


def test_ctrl_c_in_a_destructor_is_remembered_without_a_traceback(capsys):
    class Closing:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    hook = sys.unraisablehook
    with Interrupt() as interrupt:
        Closing()
        with pytest.raises(KeyboardInterrupt):
            interrupt.check()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    assert capsys.readouterr().err == "" and sys.unraisablehook is hook


def test_serve_serves_the_book(built_book):
    server = subprocess.Popen(
        [sys.executable, "-m", "course_lib.cli", "serve", "--port", "0"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        address = server.stdout.readline().split()[0]
        with urllib.request.urlopen(address) as page:
            assert page.status == 200
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=20) == 0


def test_serve_refuses_what_is_no_port(capsys):
    assert "a port is a number from 0" in refused(capsys, "serve", "--port", "99999")


def test_the_gradebook_may_be_named_once_for_all_commands(monkeypatch):
    monkeypatch.setenv("COURSE_GRADEBOOK", "postgresql://grader@host/grades")
    for command in (["grade", "03_attention"], ["doctor"], ["rename", "a", "b"]):
        assert parser().parse_args(command).db == "postgresql://grader@host/grades"
    assert parser().parse_args(["grade", "03_attention", "--db", "sqlite://"]).db == "sqlite://"


@pytest.mark.parametrize(
    "command",
    [["bench", "attention"], ["matrix"], ["attacks"], ["matrix", "--judge"]],
)
def test_what_measures_the_course_comes_with_its_sources(command, tmp_path, monkeypatch, capsys):
    (tmp_path / "course.toml").touch()
    (tmp_path / "solutions").mkdir()
    monkeypatch.chdir(tmp_path)
    assert "is missing: it is part of the repository" in refused(capsys, *command)


def test_the_library_measures_nothing_without_them():
    paths = [path for name in ("course_lib", "grader") for path in (ROOT / name).rglob("*.py")]
    naming = [path for path in paths if "course_tests" in path.read_text(encoding="utf-8")]
    assert naming == [ROOT / "grader/cli/common.py"]
