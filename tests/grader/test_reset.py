"""A student gets cells back, and keeps the rest."""

import errno
import json
import os
import re

import nbformat
import pytest

from course_lib.cli import main
from grader import authoring
from grader.checks.cell import examine
from grader.student.proof import packed
from grader.student.reset import KEPT

NAME = "03_attention"
FIRST = "attention.scaled_dot_product"
MARK = "attention-scaled_dot_product"
OWN = "def scaled_dot_product_attention(q, k, v, mask=None):\n    return v, q @ k.mT\n"


@pytest.fixture
def notebook(assignment, tmp_path, monkeypatch, root):
    monkeypatch.chdir(root)
    made = nbformat.from_dict(assignment.release)
    cell(made, f"{MARK}-solution").source = OWN
    own = nbformat.v4.new_code_cell("mine = 1", id="mine")
    own.outputs = [nbformat.v4.new_output("stream", text="seen")]
    made.cells.append(own)

    class Desk:
        path = tmp_path / f"{NAME}.ipynb"

        def save(self):
            self.path.write_text(authoring.text(made), encoding="utf-8")

        def now(self):
            return nbformat.read(self.path, as_version=4)

        def kept(self):
            return sorted((tmp_path / KEPT).glob("*")) if (tmp_path / KEPT).exists() else []

    desk = Desk()
    desk.cells, desk.made = made.cells, made
    desk.save()
    return desk


def cell(notebook, mark):
    return next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == mark)


def reset(capsys, *arguments):
    code = main(["reset", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("called", [FIRST, f"{MARK}-solution", "scaled_dot_product_attention"])
def test_a_cell_comes_back_and_the_rest_stays(notebook, assignment, capsys, called):
    before = notebook.path.read_bytes()
    code, out, _ = reset(capsys, notebook.path, called, "--dry-run")
    assert code == 0 and "dry run: 1 changes" in out and notebook.path.read_bytes() == before
    assert not notebook.kept()
    code, out, _ = reset(capsys, notebook.path, called)
    assert code == 0 and f"`{MARK}-solution` is as it was handed out" in out
    released = cell(assignment.release, f"{MARK}-solution")
    now = notebook.now()
    assert cell(now, f"{MARK}-solution").source == released.source
    was = nbformat.reads(before.decode(), as_version=4)
    others = [(a, b) for a, b in zip(was.cells, now.cells, strict=True) if a != b]
    assert len(others) == 1 and now.cells[-1].outputs[0].text == "seen"
    assert [kept.read_bytes() for kept in notebook.kept()] == [before]
    code, out, _ = reset(capsys, notebook.path, called)
    assert code == 0 and "nothing to restore" in out and len(notebook.kept()) == 1


def test_without_a_name_what_is_missing_or_changed_comes_back_and_answers_stay(
    notebook, assignment, capsys
):
    third = assignment.exercises[2].grade_id
    second = f"{assignment.exercises[1].grade_id}-solution"
    notebook.cells[:] = [c for c in notebook.cells if c.id not in (third, second)]
    cell(notebook.made, MARK).source = "check('something else')"
    notebook.save()
    code, out, _ = reset(capsys, notebook.path)
    assert code == 0 and out.count("missing and is back") == 2
    now = notebook.now()
    assert cell(now, f"{MARK}-solution").source == OWN
    assert cell(now, MARK).source == cell(assignment.release, MARK).source
    assert [c.id for c in now.cells[:-1]] == [c.id for c in assignment.release.cells]
    assert json.loads(notebook.path.read_text())["nbformat_minor"] == 5
    assert "nothing to restore" in reset(capsys, notebook.path)[1]


def test_an_answer_that_lost_its_mark_gets_it_back(notebook, capsys):
    answer = cell(notebook.made, f"{MARK}-solution")
    answer.metadata.pop("nbgrader")
    answer.id = "pasted"
    notebook.save()
    assert "has its mark again" in reset(capsys, notebook.path)[1]
    assert cell(notebook.now(), f"{MARK}-solution").source == OWN
    assert len(notebook.now().cells) == len(notebook.cells)


def test_a_copy_becomes_a_cell_of_ones_own(notebook, capsys):
    twice = nbformat.from_dict(cell(notebook.made, MARK))
    twice.id = "again"
    notebook.cells.append(twice)
    notebook.save()
    assert "a cell of your own now" in reset(capsys, notebook.path)[1]
    marks = [c.metadata.get("nbgrader", {}).get("grade_id") for c in notebook.now().cells]
    assert marks.count(MARK) == 1 and len(marks) == len(notebook.cells)


def test_all_of_it_and_again(notebook, assignment, capsys):
    assert reset(capsys, notebook.path, "--all")[0] == 0
    now = notebook.now()
    assert [c.source for c in now.cells[:-1]] == [c.source for c in assignment.release.cells]
    assert now.cells[-1].source == "mine = 1"
    cell(notebook.made, f"{MARK}-solution").source = "second = try_"
    notebook.save()
    assert reset(capsys, notebook.path, "--all", "--json")[0] == 0
    assert [kept.name for kept in notebook.kept()] == [f"{NAME}-1.ipynb", f"{NAME}-2.ipynb"]


def test_a_notebook_without_ids_and_under_another_name(notebook, capsys):
    old = json.loads(notebook.path.read_text())
    old["nbformat_minor"] = 4
    for each in old["cells"]:
        each.pop("id")
    old["cells"] = [
        c for c in old["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") != MARK
    ]
    other = notebook.path.with_name("my work.ipynb")
    other.write_text(json.dumps(old))
    code, out, _ = reset(capsys, other)
    assert code == 0 and "missing and is back" in out
    assert cell(nbformat.read(other, as_version=4), MARK)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "there is no file"),
        ("", "is empty"),
        ("{", "not a whole notebook"),
        ('{"cells": []}', "to no assignment that is known"),
    ],
)
def test_what_is_no_notebook_of_ours_is_refused_in_a_line(content, why, tmp_path, capsys):
    path = tmp_path / "mine.ipynb"
    if content is not None:
        path.write_text(content)
    code, _, err = reset(capsys, path)
    assert code == 2 and why in err and err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["mine.ipynb"] * (content is not None)


def test_an_unknown_cell_is_refused_with_those_there_are(notebook, capsys):
    before = notebook.path.read_bytes()
    code, _, err = reset(capsys, notebook.path, "attention.nothing")
    assert code == 2 and FIRST in err and err.count("\n") == 1
    assert "leave out" in reset(capsys, notebook.path, FIRST, "--all")[2]
    assert notebook.path.read_bytes() == before and not notebook.kept()


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_mark_of_byte_order_and_half_a_pair_of_surrogates_stop_no_command(notebook, root, mark):
    cell(notebook.made, f"{MARK}-solution").source = "mine = '@'"
    text = authoring.text(notebook.made).replace("@", "\\ud83d")
    notebook.path.write_bytes(mark + text.encode())
    assert "mine = '?'" in packed(notebook.path, root, {}).content
    assert main(["reset", str(notebook.path), f"{MARK}-solution"]) == 0
    assert cell(notebook.now(), f"{MARK}-solution").source != "mine = '?'"


def test_the_copy_comes_first(notebook, capsys, monkeypatch):
    before = notebook.path.read_bytes()

    replace = os.replace

    def stop(part, path):
        if path == notebook.path:
            raise OSError(errno.ENOSPC, "the disk is full")
        replace(part, path)

    monkeypatch.setattr(os, "replace", stop)
    assert reset(capsys, notebook.path, FIRST)[0] == 2
    assert notebook.path.read_bytes() == before == notebook.kept()[0].read_bytes()


def test_a_check_says_how_to_start_over(monkeypatch):
    def table(**names):
        return " ".join(examine(FIRST, names).table().split())

    def wrong(q, k, v, mask=None):
        return v, (q @ k.mT).softmax(-1)

    def unwritten(q, k, v, mask=None):
        raise NotImplementedError

    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    name = "scaled_dot_product_attention"
    assert f"To start over: `course reset NOTEBOOK {FIRST}`" in table(**{name: wrong})
    assert "course reset" not in table(**{name: unwritten})
    monkeypatch.setenv("JPY_SESSION_NAME", f"a folder/{NAME}.ipynb")
    gone = table()
    assert f"`course reset {NAME}.ipynb {FIRST}`" in gone
    assert re.search(r"points Is its cell gone\?", gone)
