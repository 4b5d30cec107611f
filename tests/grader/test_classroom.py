"""A class: the sample, bad submissions, interruption, and what people wrote into the gradebook."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import nbformat
import pytest

from course_tests.grader.submitted import hand_in
from grader import authoring, sample
from grader.checks.exercise import find
from grader.classroom import Classroom
from grader.judge.channel import Limits
from grader.judge.feedback import written_beside
from grader.judge.pool import of_course
from grader.judge.results import Verdict
from grader.records import gradebook, summary
from grader.review import analysis

NAME = "03_attention"


@pytest.fixture(scope="module")
def course(tmp_path_factory, root):
    course = tmp_path_factory.mktemp("course")
    sample.make(course, authoring.named(root, NAME))
    room = Classroom(course, root, NAME, Limits(cell=30, call=10))
    return course, room, room.grade(of_course(course))


@pytest.fixture
def empty(tmp_path, root, blank_gradebook, lasting):
    """A course folder into which a test puts submissions, and its classroom.

    One fork server judges in all of them; the sample class has one of its own.
    """
    shutil.copy(blank_gradebook, tmp_path)

    def room():
        made = Classroom(tmp_path, root, NAME, Limits(cell=30, call=10))
        made.grade = partial(made.grade, lasting)
        return made

    return tmp_path, partial(hand_in, tmp_path), room


def test_the_sample_class_gets_what_it_deserves(course, assignment):
    _, _, verdicts = course
    by_name = {v.student: v for v in verdicts}
    points, first = assignment.automatic, assignment.exercises[0].points
    assert by_name["ada-full"].score == points
    assert 0 < by_name["ben-partial"].score < points
    assert by_name["cleo-stub"].score == 0
    assert by_name["gus-crash"].score == points - first
    assert by_name["hal-cheat"].score == 0
    for student in ("dan-mistaken", "eva-mistaken", "finn-mistaken"):
        assert 0 < by_name[student].score < points
        assert by_name[student].mistakes, "a banked mistake must be named"


def test_the_summary_says_who_needs_a_look_and_why(course):
    facts = summary.data(NAME, course[2])
    assert set(facts["needs_a_look"]) == {"gus-crash", "hal-cheat"}
    assert "Takes the library's" in facts["needs_a_look"]["hal-cheat"]
    assert "exit code 3" in facts["needs_a_look"]["gus-crash"]
    text = summary.text(facts)
    assert text.splitlines()[-1].startswith("graded 8 of 8, mean ")
    json.dumps(facts)


def test_the_analysis_finds_in_the_notebooks_what_was_decided(course, root):
    folder, _, verdicts = course
    facts, told = analysis.analyse(folder, root, [NAME]), summary.data(NAME, verdicts)
    counted = {(m["exercise"], m["mistake"]): m["count"] for m in told["mistakes"]}
    assert {(m["exercise"], m["mistake"]): m["now"] for m in facts["mistakes"]} == counted
    assert len(facts["students"]) == told["graded"]
    classes = analysis.read(folder, NAME, {})
    for verdict in verdicts:
        scores = {find(i).grade_id: a.score for i, a in classes[verdict.student].items()}
        assert scores == {i: s for i, s in verdict.exercises.items() if i in scores}
        assert sum(scores.values()) == pytest.approx(verdict.score)
        assert all(
            verdict.exercises[find(i).grade_id]
            == pytest.approx(
                min(a.worth, sum(p.points for p in find(i).properties if a.held[p.name]))
            )
            for i, a in classes[verdict.student].items()
        )


def test_a_second_run_does_nothing(course):
    folder, room, verdicts = course
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*.ipynb")}
    again = room.grade(of_course(folder))
    assert not any(v.fresh for v in again)
    assert [(v.student, v.score) for v in again] == [(v.student, v.score) for v in verdicts]
    assert before == {p: p.stat().st_mtime_ns for p in folder.rglob("*.ipynb")}


def test_nbgraders_own_tools_go_on_from_there(course, root):
    folder, _, verdicts = course
    (folder / "nbgrader_config.py").write_text((root / "nbgrader_config.py").read_text())
    here = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{here}:{os.environ['PATH']}"}
    subprocess.run(
        [here / "nbgrader", "export"], cwd=folder, env=env, check=True, capture_output=True
    )
    with (folder / "grades.csv").open() as file:
        rows = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert rows == {v.student: v.score for v in verdicts}
    for verdict in verdicts:
        path = folder / "autograded" / verdict.student / NAME / f"{NAME}.ipynb"
        nbformat.validate(nbformat.read(path, as_version=4))


def test_bad_submissions_get_a_reason_and_stop_nobody(empty, assignment):
    course, put, room = empty
    good = nbformat.writes(assignment.solution).encode()
    put("a-empty", b"")
    put("b-cut", good[: len(good) // 2])
    put("c-none", b"just some text")
    put("d-huge", b" " * (33 * 2**20))
    html = nbformat.from_dict(assignment.solution)
    html.cells.insert(0, nbformat.v4.new_markdown_cell("<script>alert(1)</script>" * 5000))
    put("e-html", nbformat.writes(html).encode())
    put("f-good", good)
    renamed = course / "submitted" / "g-renamed" / NAME / "mine.ipynb"
    renamed.parent.mkdir(parents=True)
    renamed.write_bytes(good)
    verdicts = {v.student: v for v in room().grade()}
    assert verdicts["f-good"].score == verdicts["e-html"].score == assignment.automatic
    for student in ("a-empty", "b-cut", "c-none", "d-huge", "g-renamed"):
        assert verdicts[student].score is None and verdicts[student].reason
        page = course / "feedback" / student / NAME / f"{NAME}.html"
        assert "Not graded" in page.read_text()
    assert "<script" not in (course / f"feedback/e-html/{NAME}/{NAME}.html").read_text()


def test_a_new_submission_replaces_the_old_verdict(empty, assignment):
    course, put, room = empty
    put("a", nbformat.writes(assignment.release).encode())
    assert room().grade()[0].score == 0
    hand_in(course, "a", assignment.solution)
    assert room().grade()[0].score == assignment.automatic
    assert sum(filter(None, gradebook.scores(course, NAME)["a"].values())) == assignment.automatic


def test_the_grading_seed_is_kept_and_private(empty):
    course, _, room = empty
    seed = room().seed
    assert room().seed == seed and len(seed) == 32
    assert (course / ".grading-seeds.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("content", ["{", "[]", '{"03_attention": 7}', '{"03_attention": "a'])
def test_damaged_seeds_are_named(empty, content):
    course, _, room = empty
    (course / ".grading-seeds.json").write_text(content)
    with pytest.raises(ValueError, match=r"\.grading-seeds\.json is damaged"):
        room()


@pytest.mark.parametrize("cut", [None, 5000])
def test_a_damaged_gradebook_is_named(empty, assignment, cut):
    course, put, room = empty
    book = course / "gradebook.db"
    book.write_bytes(book.read_bytes()[:cut] if cut else b"no database" * 1000)
    put("a", nbformat.writes(assignment.release).encode())
    with pytest.raises(ValueError, match=r"gradebook\.db.* is damaged or no gradebook"):
        room().grade()


def test_names_are_no_commands_in_a_summary():
    names = ["=HYPERLINK(1)", "@SUM(1)", "+1", "-1", "ada\x1b[2J", "eve\nmal   28.00", "\x9bz"]
    verdicts = [Verdict(name, "", 1.0, 2.0, {"e": 1.0}, {"e": 2.0}) for name in names]
    facts = summary.data(NAME, verdicts)
    assert list(json.loads(summary.as_json(facts))["students"]) == names
    for written in (summary.as_json(facts), summary.table(verdicts), summary.text(facts)):
        assert all(c.isprintable() or c == "\n" for c in written)
    cells = [line[0] for line in csv.reader(io.StringIO(summary.table(verdicts)))]
    assert len(cells) == 1 + len(names) and not any(cell[0] in "=@+-" for cell in cells)
    assert not any(line.strip().startswith("mal") for line in summary.text(facts).split("\n"))


def test_unknown_assignments_and_students_are_named(empty, root):
    course, put, room = empty
    with pytest.raises(ValueError, match="there are .*03_attention"):
        Classroom(course, root, "99_nothing")
    with pytest.raises(ValueError, match="nothing in"):
        room().grade()
    put("a", b"")
    with pytest.raises(ValueError, match="nothing submitted by zoe"):
        room().grade(["zoe"])


def test_changed_cells_are_refused_and_nothing_is_lost(empty, assignment):
    course, put, room = empty
    put("a", nbformat.writes(assignment.solution).encode())
    room().grade()
    release = nbformat.from_dict(assignment.release)
    release.cells = [c for c in release.cells if not c.metadata.get("nbgrader", {}).get("grade")]
    with (
        pytest.raises(ValueError, match="give the changed one a new name"),
        gradebook.prepared(course, NAME, release),
    ):
        pass
    assert sum(filter(None, gradebook.scores(course, NAME)["a"].values())) == assignment.automatic


def test_every_hand_in_meets_samples_of_its_own_and_the_same_ones_again(
    tmp_path, root, assignment, forkserver
):
    wrong = dict(sample.submissions(assignment))["dan-mistaken"]
    content = authoring.text(wrong)
    shown = {}
    for student in ("ada", "ben"):
        hand_in(tmp_path, student, content)
    for student in ("ada", "ada", "ben"):
        room = Classroom(tmp_path, root, NAME, seed="07")
        _, files = room.marker.judge(room.take_in(student), forkserver, 0)
        page = files["feedback"].replace(student, "")
        assert shown.setdefault(student, page) == page, "the same again"
    assert shown["ada"] != shown["ben"]


@pytest.mark.parametrize("place", [0, 1, None])
def test_a_text_beside_the_place_for_it_is_found(assignment, place):
    release = nbformat.from_dict(assignment.release)
    handed_in = nbformat.from_dict(assignment.release)
    marks = [c.metadata.get("nbgrader", {}) for c in release.cells]
    number = next(n for n, m in enumerate(marks) if m.get("grade") and m.get("solution"))
    if place is not None:
        handed_in.cells.insert(number + place, nbformat.v4.new_markdown_cell("Because of it."))
    found = written_beside(handed_in, release, marks[number]["grade_id"])
    assert found == ["Because of it."] * (place is not None)
