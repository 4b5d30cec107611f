"""A term: forty students of three systems, from the list of the class to scores and sheets.

What is typed stands in the guide for instructors, and is taken from there line by line.
"""

import csv
import json
import re
import shlex
import zipfile
from collections import Counter
from pathlib import Path

import nbformat
import pytest

from course_lib.cli import main, parser
from grader import sample
from grader.records import gradebook

ROOT = Path(__file__).resolve().parents[3]
NAME = "03_attention"
PAGE = (ROOT / "book" / "instructors_term.md").read_text(encoding="utf-8")
FIRST = ("Zoë", "민준", "Dov", "Ana María", "Nguyễn", "O’Neil", "=1+1", "李")
LAST = ("Müller-Lüdenscheidt", "김", "בן־דוד", "García López", "Văn A", "Brien", "Doe", "四")


def typed():
    section = PAGE.partition("(week-by-week)=\n## ")[2].partition("\n## ")[0]
    code = "".join(re.findall(r"^```sh\n(.*?)^```$", section, re.M | re.S))
    return [shlex.split(line) for line in code.splitlines()]


def test_every_command_of_the_guide_is_one():
    assert len(typed()) > 10
    for line in typed():
        assert line[0] == "course"
        parser().parse_args(line[1:])


class Broken:
    """A function that is broken off, as by Ctrl-C, when it is called for the nth time."""

    def __init__(self, patch, owner, name, at):
        self.function, self.left = getattr(owner, name), at
        patch.setattr(owner, name, lambda *args, **named: self(*args, **named))

    def __call__(self, *args, **named):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
        return self.function(*args, **named)


class Term:
    """A class of several systems, and somebody who types the guide's lines for each of them."""

    def __init__(self, folder, many, assignment, systems, desk, capsys, grading):
        self.folder, self.course, self.assignment = folder, folder / "course", assignment
        self.capsys, self.grading, self.grades = capsys, grading, 0
        self.notebooks, self.planted = {}, {}
        self.desks = []
        for n, system in enumerate(systems):
            own = type(desk)(folder / system.name, capsys)
            own.folder.mkdir()
            own.course = self.course
            own.people = {
                f"s{i:02d}": (
                    FIRST[i % 8],
                    LAST[(i // 8 + i) % 8],
                    f"s{i:02d}",
                    f"{700 + i}",
                    f"{1000 + i}",
                )
                for i in range(n, many, len(systems))
            }
            self.desks.append((system, own))
        self.students = [login for _, own in self.desks for login in own.people]
        for i, login in enumerate(sorted(self.students)):
            self.planted[login] = {
                e: e.mistakes[(i // 3) % len(e.mistakes)]
                for n, e in enumerate(assignment.exercises)
                if (i + n) % 3 == 0
            }
            self.write(login)
        self.ever = {
            login: {(e.id, m.name) for e, m in wrong.items()}
            for login, wrong in self.planted.items()
        }

    def write(self, login):
        wrong = {e: mistake.source for e, mistake in self.planted[login].items()}
        notebook = sample.with_answers(self.assignment, wrong)
        for cell in notebook.cells:
            if cell.metadata.get("nbgrader", {}).get("grade_id") == "attention-saturates-written":
                cell.source = f"Because of the width, says {login}."
        self.notebooks[login] = nbformat.writes(notebook).encode()

    def main(self, line, *wanted):
        own = ["--course", str(self.course)] * (line[1] != "handout")
        code = main([*line[1:], *own, "--json"])
        said = self.capsys.readouterr()
        assert code in (wanted or (0,)), (line, said)
        return said.err if code == 130 else json.loads(said.out)

    def points(self):
        with gradebook.open_gradebook(self.course) as book:
            return {s: book.find_submission(NAME, s).score for s in self.students}

    def roster(self, line):
        for system, desk in self.desks:
            path = str(system.roster(desk))
            said = self.main([path if word == "roster.csv" else word for word in line])
            assert {name.split()[0].strip(":,") for name in said["new"]} == set(desk.people)

    def syllabus(self, line):
        self.main(line)

    def handout(self, line):
        self.main([str(self.folder / "handout") if word == "../handout" else word for word in line])
        assert (self.folder / f"handout/exercises/{NAME}/{NAME}.ipynb").is_file()

    def collect(self, line, patch):
        again = "late.zip" in line
        for number, (system, desk) in enumerate(self.desks):
            bringing = list(desk.people)[:: 4 if again else 1]
            system.times = dict.fromkeys(bringing)
            if again:
                for login in bringing:
                    self.planted[login].pop(next(iter(self.planted[login])), None)
                    self.write(login)
            files = {system.place(desk, s, f"{NAME}.ipynb"): self.notebooks[s] for s in bringing}
            path = desk.zip("late.zip" if again else "submissions.zip", files)
            asked = [str(path) if word.endswith(".zip") else word for word in line]
            if system.name == "moodle":
                asked += ["--worksheet", str(system.sheet(desk, {}))]
            if not again and not number:
                with patch.context() as broken:
                    Broken(broken, Path, "rename", 2)
                    assert "to resume" in self.main(asked, 130)
            self.main(asked)
        there = self.course.glob(f"submitted/*/{NAME}/{NAME}.ipynb")
        assert {p.parts[-3]: p.read_bytes() for p in there} == self.notebooks

    def grade(self, line):
        if not self.grades:
            run = self.grading(self.course)
            run.reach(len(self.students) // 3)
            run.kill()
        self.grades += 1
        said = self.main(line)
        assert said["graded"] == len(self.students)
        most = {e: e.points for e in self.assignment.exercises}
        with gradebook.open_gradebook(self.course) as book:
            for login, wrong in self.planted.items():
                for e in most:
                    grade = book.find_grade(e.grade_id, NAME, NAME, login)
                    assert (grade.auto_score < most[e]) == (e in wrong), (login, e.id)

    def similar(self, line):
        self.main(line)

    def export(self, line, patch):
        for number, (system, desk) in enumerate(self.desks):
            taken = getattr(system, "taken", {})
            own = system.sheet(desk, taken)
            asked = [{"canvas": system.name, "gradebook.csv": str(own)}.get(w, w) for w in line]
            upload = own.with_name(f"{own.stem}-upload{own.suffix}")
            if not taken and not number:
                with patch.context() as broken:
                    Broken(broken, zipfile.ZipFile, "write", 2)
                    self.main(asked, 130)
            # Students of the other systems have no row in this one's file.
            said = self.main(asked, 1)
            assert len(said["scored_here_and_not_in_the_file"]) == len(self.students) - len(
                desk.people
            )
            filled = {s: f for s, f in system.takes(desk, upload).items() if f}
            system.taken = {**taken, **filled}
            points = self.points()
            for login in desk.people:
                assert float(system.taken[login]) == pytest.approx(points[login], abs=0.01)
            moved = {s for s in filled if taken.get(s) != filled[s]}
            assert set(filled) == moved and (not taken or len(moved) < len(desk.people))

    def release_solutions(self, line):
        self.main([str(self.folder / "handout") if word == "../handout" else word for word in line])
        assert list((self.folder / "handout/solutions").rglob("*.ipynb"))

    def regrade(self, line):
        before = self.points()
        said = self.main(line)
        assert said["moves"] == [] and self.points() == before

    def defend(self, line):
        said = self.main(line)
        assert said["sheets"] == len(self.students)

    def rubric(self, line):
        path = self.folder / "answers.csv"
        said = self.main([str(path) if word == "answers.csv" else word for word in line])
        if "--read" in line:
            assert said["written"] == len(self.students)
            return
        with path.open(encoding="utf-8-sig", newline="") as file:
            head, *rows = csv.reader(file)
        assert len(rows) == len(self.students) and "student" not in head
        # A marker who gives half a point for the first idea alone.
        filled = [[*row[:2], "0.5", *["0"] * (len(row) - 4), "short"] for row in rows]
        self.desks[0][1].file(path, [head, *filled])

    def analyse(self, line):
        said = self.main(line)
        had = Counter(key for ever in self.ever.values() for key in ever)
        now = Counter((e.id, m.name) for wrong in self.planted.values() for e, m in wrong.items())
        found = {(r["exercise"], r["mistake"].replace(" ", "_")): r for r in said["mistakes"]}
        assert {key: row["students"] for key, row in found.items()} == had
        assert {key: row["now"] for key, row in found.items() if row["now"]} == now
        assert Path(said["page"]).is_file()


@pytest.mark.slow
def test_a_term_is_followed_word_by_word(
    tmp_path, assignment, systems, desk, capsys, grading, monkeypatch
):
    chosen = [systems[name]() for name in ("canvas", "moodle", "brightspace")]
    term = Term(tmp_path, 40, assignment, chosen, desk, capsys, grading)
    for line in typed():
        how = getattr(term, line[1].replace("-", "_"))
        how(line, monkeypatch) if line[1] in ("collect", "export") else how(line)
