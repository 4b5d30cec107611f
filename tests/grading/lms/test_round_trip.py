"""Each system's list in, its archive in, its own file and its pages back; again after a regrade.

The systems' files are built here as their source code, or files found in public, show them; what
they take back is read here by their own rules.
"""

import csv
import re
import zipfile

import pytest

MOST = 30
ARCHIVED = ("ada", "ben", "김")


def squeezed(*parts):
    return re.sub(r"\W", "", "".join(parts).lower())


class Canvas:
    name, returns = "canvas", True
    # What Canvas shows as the student's name, and a column that is nobody's business.
    other = "Essay (5)"

    def rows(self, desk, scores):
        points = ["    Points Possible", "", "", "", "", "10", MOST, "(read only)"]
        rows = [
            ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", self.other,
             f"{desk.name} (4711)", "Current Score"],
            ["", "", "", "", "", "Manual Posting", "", ""],
            points,
        ]  # fmt: skip
        for login, (first, last, sis, number, key) in desk.people.items():
            guarded = f'="{first}, {last}"' if first.startswith("=") else f"{last}, {first}"
            rows.append([guarded, key, number, sis, "A and B", "7.5", scores.get(login, ""), "1,5"])
        return [*rows, ["Student, Test", "999", "", "x1", "A", "", "", ""]]

    def sheet(self, desk, scores, name="gradebook.csv"):
        return desk.file(name, self.rows(desk, scores), encoding="utf-8-sig")

    def roster(self, desk):
        return self.sheet(desk, {}, "roster.csv")

    def archive(self, desk, notebook):
        def path(login, attachment, file, late=""):
            first, last, *_, key = desk.people[login]
            return f"{squeezed(last, first)}{late}_{key}_{attachment}_{file}"

        return {
            path("ada", 900, f"{desk.name}.ipynb"): notebook("ada"),
            path("ada", 901, "own.py"): b"x = 1\n",
            path("ben", 902, f"{desk.name}-1.ipynb", "_LATE"): notebook("ben"),
            path("김", 903, "mine.ipynb"): notebook("김"),
        }

    # The zip has no times; what is late gets the time that was said.
    times = {"ben": b"2026-10-20 06:00:00 UTC\n"}

    def takes(self, desk, path):
        rows = desk.read(path)
        number, key = rows[0].index(f"{desk.name} (4711)"), rows[0].index("ID")
        logins = {about[4]: login for login, about in desk.people.items()}
        return {logins[r[key]]: r[number] for r in rows[1:] if r[key]}

    def gets(self, desk, name):
        parts = [p for p in name.split("_") if p != "LATE"]
        key, attachment = [p for p in parts if p.isdigit()][:2]
        login = next(login for login, about in desk.people.items() if about[4] == key)
        assert (login, attachment) in {("ada", "900"), ("ben", "902"), ("김", "903")}
        return login


class Moodle:
    name, returns = "moodle", True
    other = "Feedback comments"
    participants = {"ada": "5101", "ben": "5102", "김": "5103", "d.ö": "5104"}

    def sheet(self, desk, scores, name="worksheet.csv"):
        rows = [["Identifier", "Full name", "Email address", "Status", "Grade", "Maximum grade",
                 "Grade can be changed", "Last modified (submission)", "Last modified (grade)",
                 self.other]]  # fmt: skip
        for login, (first, last, *_) in desk.people.items():
            came = "Thursday, 24 September 2026, 9:26 PM" if login in ARCHIVED else "-"
            rows.append([f"Participant {self.participants[login]}", f"{first} {last}",
                         f"{login}@example.org", "Submitted", scores.get(login, ""), "30.00",
                         "Yes", came, "-", "as, it \"was\""])  # fmt: skip
        return desk.file(name, rows)

    def roster(self, desk):
        rows = [["First name", "Last name", "Username", "ID number", "Email address", "Groups"]]
        for login, (first, last, _, number, _) in desk.people.items():
            rows.append([first, last, login, number, f"{login}@example.org", ""])
        return desk.file("participants.csv", rows)

    def archive(self, desk, notebook):
        def path(login, file):
            first, last, *_ = desk.people[login]
            return f"{first} {last}_{self.participants[login]}_assignsubmission_file/{file}"

        return {
            path("ada", f"{desk.name}.ipynb"): notebook("ada"),
            path("ada", "sub/own.py"): b"x = 1\n",
            path("ben", f"{desk.name}.ipynb"): notebook("ben"),
            path("ben", "text.pdf"): b"%PDF",
            path("김", "mine.ipynb"): notebook("김"),
        }

    times = dict.fromkeys(ARCHIVED, b"2026-09-24 19:26:00 UTC\n")

    def takes(self, desk, path):
        rows = desk.read(path)
        logins = {f"Participant {number}": login for login, number in self.participants.items()}
        assert all(len(row) == len(rows[0]) for row in rows)
        return {logins[r[0]]: r[rows[0].index("Grade")] for r in rows[1:]}

    def gets(self, desk, name):
        folder, file = name.split("/")
        _, participant, plugin, kind = folder.split("_")[:4]
        assert (plugin, kind, file) == ("assignsubmission", "file", f"{desk.name}.html")
        return {number: login for login, number in self.participants.items()}[participant]


class Blackboard:
    name, returns = "blackboard", False
    other = "Quiz 3 [Total Pts: 10 Score] |664617"

    def sheet(self, desk, scores, name="gc_attention.xls"):
        rows = [
            [
                "Last Name",
                "First Name",
                "Username",
                "Student ID",
                "Last Access",
                "Availability",
                self.other,
                f"{desk.name} [Total Pts: {MOST} Score] |92376",
            ]
        ]
        for login, (first, last, _, number, _) in desk.people.items():
            rows.append(
                [last, first, login, number, "", "Yes", "9.0", scores.get(login, "Needs Grading")]
            )
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
        rows = [
            [
                "OrgDefinedId",
                "Username",
                "Last Name",
                "First Name",
                self.other,
                f"{desk.name} Points Grade <Numeric MaxPoints:{MOST}>",
                "End-of-Line Indicator",
            ]
        ]
        for login, (first, last, _, number, _) in desk.people.items():
            rows.append([f"#{number}", f"#{login}", last, first, "5", scores.get(login, ""), "#"])
        return desk.file(name, rows)

    def roster(self, desk):
        return self.sheet(desk, {}, "list.csv")

    def folder(self, desk, login, time="926 PM", day=24):
        first, last, *_, key = desk.people[login]
        return f"397063-{key} - {first} {last} - Sep {day}, 2026 {time}"

    def archive(self, desk, notebook):
        return {
            "index.html": b"<html>",
            f"{self.folder(desk, 'ada', '1126 PM', 23)}/{desk.name}.ipynb": notebook("earlier"),
            f"{self.folder(desk, 'ada')}/{desk.name}.ipynb": notebook("ada"),
            f"{self.folder(desk, 'ada')}/own.py": b"x = 1\n",
            f"{self.folder(desk, 'ben')}/{desk.name}.ipynb": notebook("ben"),
            f"{self.folder(desk, '김')}/mine.ipynb": notebook("김"),
        }

    times = dict.fromkeys(ARCHIVED, b"2026-09-24 19:26:00 UTC\n")

    def takes(self, desk, path):
        rows = desk.read(path)
        assert all(r[-1] == "#" for r in rows[1:])
        return {r[1].removeprefix("#"): r[5] for r in rows[1:]}

    def gets(self, desk, name):
        folder = name.split("/")[0]
        return next(login for login in ARCHIVED if self.folder(desk, login) == folder)


class Ilias:
    name, returns = "ilias", True
    other = "comment"

    def sheet(self, desk, scores, name="status.csv"):
        rows = [
            [
                "update",
                "usr_id",
                "login",
                "lastname",
                "firstname",
                "status",
                "mark",
                "notice",
                self.other,
                "plagiarism",
                "plag_comment",
            ]
        ]
        for login, (first, last, _, _, key) in desk.people.items():
            rows.append(
                [
                    "0",
                    key,
                    login,
                    last,
                    first,
                    "notgraded",
                    scores.get(login, ""),
                    "",
                    "well; done",
                    "none",
                    "",
                ]
            )
        return desk.file(name, rows, separator=";")

    def roster(self, desk):
        return self.sheet(desk, {}, "list.csv")

    def archive(self, desk, notebook):
        def path(login, file):
            key = desk.people[login][4]
            return (
                f"Abgaben/HW_12/Last_First_{login.encode('ascii', 'ignore').decode()}_{key}/{file}"
            )

        return {
            path("ada", f"{desk.name}.ipynb"): notebook("an earlier attempt"),
            path("ada", f"{desk.name} (2).ipynb"): notebook("ada"),
            path("ada", "own.py"): b"x = 1\n",
            path("ben", f"late submission - {desk.name}.ipynb"): notebook("ben"),
            path("김", "mine.ipynb"): notebook("김"),
        }

    times = {"ben": b"2026-10-20 06:00:00 UTC\n"}

    def takes(self, desk, path):
        rows = desk.read(path, separator=";")
        return {r[2]: r[6] for r in rows[1:] if r[0] == "1"}

    def gets(self, desk, name):
        top, user, file = name.split("/")
        assert top.startswith("multi_feedback") and file == f"{desk.name}.html"
        return next(n for n, about in desk.people.items() if about[4] == user.split("_")[-1])


@pytest.mark.parametrize("make", [Canvas, Moodle, Blackboard, Brightspace, Ilias])
def test_there_and_back(make, desk, notebook):
    system = make()
    listed = system.roster(desk)
    before = desk.everything()
    said = desk.run("roster", "import", listed, "--dry-run")
    assert len(said["new"]) == 4 and desk.everything() == before
    assert len(desk.run("roster", "import", listed)["new"]) == 4
    again = desk.run("roster", "import", listed)
    assert not again["new"] and not again["changed"]
    assert set(desk.facts()["students"]) == set(desk.people)

    zipped = desk.zip("submissions.zip", system.archive(desk, notebook))
    asked = ["collect", zipped, "--zone", "Europe/Berlin", "--late-at", "2026-10-20T08:00"]
    if system.name == "moodle":
        asked += ["--worksheet", system.sheet(desk, {})]
    before = desk.everything()
    desk.run(*asked, "--dry-run")
    assert desk.everything() == before
    assert len(desk.run(*asked)["collected"]) == 3
    wanted = {f"{s}/{desk.name}/{desk.name}.ipynb": notebook(s) for s in ARCHIVED}
    wanted[f"ada/{desk.name}/own.py"] = b"x = 1\n"
    wanted |= {f"{s}/{desk.name}/timestamp.txt": time for s, time in system.times.items()}
    assert desk.submitted() == wanted
    before = desk.everything()
    assert not desk.run(*asked)["collected"]
    assert desk.everything() == before

    for student, points in {"ada": 6, "ben": 3.5, "김": 0}.items():
        desk.score(student, points)
    own = system.sheet(desk, {})
    untouched = own.read_bytes()
    asked = ["export", "--for", system.name, own, "--assignment", desk.name]
    asked += ["--feedback"] * system.returns
    before = desk.everything()
    desk.run(*asked, "--dry-run")
    assert (
        desk.everything() == before and not (own.parent / f"{own.stem}-upload{own.suffix}").exists()
    )
    desk.run(*asked)
    upload = own.with_name(f"{own.stem}-upload{own.suffix}")
    filled = {"ada": "6", "ben": "3.5", "김": "0"}
    assert system.takes(desk, upload) == filled
    assert own.read_bytes() == untouched
    if system.returns:
        with zipfile.ZipFile(upload.with_name(f"{upload.stem}-feedback-{desk.name}.zip")) as pages:
            back = {system.gets(desk, n): pages.read(n).decode() for n in pages.namelist()}
        assert back == {s: f"<p>{s} has {p}</p>" for s, p in
                        {"ada": 6, "ben": 3.5, "김": 0}.items()}  # fmt: skip

    # The system has taken that; one score moves.
    own = system.sheet(desk, filled)
    desk.score("ben", 5)
    said = desk.run(*asked)
    assert said["scores"] == [f"ben: {desk.name}: 3.5 -> 5"]
    assert system.takes(desk, upload) == {"ben": "5"}
    if system.returns:
        with zipfile.ZipFile(
            upload.with_name(f"{upload.stem}-feedback-{desk.name}-2.zip")
        ) as pages:
            assert [system.gets(desk, name) for name in pages.namelist()] == ["ben"]
    system.sheet(desk, {**filled, "ben": "5"})
    said = desk.run(*asked)
    assert not said.get("scores") and said["says"].endswith("nothing to hand back")
