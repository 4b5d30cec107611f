"""A course of four students, as five systems would write it, and a desk to work at."""

import csv
import io
import json
import shutil
import zipfile
from pathlib import Path

import nbformat
import pytest

from course_lib.cli import main
from course_lib.grading.records import gradebook, roster
from course_lib.grading.records.gradebook import Entry

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
        """What a command says as JSON; its complaint where it is refused."""
        words = [str(a) for a in arguments]
        code = main([*words, "--course", str(self.course), "--json"])
        said = self.capsys.readouterr()
        assert code == wanted, said
        return said.err if code in (2, 130) else json.loads(said.out)

    def submitted(self):
        """Every file below submitted/."""
        there = self.course / "submitted"
        return {p.relative_to(there).as_posix(): p.read_bytes()
                for p in there.rglob("*") if p.is_file()}  # fmt: skip

    def everything(self):
        return {p.relative_to(self.course).as_posix(): p.read_bytes()
                for p in self.course.rglob("*")
                if p.is_file() and p.name != ".grading.lock"}  # fmt: skip

    def score(self, student, points, *, finished=True, name=NAME, page=None):
        """As grading writes it: points for the first exercise, and a page of feedback."""
        with gradebook.open_gradebook(self.course) as book:
            cells = [c.name for c in book.find_notebook(name, name).grade_cells]
            entries = [Entry(cell, 0.0 if finished else None) for cell in cells]
            entries[0] = Entry(cells[0], float(points))
            gradebook.write(book, name, student, entries)
        path = self.course / "feedback" / student / name / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page or f"<p>{student} has {points}</p>")

    def facts(self):
        return roster.facts(self.course)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory, blank_gradebook, assignment):
    """A gradebook that knows the assignment."""
    course = tmp_path_factory.mktemp("prepared")
    shutil.copy(blank_gradebook, course)
    gradebook.prepare(course, NAME, assignment.release)
    return course / "gradebook.db"


@pytest.fixture
def desk(tmp_path, prepared, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    (tmp_path / "course").mkdir()
    shutil.copy(prepared, tmp_path / "course")
    return Desk(tmp_path, capsys)


@pytest.fixture
def notebook(assignment):
    """A hand-in that differs by its word."""

    def make(word):
        copy = nbformat.from_dict(assignment.release)
        copy.cells.append(nbformat.v4.new_markdown_cell(word, id="last"))
        return nbformat.writes(copy).encode()

    return make
