"""``check`` in a kernel: a float for nbgrader, a table for the student, nothing on stderr."""

import json
import logging
import os
import subprocess
import sys
import warnings
from datetime import date
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from grader.base.errors import Refused
from grader.checks import cell, check, grading, recognition, seeds
from grader.checks.exercise import find, namespace

EXERCISE = "attention.scaled_dot_product"


def names(source=None):
    exercise = find(EXERCISE)
    return namespace(exercise, source or exercise.alternatives[0].source)


def test_full_points_are_a_builtin_float(capsys):
    points = check(EXERCISE, names())
    assert type(points) is float and points == find(EXERCISE).points
    assert "6 of 6 points" in capsys.readouterr().out


def test_a_mistake_is_named_with_its_hint(capsys):
    mistake = find(EXERCISE).mistakes[0]
    points = check(EXERCISE, names(mistake.source))
    said = capsys.readouterr().out
    assert 0 < points < find(EXERCISE).points
    assert "known mistake: unscaled" in said and mistake.hint in said
    assert seeds.ENVIRONMENT in said, "a failing run can be repeated"
    check(EXERCISE, names(mistake.source))
    again = capsys.readouterr().out
    assert seeds.ENVIRONMENT not in again and "course reset" not in again, "to say it once will do"


def test_a_notebook_says_the_number_of_the_task_and_shows_no_number_below(monkeypatch, capsys):
    notebook = Path(__file__).parents[3] / "exercises/03_attention/03_attention.ipynb"
    monkeypatch.setenv("JPY_SESSION_NAME", str(notebook))
    monkeypatch.setenv("HOME", "/nowhere")
    monkeypatch.delenv(cell.NBGRADER, raising=False)
    shell = InteractiveShell.instance()
    monkeypatch.setattr(shell, "kernel", None, raising=False)
    points = check(EXERCISE, names())
    assert capsys.readouterr().out.startswith(f"3.1 Attention, from the formula ({EXERCISE}): 6 of")
    assert shell.display_formatter.format(points) == ({}, {}) and points == 6
    monkeypatch.setenv(cell.NBGRADER, "autograde")
    points = check(EXERCISE, names())
    assert shell.display_formatter.format(points)[0] == {"text/plain": "6.0"}
    InteractiveShell.clear_instance()


def test_what_takes_long_says_how_far_it_is(capsys, monkeypatch):
    for module in (grading, recognition):
        monkeypatch.setattr(module, "BEFORE_IT_SHOWS", 0)
    mistaken = names(find(EXERCISE).mistakes[0].source)
    check(EXERCISE, mistaken)
    assert "tried" not in capsys.readouterr().out
    cell.examine(EXERCISE, mistaken, progress=True)
    said = capsys.readouterr().out
    assert "properties tried:" in said and "known mistakes compared:" in said


def test_a_stub_says_that_it_is_one(capsys):
    assert check(EXERCISE, {"scaled_dot_product_attention": _stub}) == 0.0
    assert "Not written yet" in capsys.readouterr().out
    assert check(EXERCISE, {}) == 0.0
    assert "is not defined" in capsys.readouterr().out


def _stub(*args):
    raise NotImplementedError


def test_nothing_reaches_stderr_whichever_way_it_is_written(capfd):
    handler = logging.StreamHandler()  # holds today's sys.stderr
    logger = logging.getLogger("noisy")
    logger.addHandler(handler)
    right = names()["scaled_dot_product_attention"]

    def noisy(*args):
        warnings.warn("by warning", stacklevel=1)
        logger.warning("by logging")
        print("by name", file=sys.stderr)
        os.write(2, b"by descriptor\n")
        return right(*args)

    try:
        points = check(EXERCISE, {"scaled_dot_product_attention": noisy})
    finally:
        logger.removeHandler(handler)
    out, err = capfd.readouterr()
    assert points == find(EXERCISE).points and err == ""
    # pytest keeps warnings to itself; tests/grader/test_stock.py sees them in a real kernel.
    for way in ("by logging", "by name", "by descriptor"):
        assert way in out


def test_stderr_works_again_afterwards(capfd):
    check(EXERCISE, names())
    print("still here", file=sys.stderr)
    assert capfd.readouterr().err == "still here\n"


def test_an_unknown_exercise_names_its_neighbours():
    with pytest.raises(Refused, match="did you mean attention.scaled_dot_product"):
        check("attention.scaled_dot_produkt")
    with pytest.raises(Refused, match="topics are .*attention"):
        check("nonsense")
    with pytest.raises(Refused, match="no exercise None"):
        check(None)


def test_a_notebook_shows_a_wrong_id_in_one_line(capsys):
    shell = InteractiveShell()
    shell.run_cell("from grader.checks import check")
    capsys.readouterr()
    shell.run_cell('check("attention.scaled_dot_produkt")')
    said = capsys.readouterr().out
    assert "did you mean attention.scaled_dot_product" in said
    assert said.strip().count("\n") == 0


def test_the_same_seed_gives_the_same_table(capsys, monkeypatch):
    monkeypatch.setenv(seeds.ENVIRONMENT, "aa")
    source = find(EXERCISE).mistakes[1].source
    check(EXERCISE, names(source))
    first = capsys.readouterr().out
    cell._advised.clear()
    check(EXERCISE, names(source))
    assert capsys.readouterr().out == first


def test_a_notebook_keeps_the_best_points_in_a_file_of_the_student(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / cell.PROGRESS
    check(EXERCISE, names())
    assert not file.exists(), "whoever grades has no progress"
    monkeypatch.setenv("JPY_SESSION_NAME", "03_attention.ipynb")
    mistaken = check(EXERCISE, names(find(EXERCISE).mistakes[0].source))
    assert json.loads(file.read_text())["exercises"][EXERCISE]["points"] == mistaken
    full = check(EXERCISE, names())
    check(EXERCISE, names(find(EXERCISE).mistakes[0].source))
    kept = json.loads(file.read_text())
    today = date.today().isoformat()
    assert kept["exercises"][EXERCISE] == {"points": full, "of": full, "on": today}
    assert full == find(EXERCISE).points


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"version": 2}', '{"version": 1, "exercises": 3}']
)
def test_a_file_that_holds_something_else_is_left_alone(text, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("JPY_SESSION_NAME", "03_attention.ipynb")
    file = tmp_path / cell.PROGRESS
    file.write_text(text)
    assert check(EXERCISE, names()) == find(EXERCISE).points
    assert file.read_text() == text
    file.unlink()
    file.mkdir()
    assert check(EXERCISE, names()) == find(EXERCISE).points


ASKS = """
import importlib.util
from grader.checks.shell import alone
alone({"pytest", "docs"})
print(importlib.util.find_spec("pytest"), importlib.util.find_spec("json").name)
import docs
print(docs.HALF)
import pytest
"""


def test_a_package_that_is_not_there_is_not_found_by_asking_and_an_own_module_is(tmp_path):
    (tmp_path / "docs.py").write_text("HALF = 0.5\n")
    asked = [sys.executable, "-c", ASKS]
    ended = subprocess.run(asked, capture_output=True, text=True, cwd=tmp_path)
    assert ended.stdout == "None json\n0.5\n"
    assert ended.stderr.endswith("pytest is not there while work is graded\n")
