"""A student's notebook before it is submitted: `course check` and nbgrader's Validate button."""

import json

import nbformat
import pytest
from nbgrader.validator import Validator

from course_lib.cli import main
from course_tests.grader.attacks import honest
from grader import authoring, sample
from grader.checks import seeds
from grader.intake.parsing import Unreadable
from grader.student.selfcheck import read, rehearse

# Its exercises take the least time.
NAME = "03_attention"


@pytest.fixture(scope="module")
def assignment(root):
    return authoring.load(root / f"solutions/{NAME}/{NAME}.md", root)


@pytest.fixture(autouse=True)
def seed(monkeypatch):
    monkeypatch.setenv(seeds.ENVIRONMENT, "07")


def written(folder, notebook):
    path = folder / f"{NAME}.ipynb"
    path.write_text(authoring.text(notebook), encoding="utf-8")
    return path


def submitted(assignment, student):
    """One of the sample class, as a student would save it: with the release's own metadata."""
    notebook = nbformat.from_dict(assignment.release)
    answers = {c.id: c.source for c in dict(sample.submissions(assignment))[student].cells}
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = answers[cell.id]
    return notebook


def validate(path):
    validator, found, shown = Validator(), [], []
    validate = validator.validate
    validator.validate = lambda name: found.append(validate(name)) or found[-1]
    validator.stream = type("Stream", (), {"write": staticmethod(shown.append)})
    validator.validate_and_print(str(path))
    return found[0].get("failed", []), "".join(shown)


MISSED = {"ada-full": 0, "ben-partial": 4, "dan-mistaken": 3, "cleo-stub": 7}


@pytest.mark.sample("dan-mistaken", "cleo-stub")
@pytest.mark.parametrize("student", ["ada-full", "ben-partial", "dan-mistaken", "cleo-stub"])
def test_terminal_and_button_say_what_the_grader_says(assignment, student, root, tmp_path, capsys):
    path = written(tmp_path, submitted(assignment, student))
    code = main(["check", str(path), "--json"])
    found = json.loads(capsys.readouterr().out)
    missed = [r for r in found["exercises"] if r["score"] < r["max_points"]]
    assert code == (1 if missed or found["unwritten"] else 0)
    assert found["max_points"] == assignment.points
    assert len(found["unwritten"]) == len(found["notes"]) == (student == "cleo-stub")
    assert [r["exercise"] for r in found["exercises"]] == [e.id for e in assignment.exercises]

    # It also asks for an answer in words where there is none.
    every, shown = validate(path)
    failed = [cell for cell in every if cell["source"].startswith("check(")]
    assert len(every) - len(failed) == (student == "cleo-stub")
    assert len(failed) == len(missed) == MISSED[student]
    for cell, report in zip(failed, missed, strict=True):
        # The same table, line by line; the button adds none of its own, and cuts none.
        assert cell["raw_error"].strip() == report["table"].strip()
        assert "Partial credit" not in cell["raw_error"]
    known = "This looks like a known mistake" in shown and "Hint:" in shown
    assert known == (student == "dan-mistaken") and "..." not in shown


def test_tables_then_points_in_a_terminal(assignment, root, tmp_path, capsys):
    path = written(tmp_path, submitted(assignment, "ben-partial"))
    assert main(["check", str(path)]) == 1
    out = capsys.readouterr().out.strip()
    assert "attention.scaled_dot_product: 6 of 6 points" in out
    half = assignment.exercises[: len(assignment.exercises) // 2]
    points = f"points {sum(e.points for e in half):g} of {assignment.points:g}"
    assert out.splitlines()[-1] == f"{points}; 2 of them are for a person to give"
    assert "Traceback" not in out


def test_what_is_missing_or_renamed_is_said(assignment, root, tmp_path):
    notebook = submitted(assignment, "ada-full")
    first, second, third = (e.grade_id for e in assignment.exercises[:3])
    notebook.cells = [c for c in notebook.cells if c.id != second]
    for cell in notebook.cells:
        if cell.id == f"{first}-solution":
            cell.source = cell.source.replace("def scaled_dot", "def my_scaled_dot")
        if cell.id == f"{third}-solution":
            cell.source += "\n\n1 / 0"
    found = rehearse(written(tmp_path, notebook), root)
    assert f"The cell `{second}` was missing; it was put back." in found.notes
    assert any("ZeroDivisionError" in note for note in found.notes)
    tables = {r["exercise"]: r["table"] for r in found.reports}
    assert len(tables) == len(assignment.exercises)
    assert found.points == assignment.automatic - assignment.exercises[0].points
    assert "`scaled_dot_product_attention` is not defined" in tables["attention.scaled_dot_product"]


@pytest.mark.sample("import os\nos._exit(1)")
@pytest.mark.parametrize(
    ("fatal", "why"),
    [
        ("import os\nos._exit(1)", "ended the kernel"),
        ("import time\ntime.sleep(600)", "did not end within 20 seconds"),
    ],
)
def test_what_ends_the_kernel_costs_only_itself(assignment, root, tmp_path, fatal, why):
    notebook = submitted(assignment, "ada-full")
    first = assignment.exercises[0]
    place = next(n for n, c in enumerate(notebook.cells) if c.id == f"{first.grade_id}-solution")
    notebook.cells[place].source = f"def {first.function}(*args):\n    import os\n    os._exit(3)"
    notebook.cells.insert(place, nbformat.v4.new_code_cell(fatal))
    found = rehearse(written(tmp_path, notebook), root, 20)
    assert found.points == assignment.automatic - first.points
    assert "it ended the kernel" in found.reports[0]["table"]
    assert any(f"{why}; the rest went on without it" in note for note in found.notes)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "there is no file"),
        ("", "is empty"),
        ("hello", "not a whole notebook"),
        ("{}", "not a notebook"),
        ('{"cells": []}', "no cell that checks"),
        (
            '{"cells": [{"cell_type": "code", "source": "check(\\"attention.nothing\\")"}]}',
            "did you mean",
        ),
    ],
)
def test_what_is_no_notebook_is_refused_in_one_sentence(content, why, tmp_path, capsys):
    path = tmp_path / "mine.ipynb"
    if content is not None:
        path.write_text(content)
    assert main(["check", str(path)]) == 2
    said = capsys.readouterr().err
    assert why in said and "mine.ipynb" in said and said.count("\n") == 1


def test_a_folder_is_no_notebook(tmp_path):
    with pytest.raises(Unreadable, match="name the notebook itself"):
        read(tmp_path)


@pytest.mark.sample("from course_lib.masks import causal_mask")
@pytest.mark.parametrize("before", ["from course_lib.masks import causal_mask", "x = ("])
def test_the_first_cell_is_judged_as_in_grading(assignment, judge, root, tmp_path, before):
    notebook = submitted(assignment, "ada-full")
    imports = next(c for c in notebook.cells if c.cell_type == "code")
    imports.source = f"{before}\n{imports.source}\nmask = causal_mask(3)"
    home = rehearse(written(tmp_path, notebook), root)
    graded = judge(notebook)
    assert (home.points, home.max_points) == (graded.score, graded.max_points)
    assert [n for n in home.notes if "raised" in n] == graded.notes != []


READS_A_FILE = """

usual = scaled_dot_product_attention


def scaled_dot_product_attention(*given):
    open("notes.json")
    return usual(*given)
"""


def test_what_is_missing_where_work_is_graded_is_said_at_home(assignment, judge, root, tmp_path):
    notebook = submitted(assignment, "ada-full")
    by_id = {cell.id: cell for cell in notebook.cells}
    first, *others = [by_id[f"{e.grade_id}-solution"] for e in assignment.exercises]
    (tmp_path / "notes.json").write_text("{}")
    first.source += READS_A_FILE
    others[0].source = f"open('notes.json')\n{others[0].source}"
    others[1].source = f"import pdb\npdb.set_trace()\nbreakpoint()\n{others[1].source}"
    others[2].source += "\n\ninput('Your name? ')"
    others[3].source += f"\n\nx = '{'y' * 2**20}'"
    home = rehearse(written(tmp_path, notebook), root)
    graded = judge(notebook)
    lost = sum(assignment.exercises[n].points for n in (0, 1, 4))
    assert home.points == graded.score == assignment.automatic - lost
    assert sorted(home.notes) == sorted(graded.notes) and len(graded.notes) == 3
    for words in ("what you need of another file", "write what it asks for", "make large data"):
        assert any(words in note for note in graded.notes), graded.notes
    table = next(m.report.table() for m in graded.marks if m.report)
    assert (
        "what you need of another file"
        in " ".join(table.split())
        == " ".join(home.reports[0]["table"].split())
    )


def test_a_notebook_under_another_name_and_without_its_checks(assignment, root, tmp_path):
    notebook = submitted(assignment, "ada-full")
    notebook.cells = [c for c in notebook.cells if not c.source.startswith("check(")]
    path = written(tmp_path, notebook).rename(tmp_path / "my copy.ipynb")
    found = rehearse(path, root)
    assert found.points == assignment.automatic
    assert sum("was missing; it was put back" in note for note in found.notes) == len(
        assignment.exercises
    )
    assert {s.stem.partition("_")[2] for s in authoring.sources(root)} >= {"attention", "seq2seq"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n, (kind, _) in honest.ODD.items() if kind == "answer"])
def test_an_odd_notebook_has_the_same_points_at_home_and_in_grading(
    name, assignment, judge, root, tmp_path
):
    notebook, due = honest.submissions(assignment)[f"odd-{name}"]
    home = rehearse(written(tmp_path, notebook), root)
    graded = judge(notebook)
    by_exercise = {m.report.exercise: m.score for m in graded.marks if m.report}
    assert {r["exercise"]: r["score"] for r in home.reports} == by_exercise
    assert graded.score == due
