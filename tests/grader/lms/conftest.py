"""A course of four students, as five systems would write it, and a desk to work at.

The systems' files are built as their source code, or files found in public, show them; what they
take back is read by their own rules.
"""

import csv
import io
import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import ClassVar

import nbformat
import pytest

from course_lib.cli import main
from grader import authoring
from grader.records import gradebook, roster

ROOT = Path(__file__).resolve().parents[3]
NAME = "03_attention"
# First name, last name, login, number, the system's own id. Two of them hand in as a group.
CLASS = {
    "ada": ("Zoë", "Müller-Lüdenscheidt", "ada", "007", "101"),
    "ben": ("=1+1", "O’Brien", "ben", "008", "102"),
    "김": ("민준", "김", "김", "009", "103"),
    "d.ö": ("Dov", "בן־דוד", "d.ö", "010", "104"),
}


class Desk:
    """A course folder, the command line, and files of other systems."""

    people, name = CLASS, NAME

    def __init__(self, folder, capsys):
        self.folder, self.course, self.capsys = folder, folder / "course", capsys

    def file(self, name, rows, *, separator=",", encoding="utf-8", quoted=csv.QUOTE_MINIMAL):
        text = io.StringIO()
        csv.writer(text, delimiter=separator, quoting=quoted).writerows(rows)
        path = self.folder / name
        path.write_bytes(text.getvalue().encode(encoding))
        return path

    def read(self, path, *, separator=",", encoding="utf-8-sig"):
        with open(path, encoding=encoding, newline="") as file:
            return list(csv.reader(file, delimiter=separator))

    def zip(self, name, files):
        path = self.folder / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for inside, content in files.items():
                archive.writestr(inside, content)
        return path

    def run(self, *arguments, wanted=0):
        words = [str(a) for a in arguments]
        code = main([*words, "--course", str(self.course), "--json"])
        said = self.capsys.readouterr()
        assert code == wanted, said
        return said.err if code in (2, 130) else json.loads(said.out)

    def submitted(self):
        there = self.course / "submitted"
        return {
            p.relative_to(there).as_posix(): p.read_bytes() for p in there.rglob("*") if p.is_file()
        }

    def everything(self):
        return {
            p.relative_to(self.course).as_posix(): p.read_bytes()
            for p in self.course.rglob("*")
            if p.is_file() and p.name != ".grading.lock"
        }

    def score(self, student, points, *, finished=True, name=NAME, page=None):
        """As grading writes it: points for the first exercise, and a page of feedback."""
        with gradebook.open_gradebook(self.course) as book:
            cells = [c.name for c in book.find_notebook(name, name).grade_cells]
            scores = dict.fromkeys(cells, 0.0 if finished else None)
            scores[cells[0]] = float(points)
            gradebook.write(book, name, student, scores, changed=cells)
        path = self.course / "feedback" / student / name / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page or f"<p>{student} has {points}</p>")

    def facts(self):
        return roster.facts(self.course)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory, blank_gradebook, assignment):
    course = tmp_path_factory.mktemp("prepared")
    shutil.copy(blank_gradebook, course)
    with gradebook.prepared(course, NAME, assignment.release):
        pass
    return course / "gradebook.db"


@pytest.fixture
def desk(tmp_path, prepared, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    (tmp_path / "course").mkdir()
    shutil.copy(prepared, tmp_path / "course")
    return Desk(tmp_path, capsys)


@pytest.fixture
def notebook(assignment):
    def make(word):
        copy = nbformat.from_dict(assignment.release)
        copy.cells.append(nbformat.v4.new_markdown_cell(word, id="last"))
        return nbformat.writes(copy).encode()

    return make


MOST = f"{authoring.named(ROOT, NAME).points:g}"
ARCHIVED = ("ada", "ben", "김")


def squeezed(*parts):
    return re.sub(r"\W", "", "".join(parts).lower())


class Canvas:
    name, returns = "canvas", True
    # What Canvas shows as the student's name, and a column that is nobody's business.
    other = "Essay (5)"

    def rows(self, desk, scores):
        columns = "Student,ID,SIS User ID,SIS Login ID,Section".split(",")
        rows = [
            [*columns, self.other, f"{desk.name} (4711)", "Current Score"],
            [*[""] * 5, "Manual Posting", "", ""],
            ["    Points Possible", *[""] * 4, "10", MOST, "(read only)"],
        ]
        for login, (first, last, sis, number, key) in desk.people.items():
            guarded = f'="{first}, {last}"' if first.startswith("=") else f"{last}, {first}"
            rows.append([guarded, key, number, sis, "A and B", "7.5", scores.get(login, ""), "1,5"])
        return [*rows, ["Student, Test", "999", "", "x1", "A", "", "", ""]]

    def sheet(self, desk, scores, name="gradebook.csv"):
        return desk.file(name, self.rows(desk, scores), encoding="utf-8-sig")

    def roster(self, desk):
        return self.sheet(desk, {}, "roster.csv")

    def place(self, desk, login, file, late="", attachment=None):
        first, last, *_, key = desk.people[login]
        return f"{squeezed(last, first)}{late}_{key}_{attachment or f'9{key}'}_{file}"

    def archive(self, desk, notebook):
        return {
            self.place(desk, "ada", f"{desk.name}.ipynb"): notebook("ada"),
            self.place(desk, "ada", "own.py", attachment=901): b"x = 1\n",
            self.place(desk, "ada", "experiment.json", attachment=902): b"{}\n",
            self.place(desk, "ben", f"{desk.name}-1.ipynb", "_LATE"): notebook("ben"),
            self.place(desk, "김", "mine.ipynb"): notebook("김"),
        }

    # The zip has no times; what is late gets the time that was said.
    times: ClassVar = {"ben": b"2026-10-20 06:00:00 UTC\n"}

    def takes(self, desk, path):
        rows = desk.read(path)
        number, key = rows[0].index(f"{desk.name} (4711)"), rows[0].index("ID")
        logins = {about[4]: login for login, about in desk.people.items()}
        return {logins[r[key]]: r[number] for r in rows[1:] if r[key]}

    def gets(self, desk, name):
        parts = [p for p in name.split("_") if p != "LATE"]
        key, attachment = [p for p in parts if p.isdigit()][:2]
        assert attachment == f"9{key}"
        return next(login for login, about in desk.people.items() if about[4] == key)


class Moodle:
    name, returns = "moodle", True
    other = "Feedback comments"

    def number(self, desk, login):
        return f"5{desk.people[login][4]}"

    def sheet(self, desk, scores, name="worksheet.csv"):
        columns = "Identifier,Full name,Email address,Status,Grade,Maximum grade"
        columns += ",Grade can be changed,Last modified (submission),Last modified (grade)"
        rows = [[*columns.split(","), self.other]]
        for login, (first, last, *_) in desk.people.items():
            came = "Thursday, 24 September 2026, 9:26 PM" if login in self.times else "-"
            about = [f"Participant {self.number(desk, login)}", f"{first} {last}"]
            about += [f"{login}@example.org", "Submitted", scores.get(login, ""), f"{MOST}.00"]
            rows.append([*about, "Yes", came, "-", 'as, it "was"'])
        return desk.file(name, rows)

    def roster(self, desk):
        rows = [["First name", "Last name", "Username", "ID number", "Email address", "Groups"]]
        for login, (first, last, _, number, _) in desk.people.items():
            rows.append([first, last, login, number, f"{login}@example.org", ""])
        return desk.file("participants.csv", rows)

    def place(self, desk, login, file):
        first, last, *_ = desk.people[login]
        return f"{first} {last}_{self.number(desk, login)}_assignsubmission_file/{file}"

    def archive(self, desk, notebook):
        return {
            self.place(desk, "ada", f"{desk.name}.ipynb"): notebook("ada"),
            self.place(desk, "ada", "sub/own.py"): b"x = 1\n",
            self.place(desk, "ada", "sub/experiment.json"): b"{}\n",
            self.place(desk, "ben", f"{desk.name}.ipynb"): notebook("ben"),
            self.place(desk, "ben", "text.pdf"): b"%PDF",
            self.place(desk, "김", "mine.ipynb"): notebook("김"),
        }

    times = dict.fromkeys(ARCHIVED, b"2026-09-24 19:26:00 UTC\n")

    def takes(self, desk, path):
        rows = desk.read(path)
        logins = {f"Participant {self.number(desk, login)}": login for login in desk.people}
        assert all(len(row) == len(rows[0]) for row in rows)
        return {logins[r[0]]: r[rows[0].index("Grade")] for r in rows[1:]}

    def gets(self, desk, name):
        folder, file = name.split("/")
        _, participant, plugin, kind = folder.split("_")[:4]
        assert (plugin, kind, file) == ("assignsubmission", "file", f"{desk.name}.html")
        return {self.number(desk, login): login for login in desk.people}[participant]


class Blackboard:
    name, returns = "blackboard", False
    other = "Quiz 3 [Total Pts: 10 Score] |664617"

    def sheet(self, desk, scores, name="gc_attention.xls"):
        columns = "Last Name,First Name,Username,Student ID,Last Access,Availability".split(",")
        rows = [[*columns, self.other, f"{desk.name} [Total Pts: {MOST} Score] |92376"]]
        for login, (first, last, _, number, _) in desk.people.items():
            score = scores.get(login, "Needs Grading")
            rows.append([last, first, login, number, "", "Yes", "9.0", score])
        return desk.file(name, rows, separator="\t", encoding="utf-16", quoted=csv.QUOTE_ALL)

    def roster(self, desk):
        return self.sheet(desk, {}, "list.xls")

    def archive(self, desk, notebook):
        def path(login, stamp, file=None):
            own = f"_{file}" if file else ".txt"
            return f"HW_3_{login}_attempt_2026-09-{stamp}-21-26-05{own}"

        def receipt(login):
            first, last, *_ = desk.people[login]
            return f"Name: {first} {last} (x) ({login})\nAssignment: HW_3\n\nFiles:\n".encode()

        return {
            path("ada", 23): receipt("ada"),
            path("ada", 23, f"{desk.name}.ipynb"): notebook("an earlier attempt"),
            path("ada", 24): receipt("ada"),
            path("ada", 24, f"{desk.name}.ipynb"): notebook("ada"),
            path("ada", 24, "own.py"): b"x = 1\n",
            path("ada", 24, "experiment.json"): b"{}\n",
            path("ben", 24, f"{desk.name}.ipynb"): notebook("ben"),
            path("김", 24, "mine.ipynb"): notebook("김"),
        }

    times = dict.fromkeys(ARCHIVED, b"2026-09-24 19:26:05 UTC\n")

    def takes(self, desk, path):
        assert path.read_bytes().startswith(b"\xff\xfe")
        rows = desk.read(path, separator="\t", encoding="utf-16")
        assert rows[0][-1].endswith("|92376")
        return {r[2]: r[-1] for r in rows[1:]}


class Brightspace:
    name, returns = "brightspace", True
    other = "Quiz Points Grade <Numeric MaxPoints:6 Category:Quizzes>"

    def sheet(self, desk, scores, name="GradesExport.csv"):
        columns = ["OrgDefinedId", "Username", "Last Name", "First Name", self.other]
        points = f"{desk.name} Points Grade <Numeric MaxPoints:{MOST}>"
        rows = [[*columns, points, "End-of-Line Indicator"]]
        for login, (first, last, _, number, _) in desk.people.items():
            rows.append([f"#{number}", f"#{login}", last, first, "5", scores.get(login, ""), "#"])
        return desk.file(name, rows)

    def roster(self, desk):
        return self.sheet(desk, {}, "list.csv")

    def folder(self, desk, login, time="926 PM", day=24):
        first, last, *_, key = desk.people[login]
        return f"397063-{key} - {first} {last} - Sep {day}, 2026 {time}"

    def place(self, desk, login, file, *when):
        return f"{self.folder(desk, login, *when)}/{file}"

    def archive(self, desk, notebook):
        return {
            "index.html": b"<html>",
            self.place(desk, "ada", f"{desk.name}.ipynb", "1126 PM", 23): notebook("earlier"),
            self.place(desk, "ada", f"{desk.name}.ipynb"): notebook("ada"),
            self.place(desk, "ada", "own.py"): b"x = 1\n",
            self.place(desk, "ada", "experiment.json"): b"{}\n",
            self.place(desk, "ben", f"{desk.name}.ipynb"): notebook("ben"),
            self.place(desk, "김", "mine.ipynb"): notebook("김"),
        }

    times = dict.fromkeys(ARCHIVED, b"2026-09-24 19:26:00 UTC\n")

    def takes(self, desk, path):
        rows = desk.read(path)
        assert all(r[-1] == "#" for r in rows[1:])
        return {r[1].removeprefix("#"): r[5] for r in rows[1:]}

    def gets(self, desk, name):
        folder = name.split("/")[0]
        return next(login for login in desk.people if self.folder(desk, login) == folder)


class Ilias:
    name, returns = "ilias", True
    other = "comment"

    def sheet(self, desk, scores, name="status.csv"):
        columns = "update usr_id login lastname firstname status mark notice".split()
        rows = [[*columns, self.other, "plagiarism", "plag_comment"]]
        for login, (first, last, _, _, key) in desk.people.items():
            about = ["0", key, login, last, first, "notgraded", scores.get(login, "")]
            rows.append([*about, "", "well; done", "none", ""])
        return desk.file(name, rows, separator=";")

    def roster(self, desk):
        return self.sheet(desk, {}, "list.csv")

    def archive(self, desk, notebook):
        def path(login, file):
            plain, key = login.encode("ascii", "ignore").decode(), desk.people[login][4]
            return f"Abgaben/HW_12/Last_First_{plain}_{key}/{file}"

        return {
            path("ada", f"{desk.name}.ipynb"): notebook("an earlier attempt"),
            path("ada", f"{desk.name} (2).ipynb"): notebook("ada"),
            path("ada", "own.py"): b"x = 1\n",
            path("ada", "experiment.json"): b"{}\n",
            path("ben", f"late submission - {desk.name}.ipynb"): notebook("ben"),
            path("김", "mine.ipynb"): notebook("김"),
        }

    times: ClassVar = {"ben": b"2026-10-20 06:00:00 UTC\n"}

    def takes(self, desk, path):
        rows = desk.read(path, separator=";")
        return {r[2]: r[6] for r in rows[1:] if r[0] == "1"}

    def gets(self, desk, name):
        top, user, file = name.split("/")
        assert top.startswith("multi_feedback") and file == f"{desk.name}.html"
        return next(n for n, about in desk.people.items() if about[4] == user.split("_")[-1])


SYSTEMS = {system.name: system for system in (Canvas, Moodle, Blackboard, Brightspace, Ilias)}


@pytest.fixture(params=SYSTEMS)
def system(request):
    return SYSTEMS[request.param]()


@pytest.fixture
def systems():
    return SYSTEMS
