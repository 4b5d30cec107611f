"""A solution is published once nobody may hand in any more."""

from datetime import UTC, datetime, timedelta

import nbformat
import pytest

from course_lib.cli import main
from grader import authoring, sample
from grader.records import gradebook

NAME = "03_attention"


@pytest.fixture
def course(tmp_path, monkeypatch, root):
    monkeypatch.chdir(root)

    class Desk:
        folder = tmp_path / "course"
        into = tmp_path / "students"
        path = into / f"solutions/{NAME}/{NAME}.ipynb"

        def due(self, days, **extensions):
            self.folder.mkdir(exist_ok=True)
            gradebook.set_due(self.folder, {NAME: datetime.now(UTC) + timedelta(days=days)})
            with gradebook.open_gradebook(self.folder) as book:
                for student, more in extensions.items():
                    book.update_or_create_student(student)
                    book.update_or_create_submission(NAME, student)
                    book.grant_extension(NAME, student, days=more)

        def release(self, capsys, *more, name="03"):
            asked = ["release-solutions", name, "--course", self.folder, "--into", self.into, *more]
            code = main([str(part) for part in asked])
            return code, *capsys.readouterr()

    return Desk()


def test_not_before_the_last_extension(course, capsys):
    course.due(-3, ada=1, bob=5)
    code, _, err = course.release(capsys)
    assert code == 2 and err.count("\n") == 1
    when = datetime.now(UTC) + timedelta(days=2)
    assert f"until {when:%Y-%m-%d}" in err and "the extension of bob" in err and "--yes" in err
    assert not course.into.exists()
    assert course.release(capsys, "--dry-run")[0] == 2
    code, out, _ = course.release(capsys, "--yes", "--dry-run")
    assert code == 0 and "dry run" in out and not course.into.exists()
    assert course.release(capsys, "--yes")[0] == 0 and course.path.exists()


def test_afterwards_and_again(course, capsys, root):
    course.due(-3, ada=1)
    code, out, _ = course.release(capsys, name=NAME)
    assert code == 0 and str(course.path) in out
    first = course.path.read_bytes()
    notebook = nbformat.reads(first.decode(), as_version=4)
    text = "\n".join(cell.source for cell in notebook.cells)
    solution = authoring.load(root / f"solutions/{NAME}/{NAME}.md", root).solution
    answers = [c.source for c in solution.cells if authoring.BEGIN in c.source]
    for answer in answers:
        assert answer.split(authoring.BEGIN)[1].split(authoring.END)[0].rstrip() in text
    assert authoring.BEGIN not in text and "nbgrader" not in first.decode()
    code, out, _ = course.release(capsys)
    assert code == 0 and "unchanged" in out and course.path.read_bytes() == first
    assert [p.name for p in course.path.parent.iterdir()] == [course.path.name]


def test_without_a_date_only_when_told(course, capsys):
    code, _, err = course.release(capsys)
    assert code == 2 and "no due date for 03_attention" in err
    assert not course.folder.exists()
    assert course.release(capsys, "--yes")[0] == 0


def test_bad_input_is_refused_in_a_line(course, capsys, tmp_path):
    assert "there are 00_start" in course.release(capsys, name="99")[2]
    course.into.write_text("a file")
    code, _, err = course.release(capsys, "--yes")
    assert code == 2 and "is not a folder" in err and course.into.read_text() == "a file"


def test_a_folder_of_other_cells_is_emptied_under_no_grader(tmp_path, assignment):
    """A warm parent imports from ``.kits`` while the class is made."""
    for name in (".kits/kit/module.py", "submitted/old/essay/essay.ipynb", "gradebook.db"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    students = sample.make(tmp_path, assignment, lambda student: student == "ada-full")
    assert (tmp_path / ".kits/kit/module.py").exists() and not (tmp_path / "gradebook.db").exists()
    assert [p.name for p in (tmp_path / "submitted").iterdir()] == students == ["ada-full"]
