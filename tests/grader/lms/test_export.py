"""Scores into a system's own file: what is written, what is left, and what is said."""

import zipfile
from pathlib import Path

import pytest

from grader import authoring
from grader.records import gradebook, roster

ROOT = Path(__file__).resolve().parents[3]
NAME = "03_attention"
MOST = f"{authoring.named(ROOT, NAME).points:g}"
HEADER = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Essay (5)", "Final Score"]

LIST = [row.split(";") for row in ("Doe, Ada;1;7;ada;A", "Roe, Ben;2;8;ben;A", "Poe, Cy;3;9;cy;A")]


@pytest.fixture
def canvas(desk):
    desk.run("roster", "import", desk.file("list.csv", [HEADER[:5], *LIST]))
    return desk


def sheet(desk, scores, *, title=f"{NAME} (47)", most=MOST, extra=(), **options):
    """Canvas's gradebook; by student the cell below the assignment."""
    rows = [[*HEADER, title], ["    Points Possible", "", "", "", "", "10", "(read only)", most]]
    about = {row[3]: row for row in LIST}
    for student, cell in scores.items():
        rows.append([*about[student], "8", "3", cell])
    return desk.file("gradebook.csv", [*rows, *extra], **options)


def export(desk, path, *more, wanted=0):
    return desk.run("export", "--for", "canvas", path, *more, wanted=wanted)


def upload(desk, **how):
    path = desk.folder / "gradebook-upload.csv"
    return {r[3]: r[-1] for r in desk.read(path, **how)[2:]} if path.exists() else None


def test_only_rows_whose_score_moved_are_written_and_no_other_cell(canvas):
    for student, points in {"ada": 6, "ben": 4.25, "cy": 2}.items():
        canvas.score(student, points)
    path = sheet(canvas, {"ada": "6.00", "ben": "", "cy": "N/A"}, separator=";", encoding="utf-16")
    said = export(canvas, path, wanted=1)
    assert said["scores"] == [f"ben: {NAME}: - -> 4.25"]
    assert said["entered_there_and_left"] == [f"cy: {NAME}: N/A there, 2 here"]
    lines = path.read_bytes().decode("utf-16").splitlines(keepends=True)
    lines = [lines[0], lines[1], lines[3].replace(";3;\r", ";3;4.25\r")]
    written = (canvas.folder / "gradebook-upload.csv").read_bytes()
    assert written == "".join(lines).encode("utf-16")


def test_who_has_no_counterpart_is_listed_on_both_sides_and_gets_nothing(canvas):
    canvas.score("ada", 6)
    canvas.score("ghost", 6)
    extra = [
        ["Foe, Di", "99", "", "di", "A", "", "", ""],
        ["Student, Test", "9", "", "t", *"A", "", "", ""],
    ]
    said = export(canvas, sheet(canvas, {"ada": "", "ben": ""}, extra=extra), wanted=1)
    assert said["in_the_file_and_not_known_here"] == ["row 5, 99 (Foe, Di): not known here"]
    assert said["scored_here_and_not_in_the_file"] == [f"ghost: {NAME}"]
    assert upload(canvas) == {"ada": "6"}, "ben has handed in nothing: no score, not even 0"


def test_a_namesake_with_another_key_is_nobody(canvas):
    canvas.score("ada", 6)
    extra = [["Doe, Ada", "55", "56", "ada.doe", "A", "", "", ""]]
    said = export(canvas, sheet(canvas, {}, extra=extra), wanted=1)
    assert "ada has the same name, and another key" in said["in_the_file_and_not_known_here"][0]
    assert upload(canvas) is None


def test_two_rows_of_one_student_are_refused(canvas):
    canvas.score("ada", 6)
    before = canvas.everything()
    said = export(
        canvas, sheet(canvas, {"ada": ""}, extra=[["x", "1", "", "", "", "", "", ""]]), wanted=2
    )
    assert "rows 3 and 4 are both ada" in said and canvas.everything() == before


def test_what_a_person_entered_there_stays(canvas):
    canvas.score("ada", 6)
    said = export(canvas, sheet(canvas, {"ada": "5"}), wanted=1)
    assert said["entered_there_and_left"] == [f"ada: {NAME}: 5 there, 6 here"]
    assert upload(canvas) is None
    export(canvas, sheet(canvas, {"ada": "5"}), "--overwrite")
    assert upload(canvas) == {"ada": "6"}
    # Now it is ours; but a person changes it there once more.
    canvas.score("ada", 4)
    said = export(canvas, sheet(canvas, {"ada": "7"}), wanted=1)
    assert said["entered_there_and_left"] == [f"ada: {NAME}: 7 there, 4 here"]
    export(canvas, sheet(canvas, {"ada": "6"}))
    assert upload(canvas) == {"ada": "4"}
    # That was never handed back, and the score moves again: the cell still has what was ours.
    canvas.score("ada", 3)
    export(canvas, sheet(canvas, {"ada": "6"}))
    assert upload(canvas) == {"ada": "3"}
    said = export(canvas, sheet(canvas, {"ada": "EX"}), "--overwrite", wanted=1)
    assert said["entered_there_and_left"] == [f"ada: {NAME}: EX there, 3 here"]


def test_what_waits_for_a_person_waits(canvas):
    canvas.score("ada", 6, finished=False)
    said = export(canvas, sheet(canvas, {"ada": ""}))
    assert said["waiting_for_a_person"] == [f"ada: {NAME}"] and upload(canvas) is None
    export(canvas, sheet(canvas, {"ada": ""}), "--unfinished")
    assert upload(canvas) == {"ada": "6"}


def test_penalties_are_taken_off(canvas):
    canvas.score("ada", 6)
    with gradebook.open_gradebook(canvas.course) as book:
        notebook = book.find_submission_notebook(NAME, NAME, "ada")
        notebook.late_submission_penalty = 1.5
        book.db.commit()
    export(canvas, sheet(canvas, {"ada": ""}))
    assert upload(canvas) == {"ada": "4.5"}


def test_points_that_differ_are_refused_or_scaled(canvas):
    canvas.score("ada", 6)
    for most in ("100", "0"):
        said = export(canvas, sheet(canvas, {"ada": ""}, most=most), wanted=2)
        assert f"has {most} points there and {MOST} here" in said
        assert ("--scale" in said) == (most == "100")
    assert "0 points" in export(canvas, sheet(canvas, {"ada": ""}, most="0"), "--scale", wanted=2)
    export(canvas, sheet(canvas, {"ada": ""}, most="100"), "--scale")
    assert upload(canvas) == {"ada": f"{600 / float(MOST):.2f}".rstrip("0").rstrip(".")}


def test_a_comma_is_written_where_the_system_writes_one(canvas):
    canvas.score("ada", 4.5)
    canvas.score("ben", 4.5)
    export(canvas, sheet(canvas, {"ada": "", "ben": "4,5"}, separator=";"))
    assert upload(canvas, separator=";") == {"ada": "4,5"}


def test_what_is_no_number_of_points_is_somebody_else_s_and_nothing_is_scaled_in_silence(canvas):
    canvas.score("ada", 6)
    for cell in ("85 %", "½", "A-", "complete"):
        said = export(canvas, sheet(canvas, {"ada": cell}), wanted=1)
        assert said["entered_there_and_left"] == [f"ada: {NAME}: {cell} there, 6 here"]
        said = export(canvas, sheet(canvas, {"ada": cell}), "--overwrite")
        assert said["scores"] == [f"ada: {NAME}: {cell} -> 6"]
    for most, why in (("30 %", "is no number"), ("1.030", "may be 1.03 or 1030")):
        assert why in export(canvas, sheet(canvas, {"ada": ""}, most=most), "--scale", wanted=2)
    blackboard = {"Username": "ada", f"{NAME} [Total Pts: 1 030,00 Score] |92376": ""}
    header = ["Last Name", "Student ID", "Availability", *blackboard]
    path = canvas.file("b.csv", [header, ["Doe", "7", "Yes", *blackboard.values()]])
    said = canvas.run("export", "--for", "blackboard", path, wanted=2)
    assert f"has 1030 points there and {MOST} here" in said
    header[-1] = f"{NAME} [Total Pts: {MOST} Score] |92376"
    for cell, code in (("Needs Grading(3.00)", 0), ("-", 0), ("A-", 1), ("½", 1)):
        path = canvas.file("b.csv", [header, ["Doe", "7", "Yes", "ada", cell]])
        said = canvas.run("export", "--for", "blackboard", path, "--dry-run", wanted=code)
        assert len(said["scores"]) == 1 - code


def test_killed_before_it_was_written_down_the_next_run_comes_to_the_same(canvas, monkeypatch):
    canvas.score("ada", 6, page="<p>first</p>")
    listed = canvas.file("list.csv", [HEADER[:5], ["Doe, Ada", "1", "7", "ada", "A"]])
    canvas.run("roster", "import", listed)
    known = canvas.facts()
    known["collected"][NAME] = {"ada": {"system": "canvas", "home": "doeada_1_5_", "digest": ""}}
    roster.keep(canvas.course, known)
    keep, calls = roster.keep, []

    def killed(*args):
        calls.append(1)
        if len(calls) == killed.at:
            raise KeyboardInterrupt
        keep(*args)

    path = sheet(canvas, {"ada": ""})
    for killed.at in (1, 2):
        calls.clear()
        monkeypatch.setattr(roster, "keep", killed)
        export(canvas, path, "--feedback", wanted=130)
        monkeypatch.setattr(roster, "keep", keep)
    export(canvas, path, "--feedback")
    assert upload(canvas) == {"ada": "6"}
    (packed,) = canvas.folder.glob("*.zip")
    assert packed.name == f"gradebook-upload-feedback-{NAME}.zip"
    (sent,) = canvas.facts()["sent"].values()
    assert sent["ada"]["scores"] == [6.0] and sent["ada"]["page"]


def test_which_column_has_to_be_clear(canvas):
    canvas.score("ada", 6)
    path = sheet(canvas, {"ada": ""}, title="Homework (47)")
    said = export(canvas, path, wanted=2)
    assert f"no column is named {NAME}" in said and "Essay, Homework" in said
    said = export(canvas, path, "--assignment", f"{NAME}=Final Score", wanted=2)
    assert "no columns for Final Score" in said
    assert "no assignment x; it has 03_attention" in export(
        canvas, path, "--assignment", "x", wanted=2
    )
    assert upload(canvas) is None
    export(canvas, path, "--assignment", f"{NAME}=homework")
    assert upload(canvas) == {"ada": "6"}
    export(canvas, sheet(canvas, {"ada": ""}, title="03 Attention (47)"))


def test_the_exported_file_is_never_written_and_a_failure_leaves_nothing(canvas, monkeypatch):
    canvas.score("ada", 6)
    path = sheet(canvas, {"ada": ""})
    before = path.read_bytes()
    assert "stays as it is" in export(canvas, path, "--out", path, wanted=2)

    def broken(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("grader.records.course_folder.os.replace", broken)
    assert "No space left" in export(canvas, path, wanted=2)
    monkeypatch.undo()
    monkeypatch.chdir(canvas.course.parents[0])
    assert path.read_bytes() == before and not canvas.facts()["sent"]
    left = sorted(p.name for p in canvas.folder.iterdir())
    assert left == ["course", "gradebook.csv", "list.csv"]


def test_no_gradebook_and_no_export_are_said(desk):
    with gradebook.open_gradebook(desk.course) as book:
        book.remove_assignment(NAME)
        book.add_student("ada")
    assert "run `course grade` first" in export(desk, sheet(desk, {}), wanted=2)
    (desk.course / "gradebook.db").unlink()
    assert "run `course grade` first" in export(desk, sheet(desk, {}), wanted=2)
    assert not (desk.course / "gradebook.db").exists()


def test_a_worksheet_is_about_one_assignment_and_blind_ones_know_nobody(desk):
    header = ["First name", "Last name", "Username", "Email address"]
    desk.run("roster", "import", desk.file("l.csv", [header, ["Ada", "Doe", "ada", "a@x.org"]]))
    desk.score("ada", 6)
    with gradebook.open_gradebook(desk.course) as book:
        book.add_assignment("04_heads")
    head = ["Identifier", "Grade", "Maximum Grade", "Feedback comments"]
    path = desk.file("w.csv", [head, ["Participant 5", "", f"{MOST}.00", ""]])
    asked = ["export", "--for", "moodle", path]
    assert "no column says who a row is about" in desk.run(*asked, wanted=2)
    head.insert(1, "Full name")
    path = desk.file("w.csv", [head, ["Participant 5", "Ada Doe", "", f"{MOST}.00", ""]])
    assert "is about one assignment" in desk.run(*asked, wanted=2)
    said = desk.run(*asked, "--assignment", NAME, "--feedback")
    assert said["told_by_the_name_alone"] == ["ada"]
    assert desk.read(desk.folder / "w-upload.csv")[1:] == [
        ["Participant 5", "Ada Doe", "6", f"{MOST}.00", ""]
    ]
    assert said["feedback"] == [f"Ada Doe_5_assignsubmission_file/{NAME}.html"]


def test_a_worksheet_in_another_language(desk):
    header = ["Nom complet", "Identifiant", "Note", "Note maximale"]
    path = desk.file("w.csv", [header, ["Zoë Dürr", "Participant(e)12", "-", f"{MOST},00"]])
    columns = ["--column", "name=Nom complet", "--column", "participant=Identifiant"]
    desk.run(
        "roster",
        "import",
        path,
        "--from",
        "moodle",
        "--column",
        "name=Nom complet",
        "--column",
        "login=Identifiant",
    )
    desk.score("Participant(e)12", 4.5)
    asked = ["export", "--for", "moodle", path, "--column", "most=Note maximale", *columns]
    desk.run(*asked, "--assignment", f"{NAME}=note")
    assert desk.read(desk.folder / "w-upload.csv")[1][2] == "4,5"


def test_pages_go_back_once_under_the_names_of_the_collected_files(canvas, notebook):
    files = {f"doeada_LATE_1_55_{NAME}-1.ipynb": notebook("a")}
    canvas.run("collect", canvas.zip("work.zip", files))
    canvas.score("ada", 6, page="<p>first</p>")
    canvas.score("ben", 6)
    path = sheet(canvas, {"ada": "", "ben": ""})
    said = export(canvas, path, "--feedback")
    assert said["feedback"] == [f"doeada_LATE_1_55_{NAME}.html"]
    assert said["page_without_a_name_there"] == [f"ben: {NAME}"]
    first = canvas.folder / f"gradebook-upload-feedback-{NAME}.zip"
    with zipfile.ZipFile(first) as pages:
        assert pages.read(f"doeada_LATE_1_55_{NAME}.html") == b"<p>first</p>"
    assert not export(canvas, path, "--feedback")["feedback"]
    canvas.score("ada", 6, page="<p>second</p>")
    assert export(canvas, path, "--feedback")["feedback"] == said["feedback"]
    with zipfile.ZipFile(first) as pages:
        kept = pages.read(f"doeada_LATE_1_55_{NAME}.html")
        assert kept == b"<p>first</p>", "perhaps not sent yet"
    with zipfile.ZipFile(first.with_stem(first.stem + "-2")) as pages:
        assert pages.read(f"doeada_LATE_1_55_{NAME}.html") == b"<p>second</p>"


def test_a_group_s_page_is_packed_once(desk, notebook):
    header = ["name", "canvas_user_id", "login_id", "group_name", "ID", "Section"]
    rows = [["Ada Doe", "1", "ada", "Team 7"], ["Ben Roe", "2", "ben", "Team 7"]]
    desk.run("roster", "import", desk.file("g.csv", [header[:4], *rows]))
    desk.run("collect", desk.zip("work.zip", {f"team7_2_55_{NAME}.ipynb": notebook("ours")}))
    for student in ("ada", "ben"):
        desk.score(student, 6, page="<p>ours</p>")
    said = export(desk, sheet(desk, {"ada": "", "ben": ""}), "--feedback")
    assert said["feedback"] == [f"team7_2_55_{NAME}.html"] and len(said["scores"]) == 2


def test_blackboard_takes_no_pages(canvas):
    canvas.score("ada", 6)
    said = canvas.run("export", "--for", "blackboard", sheet(canvas, {}), "--feedback", wanted=2)
    assert "cannot import feedback pages in bulk" in said
