"""Lists of a class: who is who, what is refused, and what nothing is guessed from."""

import json
import sys

import pytest
from nbgrader.api import Student

from grader.lms import importing
from grader.records import gradebook, roster
from grader.records.course_folder import RENAMING

NAME = "03_attention"

CANVAS = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]


def students(desk):
    with gradebook.open_gradebook(desk.course) as book:
        return {s.id: (s.first_name, s.last_name, s.email, s.lms_user_id) for s in book.students}


def canvas(desk, *rows, header=CANVAS, **options):
    return desk.file("list.csv", [header, *rows], **options)


def test_names_are_kept_and_no_spreadsheet_runs_them(desk):
    rows = [
        ['="=HYPERLINK(1)"', "1", "007", "ada", "A"],
        ["+김, 민준", "2", "008", "min", "A"],
        ["@SUM(A1)", "3", "009", "sum", "A"],
    ]
    desk.run("roster", "import", canvas(desk, *rows))
    assert students(desk) == {
        "ada": (None, "'=HYPERLINK(1)", None, "1"),
        "min": ("민준", "'+김", None, "2"),
        "sum": (None, "'@SUM(A1)", None, "3"),
    }
    known = desk.facts()["students"]
    assert known["ada"]["name"] == "=HYPERLINK(1)" and known["min"]["name"] == "+김, 민준"
    assert known["ada"]["keys"]["canvas"] == {"key": "1", "number": "007", "login": "ada"}


@pytest.mark.parametrize("login", ["=cmd", "a/b", "..", "x" * 200, "a\u200bb", "-rf"])
def test_a_login_that_can_be_no_folder_is_refused(desk, login):
    path = canvas(desk, ["Doe, Ada", "1", "007", login, "A"])
    before = desk.everything()
    said = desk.run("roster", "import", path, wanted=2)
    assert "row 2" in said and "--id" in said and said.count("\n") == 1
    assert desk.everything() == before
    desk.run("roster", "import", path, "--id", "number")
    assert set(students(desk)) == {"007"}


def test_a_newer_list_changes_what_has_changed_and_deletes_nobody(desk):
    ada, ben = ["Doe, Ada", "1", "7", "ada", "A"], ["Roe, Ben", "2", "8", "ben", "A"]
    desk.run("roster", "import", canvas(desk, ada, ben))
    # A new login, a new name, another section; and ben is gone.
    path = canvas(desk, ["Dö, Ada", "1", "7", "ada.doe", "B"], ["Poe, Cy", "3", "9", "cy", "A"])
    said = desk.run("roster", "import", path)
    assert said["new"] == ["cy: Cy Poe; A"] and said["changed"] == ["ada: Ada Dö; B"]
    assert said["known_here_and_not_on_the_list"] == ["ben"]
    assert students(desk) == {
        "ada": ("Ada", "Dö", None, "1"),
        "ben": ("Ben", "Roe", None, "2"),
        "cy": ("Cy", "Poe", None, "3"),
    }
    assert desk.facts()["students"]["ada"]["sections"] == ["B"]


def test_somebody_known_before_keeps_the_name_of_the_folder(desk):
    with gradebook.open_gradebook(desk.course) as book:
        book.add_student("ada")
        book.add_student("ben", email="Ben@Example.org")
        book.add_student("cy", lms_user_id="u3", first_name="Cyrus")
    header = ["Username", "Email address", "First name", "Last name"]
    rows = [["ADA", "a@x.org", "Ada", "Doe"], ["b2", "ben@example.org", "Ben", "Roe"]]
    desk.run("roster", "import", canvas(desk, *rows, header=header))
    ilias = [["u3", "cy9", "Poe", ""]]
    path = canvas(desk, *ilias, header=["usr_id", "login", "lastname", "firstname"])
    desk.run("roster", "import", path)
    assert students(desk) == {
        "ada": ("Ada", "Doe", "a@x.org", None),
        "ben": ("Ben", "Roe", "ben@example.org", None),
        "cy": ("Cyrus", "Poe", None, "u3"),
    }


def test_a_name_alone_makes_nobody_the_same(desk):
    desk.run("roster", "import", canvas(desk, ["Doe, Ada", "1", "7", "ada", "A"]))
    said = desk.run("roster", "import", canvas(desk, ["Doe, Ada", "2", "8", "ada2", "A"]))
    assert said["new"] == ["ada2: Ada Doe; A"]
    assert said["look_at"] == [
        "ada and ada2 have the same name: where a file has names alone, they are left out"
    ]


def test_a_student_in_two_sections_and_in_two_groups_is_one(desk):
    header = ["name", "canvas_user_id", "login_id", "sections", "group_name"]
    rows = [["Ada", "1", "ada", "A", "Team 1"], ["Ada", "1", "ada", "B", "Labor Ü"]]
    said = desk.run("roster", "import", canvas(desk, *rows, header=header))
    assert said["look_at"] == ["ada is in several groups: Team 1, Labor Ü"]
    assert desk.facts()["students"]["ada"]["sections"] == ["A", "B"]
    desk.run("roster", "import", canvas(desk, rows[0], header=header))
    assert desk.facts()["students"]["ada"]["groups"] == ["Team 1"], "a newer list counts"


@pytest.mark.parametrize(
    "rows, says",
    [
        ([["A, B", "1", "7", "a", ""], ["C, D", "1", "7", "a", ""]], "rows 2 and 3: the same key"),
        ([["A, B", "1", "7", "a", ""], ["C, D", "2", "8", "A", ""]], "row 3: A is already another"),
        ([["A, B", "1", "7", "a", ""], ["C, D", "2"]], "row 3: 2 cells where the header has 5"),
        ([["A, B", "", "", "", ""]], "nobody in it has an id; wanted one of the columns ID"),
        ([], "nobody in it has an id"),
    ],
)
def test_what_is_unclear_is_refused_whole(desk, rows, says):
    before = desk.everything()
    assert says in desk.run("roster", "import", canvas(desk, *rows), wanted=2)
    assert desk.everything() == before


def test_a_class_of_twice_as_many_takes_twice_the_work(desk):
    def work(many):
        rows = [[f"Doe, A{n}", str(n), f"7{n}", f"login{n}", "A"] for n in range(many)]
        path, calls = canvas(desk, *rows), 0

        def count(frame, event, argument):
            nonlocal calls
            calls += event == "call"

        sys.setprofile(count)
        try:
            importing.plan(desk.course, path)
        finally:
            sys.setprofile(None)
        return calls

    assert work(240) < 2.3 * work(120)


def test_a_name_cannot_run_in_formgrader_and_a_login_that_would_is_refused(desk):
    row = ["<img src=x onerror=1>&, O'Neil", "1", "7", "ada", "A"]
    desk.run("roster", "import", canvas(desk, row))
    assert students(desk)["ada"][:2] == ("O'Neil", "img src=x onerror=1")
    for login, why in (
        ("<b>", "takes for markup"),
        ('a"b', "takes for markup"),
        ("a\\", "takes for markup"),
        ("\ud55c" * 43, "longer than 128 bytes"),
        ("=1", "is a formula"),
        ("a\x1b", "cannot be a folder"),
    ):
        said = desk.run("roster", "import", canvas(desk, ["B, B", "2", "8", login, "A"]), wanted=2)
        assert why in said and why in desk.run("rename", "ada", login, wanted=2)
    desk.run("roster", "import", canvas(desk, ["B, B", "2", "8", "\ud55c" * 42, "A"]))


@pytest.mark.parametrize("at", [1, 2, 4, 5, 6, 8, 9, 11, 12, 15, 16, 17])
def test_a_name_that_is_changed_halfway_is_changed_by_the_next_run(desk, monkeypatch, at):
    desk.run("roster", "import", canvas(desk, ["Doe, Ada", "1", "7", "ada", "A"]))
    desk.score("ada", 6)
    for place in (f"submitted/ada/{NAME}", "submitted/ada/04_heads", f"replaced/{NAME}/ada/1"):
        (desk.course / place).mkdir(parents=True)
        (desk.course / place / "x.ipynb").write_text("x")
    for place in (f"replaced/{NAME}/new/1/x.ipynb", f"defence/{NAME}/students/ada.html"):
        (desk.course / place).parent.mkdir(parents=True)
        (desk.course / place).write_text("page")
    sheets = desk.course / "defence" / NAME / "sheets.json"
    sheets.write_text('{"ada": {"student": "ada"}}')
    left = at

    def ended(function):
        def call(*args, **kwargs):
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
            return function(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        path = type(desk.course)
        for owner, name in (
            (path, "rename"),
            (path, "rmdir"),
            (path, "unlink"),
            (roster, "write_whole"),
            (roster, "_rewrite"),
        ):
            patch.setattr(owner, name, ended(getattr(owner, name)))
        desk.run("rename", "ada", "new", wanted=130 if at < 17 else 0)
    if (desk.course / RENAMING).exists():
        assert "`course rename ada new`" in desk.run("rename", "cy", "dan", wanted=2)
        assert "`course rename ada new`" in desk.run(
            "roster", "import", canvas(desk, ["Doe, Ada", "1", "7", "ada", "A"]), wanted=2
        )
    if at < 17:
        desk.run("rename", "ada", "new")
    assert set(students(desk)) == set(desk.facts()["students"]) == {"new"}
    assert not [p for p in desk.course.rglob("*") if "ada" in p.name or "renaming" in p.name]
    assert desk.submitted() == {f"new/{NAME}/x.ipynb": b"x", "new/04_heads/x.ipynb": b"x"}
    kept = desk.course / "replaced" / NAME / "new"
    assert {p.name: (p / "x.ipynb").read_text() for p in kept.iterdir()} == {"1": "page", "2": "x"}
    assert json.loads(sheets.read_text()) == {"new": {"student": "new"}}
    with gradebook.open_gradebook(desk.course) as book:
        assert book.find_submission(NAME, "new").score == 6
    assert desk.run("rename", "ada", "new", wanted=2)


def test_two_keys_that_name_two_people_are_refused(desk):
    rows = [["Doe, Ada", "1", "7", "ada", "A"], ["Roe, Ben", "2", "8", "ben", "A"]]
    desk.run("roster", "import", canvas(desk, *rows))
    before = desk.everything()
    said = desk.run("roster", "import", canvas(desk, ["Doe, Ada", "1", "7", "ben", "A"]), wanted=2)
    assert "row 2: by key it is ada; by number it is ada; by login it is ben" in said
    assert desk.everything() == before


def test_a_list_in_another_language(desk):
    header = ["Nom complet", "Identifiant", "Adresse de courriel"]
    path = canvas(desk, ["Zoë Dürr", "zoe", "z@x.fr"], header=header, separator=";")
    said = desk.run("roster", "import", path, wanted=2)
    assert "Nom complet, Identifiant" in said and "--from" in said
    asked = ["roster", "import", path, "--from", "moodle", "--column", "name=nom COMPLET"]
    said = desk.run(*asked, wanted=2)
    assert "nobody in it has an id" in said and "Identifiant" in said
    said = desk.run(*asked, "--column", "login=Login", wanted=2)
    assert "no column login=Login; there are Nom complet" in said
    assert "no column login=; there are Nom" in desk.run(*asked, "--column", "login", wanted=2)
    assert "no field nom of moodle; there are participant" in desk.run(
        *asked, "--column", "nom=x", wanted=2
    )
    desk.run(*asked, "--column", "login=Identifiant")
    assert students(desk) == {"zoe": ("Zoë", "Dürr", None, None)}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_encodings(desk, encoding):
    path = canvas(desk, ["Dürr, Zoë", "1", "7", "zoe", "A"], encoding=encoding)
    told = encoding in ("utf-8", "utf-8-sig", "utf-16")
    if not told:
        assert "--encoding" in desk.run("roster", "import", path, wanted=2)
    desk.run("roster", "import", path, *([] if told else ["--encoding", encoding]))
    assert students(desk) == {"zoe": ("Zoë", "Dürr", None, "1")}


@pytest.mark.parametrize(
    "content, says",
    [
        (b"PK\x03\x04rest", "workbook"),
        (b"", "it is empty"),
        (b"\n\n", "it is empty"),
        (b'Student,ID,Section\n"Doe,1,A\n', "never closed"),
        (b"a,b\n1,2\n", "those of no known system"),
        (b"ID,ID,Section\n1,2,3\n", "'ID' is there twice"),
        (b"Student,ID,Section\n\0,2,3\n", "NUL"),
    ],
)
def test_what_is_no_list_is_said_to_be_none(desk, content, says):
    path = desk.folder / "list.csv"
    path.write_bytes(content)
    said = desk.run("roster", "import", path, wanted=2)
    assert says in said and str(path) in said and said.count("\n") == 1


def test_a_failure_writes_nothing(desk, monkeypatch):
    path = canvas(desk, ["Doe, Ada", "1", "7", "ada", "A"], ["Roe, Ben", "2", "8", "ben", "A"])
    before = students(desk)
    monkeypatch.setattr(Student, "__init__", broken_after(1, Student.__init__))
    assert "again to resume" in desk.run("roster", "import", path, wanted=130)
    monkeypatch.undo()
    assert students(desk) == before and not (desk.course / roster.FILE).exists()


def broken_after(many, function):
    calls = []

    def run(*args, **kwargs):
        calls.append(1)
        if len(calls) > many:
            raise KeyboardInterrupt
        return function(*args, **kwargs)

    return run


def test_rename_takes_along_what_other_systems_say(desk):
    desk.run("roster", "import", canvas(desk, ["Doe, Ada", "1", "7", "ada", "A"]))
    known = desk.facts()
    known["collected"]["03_attention"] = {"ada": {"home": "doeada_1_2_"}}
    known["sent"]["canvas 03_attention"] = {"ada": {"scores": [1.0]}}
    roster.keep(desk.course, known)
    desk.run("rename", "ada", "ada2")
    after = desk.facts()
    assert set(after["students"]) == {"ada2"}
    assert after["collected"]["03_attention"] == {"ada2": {"home": "doeada_1_2_"}}
    assert after["sent"]["canvas 03_attention"] == {"ada2": {"scores": [1.0]}}
    said = desk.run("roster", "import", canvas(desk, ["Doe, Ada", "1", "7", "ada", "A"]))
    assert not said["new"] and set(students(desk)) == {"ada2"}
    # Nor does a verdict that is damaged stop it halfway; what it was about is graded again.
    folder = desk.course / "autograded" / "ada2" / "03_attention"
    folder.mkdir(parents=True)
    for old, new, content in (("ada2", "a3", "{"), ("a3", "a4", "[]"), ("a4", "a5", "")):
        (folder / "verdict.json").write_text(content)
        desk.run("rename", old, new)
        folder = desk.course / "autograded" / new / "03_attention"


def test_a_damaged_record_is_said_to_be_damaged(desk):
    path = canvas(desk, ["Doe, Ada", "1", "7", "ada", "A"])
    for content in ("{", "[]", '{"students": 3}', '{"sent": {"canvas x": 3}}'):
        (desk.course / roster.FILE).write_text(content)
        assert "roster.json" in desk.run("roster", "import", path, wanted=2)
