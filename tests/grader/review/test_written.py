"""Answers in writing: rubrics that fit the cells, marks that nbgrader keeps, markers who agree."""

import csv
import hashlib
import io
import json
import re
import shutil
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbconvert.exporters import HTMLExporter
from nbgrader.server_extensions.formgrader import handlers
from traitlets.config import Config

from course_lib.book.teaching import tasks
from course_lib.cli import main
from grader import authoring, formgrader, rubrics
from grader.base.errors import Refused
from grader.records import gradebook, summary
from grader.review import rubric_table, written
from grader.review.written import SecondLook, WrittenMark, WrittenQuestion, agreement

NAMES = [source.stem for source in authoring.sources(Path(__file__).parents[3])]
NAME, CELL = "03_attention", "attention-saturates-written"
FULL, NONE = (0.5, 0.5, 0.5, 0.5), (0.0, 0.0, 0.0, 0.0)
# A formula to a spreadsheet, a terminal's command, lines, and letters of another alphabet.
TEXTS = {
    "ada": "=1+1\nIndependence,\nand \x1b[2J the clamp.",
    "ben": "Because.",
    "émile": "Das genügt nicht; drittens.",
    "dan": "-",
    "zoë": "Training changes it.",
}


def handed_in(assignment, text):
    notebook = nbformat.from_dict(assignment.release)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == CELL:
            cell.source = text
    return notebook


def grade(course, assignment, student, text):
    path = course / "autograded" / student / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(authoring.text(handed_in(assignment, text)), encoding="utf-8")
    with gradebook.open_gradebook(course) as book:
        gradebook.write(book, NAME, student, {CELL: None}, [CELL])


@pytest.fixture(scope="session")
def read_by_nobody(tmp_path_factory, assignment, blank_gradebook):
    course = tmp_path_factory.mktemp("class")
    shutil.copy(blank_gradebook, course)
    with gradebook.prepared(course, NAME, assignment.release):
        pass
    for student, text in TEXTS.items():
        grade(course, assignment, student, text)
    with gradebook.open_gradebook(course) as book:
        gradebook.write(book, NAME, "fay", {CELL: 0.0}, [CELL], unanswered=[CELL])
        gradebook.write(book, NAME, "gus", {CELL: None}, [CELL])
    return course


@pytest.fixture
def course(read_by_nobody, tmp_path, root, monkeypatch):
    monkeypatch.chdir(root)
    return shutil.copytree(read_by_nobody, tmp_path / "course")


def rows(course):
    """All manual scores, whether they wait, and comments."""
    with gradebook.open_gradebook(course) as book:
        return {
            s.student.id: (g.manual_score, g.needs_manual_grade, c.manual_comment)
            for s in book.assignment_submissions(NAME)
            for n in s.notebooks
            for g in n.grades
            for c in n.comments
            if g.name == c.name == CELL
        }


def run(course, *arguments):
    return main(["rubric", NAME, "--course", str(course), *map(str, arguments)])


@pytest.fixture
def typing(monkeypatch):
    """Type lines at the prompts; what comes after the last one is the end of the file."""

    def put(*lines):
        left = iter(lines)

        def typed(prompt):
            try:
                return next(left)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr("builtins.input", typed)

    return put


@pytest.mark.parametrize("name", NAMES)
def test_every_answer_in_writing_has_a_rubric_of_its_points(root, name):
    asked = {t.cell: t.points for t in tasks(name, root) if t.exercise is None}
    known = rubrics.load(root, name)
    assert {cell: rubric.points for cell, rubric in known.items()} == asked
    for rubric in known.values():
        says = [criterion.says for criterion in rubric.criteria]
        assert len(says) == len(set(says)) and all(s.strip() == s and "\n" not in s for s in says)


@pytest.mark.parametrize(
    "text, said",
    [
        ("03_attention: [1]", "no attribute"),
        ("03_attention: {why: {}}", "'for'"),
        ("03_attention: {why: {for: [a: 0.3]}}", "'a' has 0.3 points"),
        ("03_attention: {why: {for: [a: much]}}", "much"),
        ("03_attention: {why: {for: [a], points: 2}}", "why has unknown 'points'"),
        ("03_attention: {why: [", "expected the node content"),
    ],
)
def test_a_damaged_file_is_refused_by_name(tmp_path, text, said):
    (tmp_path / "book").mkdir()
    (tmp_path / "book/rubrics.yml").write_text(text)
    with pytest.raises(Refused, match="rubrics.yml, 03_attention") as refused:
        rubrics.load(tmp_path, NAME)
    assert said in str(refused.value)


def test_marks_are_nbgraders_own_scores_and_comments(course, root, assignment):
    question = WrittenQuestion(course, root, NAME)
    before = rows(course)
    assert [a.student for a in question.answers()] == sorted(TEXTS)
    given = [WrittenMark("ada", FULL), WrittenMark("ben", (0.5, 0, 0, 0), "Which one?")]
    assert question.write(given) == 2
    after = rows(course)
    assert after["ada"][:2] == (2.0, False) and after["ben"][:2] == (0.5, False)
    assert (
        after["ben"][2].startswith("0.5 of 0.5: independence") and "Which one?" in after["ben"][2]
    )
    assert {s: r for s, r in after.items() if s not in ("ada", "ben")} == {
        s: r for s, r in before.items() if s not in ("ada", "ben")
    }
    assert question.write([WrittenMark("ada", FULL)]) == 0
    with pytest.raises(Refused, match="ada: it has 2 points already"):
        question.write([WrittenMark("dan", NONE), WrittenMark("ada", NONE)])
    assert rows(course) == after, "all of them or none"
    assert question.write([WrittenMark("ada", NONE)], again=True, dry_run=True) == 1
    assert rows(course) == after
    assert question.write([WrittenMark("ada", NONE)], again=True) == 1
    assert rows(course)["ada"][0] == 0
    grade(course, assignment, "ben", "Because of the variance.")
    (ben,) = [a for a in question.answers() if a.student == "ben"]
    assert ben.waits and ben.given == (0.5, 0, 0, 0) and ben.comment == "Which one?"
    assert question.write([WrittenMark("ben", FULL, key=ben.key)]) == 1


@pytest.mark.parametrize(
    "mark, said",
    [
        (WrittenMark("nobody", FULL), "no such answer"),
        (WrittenMark("fay", FULL), "no such answer"),
        (WrittenMark("gus", FULL), "no such answer"),
        (WrittenMark("ada", (0.5,)), "points for 1 criteria, and there are 4"),
        (WrittenMark("ada", (1.0, 0, 0, 0)), "wanted 0 to 0.5 in halves"),
        (WrittenMark("ada", (0.25, 0, 0, 0)), "wanted 0 to 0.5 in halves"),
        (WrittenMark("ada", (float("nan"), 0, 0, 0)), "wanted 0 to 0.5 in halves"),
        (WrittenMark("ada", FULL, key="a0123456789"), "another text has been handed in"),
    ],
)
def test_what_cannot_be_given_is_refused_and_nothing_is_written(course, root, mark, said):
    before = rows(course)
    with pytest.raises(Refused, match=said):
        WrittenQuestion(course, root, NAME).write([WrittenMark("ben", FULL), mark])
    assert rows(course) == before


def test_a_score_changed_in_formgrader_is_not_taken_for_the_rubrics(course, root):
    question = WrittenQuestion(course, root, NAME)
    question.write([WrittenMark("ada", FULL, "Fine.")])
    with gradebook.open_gradebook(course) as book:
        book.find_grade(CELL, NAME, NAME, "ada").manual_score = 1.75
        book.db.commit()
    (ada,) = [a for a in question.answers() if a.student == "ada"]
    assert (ada.score, ada.given, ada.comment, ada.waits) == (1.75, None, "Fine.", False)


def test_one_question_through_all_students_goes_on_where_it_stopped(course, typing, capsys):
    assert run(course, "--dry-run") == 0
    assert "5 of 5 wait" in capsys.readouterr().out
    typing("1 5", "1 3=0.5", "No.", "", "q")
    assert run(course) == 0
    out = capsys.readouterr().out
    assert "ada" in out and "independence" in out and "\x1b" not in out
    assert "there is no criterion 5" in out and "4 of 5 wait" in out
    assert rows(course)["ada"][:2] == (1.0, False) and rows(course)["ada"][2].endswith("\n\nNo.")
    typing("0", "", "1 2 3 4")
    assert run(course) == 0
    assert "3 of 5 wait" in capsys.readouterr().out
    assert rows(course)["ben"][:2] == (0.0, False)
    typing("0", "", "0", "", "0", "")
    assert run(course, "--blind") == 0
    out = capsys.readouterr().out
    assert "0 of 5 wait" in out and not {*TEXTS} & {*re.findall(r"\w+", out)}
    typing()
    assert run(course) == 0 and "0 marks written" in capsys.readouterr().out
    typing("1", "")
    assert run(course, "--again") == 0
    assert rows(course)["ada"][0] == 0.5 and rows(course)["ada"][2].endswith("\n\nNo.")


def test_seeds_draw_orders(course, root):
    question = WrittenQuestion(course, root, NAME)
    orders = {tuple(a.student for a in question.answers(str(seed))) for seed in range(8)}
    assert len(orders) > 1 and {tuple(sorted(order)) for order in orders} == {tuple(sorted(TEXTS))}


def test_a_table_goes_out_and_comes_in(course, tmp_path, capsys, root):
    path = tmp_path / "marks.csv"
    assert run(course, "--csv", path, "--blind") == 0
    assert run(course, "--csv", path, "--blind") == 0, "what broke off afterwards is done again"
    assert run(course, "--csv", path) == 2 and "exists already" in capsys.readouterr().err
    text = path.read_bytes().decode("utf-8-sig")
    # Whole words: the digits of a key may spell "ada".
    assert "\x1b" not in text and not {*TEXTS} & {*re.findall(r"\w+", text)}
    header, *lines = csv.reader(io.StringIO(text))
    assert header[1] == "answer" and not [c for line in lines for c in line if c[:1] in ("=", "-")]
    assert run(course, "--read", path) == 0 and rows(course)["ben"][0] is None, "nothing filled in"
    keys = {a.key: a.student for a in WrittenQuestion(course, root, NAME).answers()}

    def fill(change, separator=";", encoding="utf-8"):
        file = io.StringIO()
        out = csv.writer(file, delimiter=separator)
        out.writerow(header)
        out.writerows(change([list(line) for line in lines]))
        path.write_text(file.getvalue(), encoding=encoding)

    def everybody(table):
        for n, line in enumerate(table):
            line[2:6], line[6] = ["0,5", "0", "0.5", str(n % 2 / 2)], f"'=number {n}"
        return table

    def wrong(table):
        everybody(table)[1][3] = "0.3"
        table[2][0] = "a0000000000"
        table[3][4] = ""
        return [*table, table[0]]

    fill(wrong)
    assert run(course, "--read", path) == 2
    said = capsys.readouterr().err
    assert "row 3: 0.3 points for 2" in said and "row 4: there is no such answer" in said
    assert "row 5: '' in" in said and "row 7:" in said and "there twice" in said
    assert "row 2:" not in said and rows(course)["ben"][0] is None
    # As spreadsheets save it, which leave out what is empty at the end of a row.
    fill(lambda table: [line[:3] for line in table], "\t", "utf-16")
    assert run(course, "--read", path) == 0 and rows(course)["ben"][0] is None
    for separator, encoding in (("\t", "utf-16"), (";", "utf-8")):
        fill(everybody, separator, encoding)
        assert run(course, "--read", path, "--dry-run") == 0 and rows(course)["ben"][0] is None
        assert "would write 5 marks" in capsys.readouterr().out
    for wanted in (5, 0):
        assert run(course, "--read", path, "--json") == 0
        assert json.loads(capsys.readouterr().out)["written"] == wanted
    marked = rows(course)
    for n, line in enumerate(lines):
        score, waits, comment = marked[keys[line[0]]]
        assert (score, waits) == (1 + n % 2 / 2, False) and comment.endswith(f"\n\n=number {n}")
    again = tmp_path / "again.csv"
    assert run(course, "--csv", again) == 0 and "'=number 0" in again.read_text("utf-8-sig")
    assert run(course, "--read", again) == 0 and rows(course) == marked
    fill(lambda table: [[*line[:2], "0", "0", "0", "0", ""] for line in table], separator=",")
    assert run(course, "--read", path) == 2
    assert "points already" in capsys.readouterr().err and rows(course) == marked
    assert run(course, "--read", path, "--again") == 0 and rows(course)["dan"][0] == 0


def test_who_has_the_list_of_the_class_cannot_tell_whose_a_row_of_a_blind_table_is(
    course, root, tmp_path
):
    assert run(course, "--csv", tmp_path / "marks.csv", "--blind") == 0
    text = (tmp_path / "marks.csv").read_text("utf-8-sig")
    for answer in WrittenQuestion(course, root, NAME).answers():
        name = hashlib.sha256("\0".join((CELL, answer.student, answer.text)).encode()).hexdigest()
        assert answer.key in text and name[:10] not in text


def test_no_cell_of_a_table_begins_a_formula_wherever_a_spreadsheet_cuts_it(course, root):
    hostile = "x;=cmd|'/C calc'!A0\n=1\n\t@x; \"=2\u2028+3\n\uff1d4;-5"
    rubric = WrittenQuestion(course, root, NAME).rubric
    answer = written.WrittenAnswer("a1", "=ada;=1", hostile, given=FULL, comment="-x;+y\n=z;'=w")
    text = rubric_table.table(rubric, [answer], blind=False)
    for line in text.lstrip("\ufeff").splitlines():
        for separator in ";\t":
            cells = [*line.split(separator), *next(csv.reader([line], delimiter=separator))]
            assert not [c for c in cells if c.lstrip('" ')[:1] in tuple("=+-@\uff1d")], line
    cells = next(csv.reader(io.StringIO(text.partition("\n")[2])))
    assert summary.bare(cells[-1]) == "-x;+y\n=z;'=w"


@pytest.mark.parametrize(
    "content, said",
    [
        (b"", "it is empty"),
        (b"key,answer\n", "no column '0 to 0.5"),
        (b"key\xff", "--encoding cp1252"),
        (b'key,"a\n' + b"x" * 200_000, "never closed"),
        (b"PK\x03\x04", "this is a workbook"),
    ],
)
def test_what_is_no_such_table_is_refused(course, tmp_path, capsys, content, said):
    path = tmp_path / "marks.csv"
    path.write_bytes(content)
    assert run(course, "--read", path) == 2
    assert said in capsys.readouterr().err


def test_a_notebook_that_is_damaged_is_said_to_be(course, tmp_path, capsys):
    path = course / "autograded" / "ada" / NAME / f"{NAME}.ipynb"
    for content in ("", "{", "{}", "[]"):
        path.write_text(content)
        assert run(course, "--csv", tmp_path / "marks.csv") == 2
        assert f"damaged: remove {path.parent}" in capsys.readouterr().err


def test_a_second_marker_sees_a_sample_and_no_marks(course, root, typing, capsys):
    question = WrittenQuestion(course, root, NAME)
    question.write(
        [WrittenMark(s, FULL if s in "ada dan" else NONE, "Mine.") for s in TEXTS if s != "zoë"]
    )
    before = rows(course)
    typing("1 2 3 4", "Yours.")
    assert run(course, "--second", "--sample", "3") == 0
    out = capsys.readouterr().out
    assert "stands" not in out and "(given" not in out and not [n for n in TEXTS if n in out]
    assert rows(course) == before and "2 of 3 wait; n = 1" in out
    # Whose answer is drawn first is chance: both gave it all points, or the first gave it none.
    assert "undefined" in out or "kappa 0.00" in out
    typing("0", "", "0", "")
    assert run(course, "--second", "--sample", "3") == 0
    look = SecondLook(course, root, NAME)
    look.sample = 3
    assert not [a for a in look.answers() if a.waits]
    kept = {a.key for a in look.answers()}
    question.write([WrittenMark("zoë", FULL)])
    look.sample = 2
    assert {a.key for a in look.answers()} == kept, "what has been read stays in the sample"
    look.sample = 20
    look.write([WrittenMark(a.student, FULL) for a in look.answers() if a.waits])
    first = {a.key: a.score for a in question.answers()}
    wanted = agreement([(first[a.key], a.score) for a in look.answers()])
    assert look.agreement() == wanted and wanted.n == 5
    capsys.readouterr()
    assert run(course, "--second", "--dry-run", "--json") == 0
    told = json.loads(capsys.readouterr().out)["questions"][CELL]["agreement"]
    assert told["n"] == 5 and told["kappa"] == wanted.kappa
    assert "a small sample" in wanted.line()
    (course / written.SECOND / f"{NAME}.json").write_text("[]")
    assert run(course, "--second", "--dry-run") == 2 and "damaged" in capsys.readouterr().err


def test_kappa_is_that_of_the_table_of_both_markers():
    """Weights and expected counts written out, as the definition has them."""
    draw = np.random.default_rng(5)
    first = draw.integers(0, 5, 80)
    second = np.clip(first + draw.integers(-1, 2, 80), 0, 4)
    counts, weights = np.zeros((5, 5)), np.zeros((5, 5))
    for i, j in zip(first, second, strict=True):
        counts[i, j] += 1 / 80
    for i in range(5):
        for j in range(5):
            weights[i, j] = (i - j) ** 2 / 16
    expected = np.outer(counts.sum(1), counts.sum(0))
    wanted = 1 - (weights * counts).sum() / (weights * expected).sum()
    found = agreement(list(zip(first / 2, second / 2, strict=True)))
    assert found.kappa == pytest.approx(wanted, abs=1e-12)
    assert found.interval[0] < wanted < found.interval[1] and found.n == 80
    assert found.more == pytest.approx((second - first).mean() / 2)
    assert "small" not in found.line()
    chance = agreement(list(zip(draw.integers(0, 5, 400) / 2, first.repeat(5) / 2, strict=True)))
    assert chance.interval[0] < 0 < chance.interval[1]
    assert agreement([(1.0, 1.0)] * 3).kappa is None and "undefined" in agreement([(1, 1)]).line()
    assert agreement([]).line() == "no answer has been marked by both"


def test_formgrader_shows_the_rubric_below_the_answer_and_feedback_does_not(
    course, root, assignment
):
    (rubric,) = rubrics.load(root, NAME).values()
    config = Config()
    formgrader.use(config)
    config.HTMLExporter.template_name = "formgrade"
    config.HTMLExporter.extra_template_basedirs = [handlers.template_path]
    path = course / "autograded" / "zoë" / NAME / f"{NAME}.ipynb"
    stored = path.read_bytes()
    resources = {
        "assignment_id": NAME,
        "notebook_id": NAME,
        "submission_id": "1",
        "index": 0,
        "total": 1,
        "base_url": "",
        "student": "zoë",
    }
    page, _ = HTMLExporter(config=config).from_filename(str(path), resources=resources)
    places = [page.rindex(part) for part in (TEXTS["zoë"], *(c.says for c in rubric.criteria))]
    assert places == sorted(places) and path.read_bytes() == stored
    # Scores and comments of other cells are where nbgrader's script looks for them.
    assert page.count(f'id="{CELL}"') == page.count(f'id="{CELL}-comment"') == 1
    config.HTMLExporter.template_name = "classic"
    page, _ = HTMLExporter(config=config).from_filename(str(path), resources={})
    assert TEXTS["zoë"] in page and rubric.criteria[0].says not in page
    ours = authoring.nbgrader_config(root).HTMLExporter.preprocessors
    assert ours == ["grader.formgrader.ShowRubrics"]


@pytest.mark.parametrize(
    "asked, said",
    [
        (["99_none"], "there are 00_start"),
        (["00_start"], "has no rubric for it"),
        (["03_attention", "other"], f"name one question of {CELL}"),
        (["13_seeing", "--csv", "x.csv"], "name one question of seeing-prediction-written, seeing"),
        (["03_attention", "--json"], "--json needs"),
        (["03_attention", "--second", "--sample", "0"], "at least 1 is needed"),
        (["04_heads"], "run `course grade 04_heads` first"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(course, asked, said, capsys):
    assert main(["rubric", *asked, "--course", str(course)]) == 2
    complaint = capsys.readouterr().err
    assert said in complaint and complaint.count("\n") == 1


def test_other_points_than_the_cell_has_are_refused(course, root, monkeypatch):
    question = WrittenQuestion(course, root, NAME)
    shorter = rubrics.Rubric(CELL, question.rubric.criteria[:3])
    monkeypatch.setattr(question, "rubric", shorter)
    with pytest.raises(Refused, match="adds up to 1.5 points, and in the gradebook it has 2"):
        question.answers()
