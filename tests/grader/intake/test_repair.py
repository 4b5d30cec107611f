"""Notebooks that honest students break: repaired, said so, and harmless."""

import copy
import json
import re

import nbformat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nbconvert.filters.markdown import markdown2html
from nbformat.v4 import new_code_cell, new_markdown_cell

from grader.intake import matching, parsing
from grader.judge.channel import Limits
from grader.judge.marking import Marker
from grader.judge.results import Task


def marks(cell):
    return cell.get("metadata", {}).get("nbgrader", {})


def ids_of(release):
    return [marks(c)["grade_id"] for c in release.cells if marks(c)]


def place(notebook, grade_id):
    return next(n for n, c in enumerate(notebook.cells) if marks(c).get("grade_id") == grade_id)


def aligned(notebook, assignment):
    submission = parsing.parse(json.dumps(notebook).encode())
    cells = matching.align(submission, assignment.release)
    return cells, parsing.plain_notes(submission.notes)


def source_of(cells, grade_id):
    (found,) = [c for c, own in cells if own and marks(c).get("grade_id") == grade_id]
    return found.source


@pytest.fixture
def answer_id(first):
    return f"{first.grade_id}-solution"


# One repair after the other; the note is what the instructor and the student read.


def test_an_untouched_notebook_gets_no_note(solved, assignment):
    cells, notes = aligned(solved, assignment)
    assert notes == [] and [c.source for c, _ in cells] == [c.source for c in solved.cells]


@pytest.mark.parametrize(
    ("version", "shown"), [(99, "99"), (1, "1"), (0, "0"), ("three", "'three'"), ([3], "'nested'")]
)
def test_wrong_schema_versions_are_one_note(solved, assignment, version, shown):
    for cell in solved.cells:
        if marks(cell):
            cell.metadata["nbgrader"]["schema_version"] = version
    _, notes = aligned(solved, assignment)
    (note,) = notes
    assert note.startswith(
        f"The notebook says `schema_version` is {shown} for 16 cells, `attention"
    )
    assert note.endswith("among them; that was ignored.")


def test_claims_and_tags_are_named_and_ignored(solved, assignment, first):
    cell = solved.cells[place(solved, first.grade_id)]
    cell.metadata["nbgrader"].update(points=100, grade=False, locked=False)
    cell.metadata["tags"] = ["skip-execution", "raises-exception"]
    cells, notes = aligned(solved, assignment)
    assert f"The notebook says `points` is 100 for `{first.grade_id}`; that was ignored." in notes
    assert any("`tags` is 'skip-execution, raises-exception'" in n for n in notes)
    clean = next(c for c, _ in cells if marks(c).get("grade_id") == first.grade_id)
    assert marks(clean)["points"] == first.points and "tags" not in clean.metadata


def test_lost_marks_are_found_by_function_and_by_source(solved, assignment):
    written = {i: solved.cells[place(solved, i)].source for i in ids_of(assignment.release)}
    for cell in solved.cells:
        cell.metadata = {}
        cell.pop("id")
    cells, notes = aligned(solved, assignment)
    # An answer in words can't be told from any other text: it stays, for a person to see.
    words = "attention-saturates-written"
    said = written.pop(words)
    assert any(cell.source == said for cell, own in cells if not own)
    assert {i: source_of(cells, i) for i in written} == written
    assert f"The cell `{words}` was missing; it was put back." in notes
    assert len(notes) == len(assignment.exercises) + 1
    assert sum("had lost its id; its function identified it" in n for n in notes) == len(notes) - 1


def test_an_edited_locked_cell_is_reset_and_what_was_written_survives(solved, assignment, first):
    at = place(solved, first.grade_id)
    solved.cells[at].source = "helper = 1\n" + solved.cells[at].source
    cells, notes = aligned(solved, assignment)
    assert [c.source for c, _ in cells][at : at + 2] == [
        solved.cells[at].source,
        f'check("{first.id}")',
    ]
    assert notes == [
        f"The locked cell `{first.grade_id}` had been changed; it was reset, and what was in it"
        " was run before it."
    ]


def test_swapped_marks_lose_nothing(solved, assignment, first, answer_id):
    answer, test = (
        solved.cells[place(solved, answer_id)],
        solved.cells[place(solved, first.grade_id)],
    )
    answer.metadata, test.metadata = test.metadata, answer.metadata
    cells, notes = aligned(solved, assignment)
    assert source_of(cells, answer_id) == answer.source and notes


def test_of_two_tests_the_last_counts_and_of_two_answers_both_run(
    solved, assignment, first, answer_id
):
    test = copy.deepcopy(solved.cells[place(solved, first.grade_id)])
    solved.cells.insert(0, test)
    draft = copy.deepcopy(solved.cells[place(solved, answer_id)])
    draft.source = draft.source.replace("math.sqrt", "abs")
    solved.cells.insert(1, draft)
    cells, notes = aligned(solved, assignment)
    graded = [n for n, (c, own) in enumerate(cells) if own and marks(c)["grade"]]
    graded = [n for n in graded if marks(cells[n][0])["grade_id"] == first.grade_id]
    assert len(graded) == 1 and graded[0] > 2
    assert cells[0][0].source == draft.source and not cells[0][1]
    assert "abs" not in source_of(cells, answer_id)
    assert notes == [
        f"The cell `{first.grade_id}` is there twice; it counts once.",
        f"A copy of the cell `{answer_id}` was run as a new cell: it is there twice.",
    ]


def test_a_deleted_answer_does_not_undo_what_was_defined_elsewhere(solved, assignment, answer_id):
    at = place(solved, answer_id)
    solved.cells[at] = new_code_cell("scaled_dot_product_attention, x = (lambda *a: a), 1")
    cells, notes = aligned(solved, assignment)
    assert source_of(cells, answer_id) == "# This cell was not in the submission."
    assert f"The cell `{answer_id}` was missing; it was put back." in notes


def test_what_lies_beside_is_named(tmp_path):
    (tmp_path / "03_attention.ipynb").write_text("{}")
    (tmp_path / "data.csv").write_text("")
    assert parsing.beside(tmp_path, "03_attention") == []
    (tmp_path / "03_attention (1).ipynb").write_text("{}")
    (tmp_path / "course_lib.py").write_text("")
    (tmp_path / "not-a-name.py").write_text("x = 1")
    (tmp_path / "linked.py").symlink_to(tmp_path / "not-a-name.py")
    (tmp_path / "latin.py").write_bytes(b"# \xe9")
    assert parsing.modules(tmp_path) == {}
    assert parsing.beside(tmp_path, "03_attention") == [
        "Only `03_attention.ipynb` was graded, not what lies beside it: 03_attention (1).ipynb,"
        " course_lib.py, latin.py, linked.py, not-a-name.py."
    ]


def test_white_space_of_a_strangers_text_is_one_blank_and_what_acts_is_shown_as_damaged():
    said = parsing.plain("Head:\n\tMissing\u3000key\u00a0(s)\r\n\x1b[2J")
    assert said == "Head: Missing key (s) \N{REPLACEMENT CHARACTER}[2J"


def test_of_thousands_of_modules_a_hundred_are_read_and_it_is_said(tmp_path):
    (tmp_path / "03_attention.ipynb").write_text("{}")
    for number in range(3000):
        (tmp_path / f"m{number:04}.py").write_text("x = 1")
    found = parsing.modules(tmp_path)
    assert [*found] == [f"m{number:04}.py" for number in range(parsing.MAX_MODULES)]
    said = parsing.beside(tmp_path, "03_attention", found)[1]
    assert "beside it (at most 100 modules are read): m0100.py" in said and len(said) < 450


def test_a_module_beside_the_notebook_can_be_imported(
    tmp_path, root, solved, assignment, answer_id, forkserver
):
    cell = solved.cells[place(solved, answer_id)]
    imports = "import math\nimport torch\nfrom torch import Tensor\n\n\n"
    (tmp_path / "own_helpers.py").write_text(imports + cell.source, encoding="utf-8")
    (tmp_path / "math.py").write_text("raise RuntimeError('the wrong module')", encoding="utf-8")
    cell.source = "import math\nfrom own_helpers import *"
    (tmp_path / "03_attention.ipynb").write_bytes(nbformat.writes(solved).encode())
    found = parsing.modules(tmp_path)
    assert sorted(found) == ["math.py", "own_helpers.py"]
    assert parsing.beside(tmp_path, "03_attention", found) == [
        "Beside the notebook, for it to import: math.py, own_helpers.py."
    ]
    own = Marker(root, assignment.name, "07", Limits(cell=20, call=10))
    content = parsing.read(tmp_path, "03_attention")
    with_it, _ = own.judge(Task("ada", content, "", "key", modules=found), forkserver, 0)
    assert with_it.score == assignment.automatic
    without, _ = own.judge(Task("ada", content, "", "key"), forkserver, 0)
    assert without.score is not None and without.score < assignment.automatic


def test_a_linked_folder_is_refused(tmp_path):
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "a.ipynb").write_text("{}")
    (tmp_path / "thief").symlink_to(tmp_path / "victim")
    with pytest.raises(parsing.Unreadable, match="folder of the submission is a link"):
        parsing.read(tmp_path / "thief", "a")
    assert parsing.beside(tmp_path / "thief", "b") == []


def test_a_file_swapped_for_a_link_after_the_look_is_not_followed(tmp_path, monkeypatch):
    """Time of check and time of use: what was opened is what is judged."""
    import os

    path = tmp_path / "a.ipynb"
    path.write_text("{}")
    (tmp_path / "secret").write_text('{"cells": []}')
    real = os.open

    def swapping(name, flags, *args, **kwargs):
        if os.fspath(name) == os.fspath(path):
            path.unlink(missing_ok=True)
            path.symlink_to(tmp_path / "secret")
        return real(name, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", swapping)
    with pytest.raises(parsing.Unreadable, match="is a link"):
        parsing.read(tmp_path, "a")


def test_living_markup_in_text_is_shown_instead_and_the_plain_kind_stays():
    text = (
        "a <br> <details>b</details> 1 < 2 <https://example.org> <script>x</script> <b onclick=y>"
    )
    assert parsing.inert(text) == (
        "a <br> <details>b</details> 1 < 2 <https://example.org> &lt;script>x&lt;/script>"
        " &lt;b onclick=y>"
    )
    assert "<" not in parsing.inert("<img src=x><svg/onload=1><!--x--><?x?></script >")


@pytest.mark.parametrize(
    "text",
    [
        "![x](http://example.org/x.png)",
        "a ![x][y]\n\n[y]: http://example.org/x.png",
        r"\\![x](http://example.org/x.png)",
        "![x](data:image/png;base64,AAAA) ![y](//example.org/y)",
        "![x](data:image/png;base64,AA AA)\n\n[x]: http://example.org/x.png",
    ],
)
def test_a_picture_from_elsewhere_is_no_picture(text):
    pattern = r'<img[^>]*src="(?!data:)'
    assert re.search(pattern, markdown2html(text)), "or the example shows nothing"
    shown = parsing.inert(text)
    assert not re.search(pattern, markdown2html(shown)) and parsing.inert(shown) == shown
    assert markdown2html(shown).count("data:image") >= text.count("](data:image/png;base64,AAAA)")


def test_notes_are_short_few_and_plain():
    notes = parsing.plain_notes(["\x1b[2J\ud800 a\nb"] + [f"note {n}" for n in range(1000)] * 2)
    assert notes[0] == "\N{REPLACEMENT CHARACTER}[2J\N{REPLACEMENT CHARACTER} a b"
    assert len(notes) == parsing.MAX_NOTES + 1 and notes[-1] == "And 961 more of this kind."
    assert len(parsing.plain("x" * 10_000)) == 300


class Quiet:
    def __init__(self, assignment):
        self.release, self.solution = assignment.release, assignment.solution

    def __repr__(self):
        return "assignment"


@pytest.fixture(scope="module")
def quiet(assignment):
    return Quiet(assignment)


CHANGES = "delete copy move split merge retype retag strip edit schema junk".split()


def mutate(notebook, change, a, b):
    """One change to cells number ``a`` and ``b``; the answers' text stays somewhere in code."""
    cells = notebook["cells"]
    a, b = a % len(cells), b % len(cells)
    cell = cells[a]
    nbgrader = marks(cell)
    if change == "delete" and not nbgrader.get("solution"):
        del cells[a]
    elif change == "copy":
        cells.insert(b, copy.deepcopy(cell))
    elif change == "move" and not nbgrader.get("solution"):
        cells.insert(b, cells.pop(a))
    elif change == "split":
        lines = cell["source"].splitlines(keepends=True)
        at = next((n for n, line in enumerate(lines) if n > 0 and not line[:1].isspace()), None)
        if at and cell["cell_type"] == "code" and not lines[at].startswith(")"):
            cell["source"] = "".join(lines[:at])
            half = {"cell_type": "code", "metadata": {}, "source": "".join(lines[at:])}
            cells.insert(a + 1, half)
    elif change == "merge" and a + 1 < len(cells):
        following = cells[a + 1]
        if cell["cell_type"] == following["cell_type"] == "code":
            cell["source"] += "\n" + following["source"]
            del cells[a + 1]
    elif change == "retype":
        if nbgrader:
            cell["cell_type"] = ("markdown", "raw", "code")[b % 3]
    elif change == "retag" and nbgrader and marks(cells[b]):
        cell["metadata"], cells[b]["metadata"] = cells[b]["metadata"], cell["metadata"]
    elif change == "strip" and cell["cell_type"] == "code":
        cell["metadata"] = {}
    elif change == "edit" and nbgrader.get("locked"):
        cell["source"] += "\nx = 1"
    elif change == "schema" and nbgrader:
        nbgrader["schema_version"] = (0, 1, 99, "three", None, {})[b % 6]
    elif change == "junk":
        cells.insert(b, (None, 3, [], {}, {"cell_type": []}, {"cell_type": "code"})[a % 6])
        cells[:] = [c for c in cells if isinstance(c, dict) and "source" in c]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.tuples(st.sampled_from(CHANGES), st.integers(0, 99), st.integers(0, 99)), max_size=12
    )
)
def test_whatever_is_done_to_cells_every_graded_one_is_there_once(quiet, changes):
    notebook = json.loads(json.dumps(quiet.solution))
    for change, a, b in changes:
        mutate(notebook, change, a, b)
    # What was in a code cell in the end is in one still, or in the text that it answers.
    in_words = {
        marks(c)["grade_id"] for c in quiet.release.cells if marks(c) and c.cell_type != "code"
    }
    written = {
        line.strip()
        for c in notebook["cells"]
        if c["cell_type"] == "code" and not marks(c).get("locked")
        for line in c["source"].splitlines()
    }
    cells, notes = aligned(notebook, quiet)
    own = [marks(c)["grade_id"] for c, released in cells if released]
    assert sorted(own) == sorted(ids_of(quiet.release))
    for cell, released in cells:
        wanted = [c for c in quiet.release.cells if marks(c) == marks(cell) and marks(c)]
        if released and marks(cell)["locked"]:
            assert cell.source == wanted[0].source
    kept = {
        line.strip()
        for c, _ in cells
        if c.cell_type == "code" or marks(c).get("grade_id") in in_words
        for line in c.source.splitlines()
    }
    assert written <= kept
    assert all(note.isprintable() and len(note) <= 300 for note in notes)
    assert len({c.id for c, _ in cells}) == len(cells)


KEYS = "cells cell_type metadata source nbgrader grade_id tags worksheets schema_version x".split()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(JSON, max_size=6))
def test_no_json_at_all_raises_anything_else(quiet, cells):
    try:
        submission = parsing.parse(json.dumps({"cells": cells}).encode())
    except parsing.Unreadable:
        return
    assert len(matching.align(submission, quiet.release)) >= len(ids_of(quiet.release))


def test_a_split_answer_runs_in_both_halves(judge, solved, assignment, answer_id):
    at = place(solved, answer_id)
    cell = solved.cells[at]
    cell.source = "def rescaled(x, d):\n    return x / math.sqrt(d)\n\n\n" + cell.source
    first, second = cell.source.split("\n\n\n", 1)
    cell.source = first
    solved.cells.insert(at + 1, new_code_cell(second))
    judged = judge(solved)
    assert judged.score == assignment.automatic
    # As JupyterLab splits: the halves have the same metadata.
    solved.cells[at + 1].metadata = copy.deepcopy(cell.metadata)
    judged = judge(solved)
    assert judged.score == assignment.automatic
    assert "A copy of the cell" in judged.notes[0]


def test_an_answer_merged_with_its_test_counts(judge, solved, assignment, first, answer_id):
    cell = solved.cells[place(solved, answer_id)]
    at = place(solved, first.grade_id)
    cell.source += "\n\n" + solved.cells[at].source
    del solved.cells[at]
    judged = judge(solved)
    assert judged.score == assignment.automatic
    assert judged.notes == [f"The cell `{first.grade_id}` was missing; it was put back."]


def test_an_answer_merged_into_the_text_above_loses_only_itself(judge, solved, others, answer_id):
    at = place(solved, answer_id)
    solved.cells[at] = new_markdown_cell(solved.cells[at].source)
    assert judge(solved).score == others


def test_a_retyped_answer_counts(judge, solved, assignment, answer_id):
    cell = solved.cells[place(solved, answer_id)]
    cell.cell_type = "markdown"
    for name in ("outputs", "execution_count"):
        cell.pop(name)
    judged = judge(solved)
    assert judged.score == assignment.automatic
    assert judged.notes == [f"The cell `{answer_id}` had become markdown."]


def test_a_notebook_without_any_metadata_counts(judge, solved, assignment):
    for cell in solved.cells:
        cell.metadata = {}
    assert judge(solved).score == assignment.automatic


@pytest.mark.parametrize(
    "target",
    [
        "javascript:x",
        " JavaScript:x",
        "<java\tscript:x>",
        "java&#115;cript:x",
        "javascript&colon;x",
        "java&Tab;script:x",
        "javascript\\:x",
        "\x01javascript:x",
        "data:text/html,x",
        "vbscript:x",
        "b[see here](javascript:x",
        " " * 450 + "javascript:x",
        "a" * 450 + ":x",
    ],
)
def test_a_link_leads_to_pages_and_nowhere_else(target):
    for text in (f"[see here]({target})", f"[see here][a]\n\n[a]: {target}"):
        shown = markdown2html(parsing.inert(text))
        assert "see here" in shown and "href" not in shown
    assert 'href="https://x.org/b:c"' in markdown2html(parsing.inert("[a](https://x.org/b:c)"))
