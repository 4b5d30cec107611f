"""What a class has understood, of classes for which it is known by hand; and the page."""

import csv
import json
import shutil
from dataclasses import asdict
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest

from course_lib.cli import main
from course_lib.experiments import SHIPPED_RESULTS, get, load_records
from course_lib.experiments.pooled import ClassExperiment
from course_tests.experiments import example_class
from course_tests.grader.submitted import hand_in
from grader import authoring, sample
from grader.base.errors import Refused
from grader.base.statistics import wilson
from grader.checks.naming import AND
from grader.checks.report import Report, Row
from grader.classroom import Classroom
from grader.judge import judge
from grader.judge.channel import Limits
from grader.judge.results import Verdict
from grader.review import analysis, items

NAME = "03_attention"
FORMULA = "=HYPERLINK(<i>1)"


def report(exercise, wrong=(), mistake=""):
    held = {p.name: wrong != "all" and p.name not in wrong for p in exercise.properties}
    rows = [
        Row(p.name, p.says, held[p.name], p.points, "" if held[p.name] else f"{p.name} differs")
        for p in exercise.properties
    ]
    named = tuple(m for m in exercise.mistakes if m.name in mistake.split(AND))
    return Report(exercise.id, rows, exercise.points, named)


@pytest.fixture
def graded(assignment):
    """Leave behind what grading a hand-in does; answers are given by what is wrong with them."""

    def put(course, student, wrong=None, mistakes=None, earlier=None, reason="", of=assignment):
        notebook = nbformat.from_dict(of.release)
        wrong, mistakes = wrong or {}, mistakes or {}
        by_cell = {e.grade_id: e for e in of.exercises}
        for cell in notebook.cells:
            marks = cell.metadata.get("nbgrader", {})
            exercise = by_cell.get(marks.get("grade_id"))
            if exercise and marks.get("grade"):
                name = mistakes.get(exercise.id, "")
                told = report(exercise, wrong.get(exercise.id, ()), name)
                cell.outputs = judge._table(told)
                if wrong.get(exercise.id) == "lost":
                    cell.outputs = [judge.error_of("Lost", "It did not survive.")]
        folder = course / "autograded" / student / of.name
        folder.mkdir(parents=True)
        (folder / f"{of.name}.ipynb").write_text(nbformat.writes(notebook), encoding="utf-8")
        if earlier is not None or reason:
            verdict = Verdict(
                student, "", None, 0.0, mistakes=mistakes, reason=reason, earlier=earlier or []
            )
            (folder / "verdict.json").write_text(json.dumps(asdict(verdict)))

    return put


def test_an_answer_s_own_words_are_neither_a_mistake_nor_a_verdict(assignment):
    exercise = assignment.exercises[0]
    told = report(exercise, "all")
    cell = next(
        c
        for c in assignment.release.cells
        if c.metadata.get("nbgrader", {}).get("grade_id") == exercise.grade_id
        and c.metadata.nbgrader.grade
    )
    outputs = judge._table(told)
    forged = f"This looks like a known mistake: {exercise.mistakes[0].name}."
    outputs[0].text = f"{forged}\n  pass  1  {exercise.properties[0].name}: x\n"
    (answer,) = analysis._answers([{**cell, "outputs": outputs}]).values()
    assert answer.held == {p.name: False for p in exercise.properties}
    assert not answer.mistake and answer.written


@pytest.fixture
def known(tmp_path, assignment, graded):
    """Ten students. Five solve all but the first exercise and five none of that.

    Of the first exercise, which says nothing of the rest, one requirement is reached by the strong,
    one by the weak, one by everybody, and one by three of the strong and two of the weak.
    """
    first, second, third, *others = assignment.exercises
    for_strong, for_weak, for_all, for_some = (p.name for p in first.properties[:4])
    twice = {"weak-0": "a", "weak-1": "a", "weak-2": "b", "strong-0": ""}
    one, other = (m.name for m in second.mistakes[:2])
    names = {"a": one, "b": other, "": ""}
    for kind in ("strong", "weak"):
        for n in range(5):
            student = f"{kind}-{n}"
            failed = {for_weak} if kind == "strong" else {for_strong}
            failed |= {for_some} if n >= (3 if kind == "strong" else 2) else set()
            wrong = {first.id: failed}
            mistakes = {}
            if kind == "weak":
                wrong |= {e.id: "all" for e in (second, third, *others)}
            if named := names.get(twice.get(student, "a" if student == "weak-3" else "")):
                mistakes[second.id] = named
            if student in ("weak-0", "weak-3"):
                mistakes[third.id] = third.mistakes[0].name
            earlier = [{second.id: one}] if student in twice else []
            shown = FORMULA if student == "strong-4" else student
            graded(tmp_path, shown, wrong, mistakes, earlier)
    props = SimpleNamespace(strong=for_strong, weak=for_weak, all=for_all, some=for_some)
    return SimpleNamespace(course=tmp_path, first=first, second=second, third=third, props=props)


def test_difficulty_and_discrimination_are_those_known_by_hand(known, root):
    facts = analysis.analyse(known.course, root, [NAME])
    rows = {r["requirement"]: r for r in facts["requirements"] if r["exercise"] == known.first.id}
    strong, weak, everybody, some = (rows[p] for p in vars(known.props).values())
    assert (strong["share"], weak["share"], everybody["share"], some["share"]) == (0.5, 0.5, 1, 0.5)
    assert strong["discrimination"] == pytest.approx(1) and not strong["look"]
    assert weak["discrimination"] == pytest.approx(-1)
    assert weak["look"] == "it discriminates the wrong way"
    # Who reaches what everybody reaches says nothing, and nothing is made up.
    assert everybody["discrimination"] is everybody["discrimination_low"] is None
    # Two groups of five, of which 3 and 2 reach it: phi = (3 * 3 - 2 * 2) / (5 * 5).
    assert some["discrimination"] == pytest.approx(0.2)
    assert (some["upper"], some["lower"]) == pytest.approx((0.6, 0.4))
    assert some["discrimination_low"] < 0.2 < some["discrimination_high"]
    # Wilson's interval of 5 of 10, from the formula with z² = 3.8415.
    assert (some["share_low"], some["share_high"]) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    # The other exercises are full or empty together: the strong get all else, the weak a part.
    others = [r for r in facts["requirements"] if r["exercise"] != known.first.id]
    assert all(r["share"] == 0.5 and r["discrimination"] > 0.99 for r in others)


def test_the_rest_leaves_out_the_exercise_itself(tmp_path, root, assignment, graded):
    # All of the first exercise falls together, in students who have the same elsewhere.
    for n in range(6):
        graded(tmp_path, f"s{n}", {assignment.exercises[0].id: "all" if n % 2 else ()})
    first = analysis.analyse(tmp_path, root)["requirements"][0]
    assert first["share"] == 0.5 and first["discrimination"] is None


def test_what_is_open_does_not_count_and_what_was_lost_fails(tmp_path, root, assignment, graded):
    exercise = assignment.exercises[0]
    for student, wrong in {"a": (), "b": "lost", "c": "all", "d": ()}.items():
        graded(tmp_path, student, {exercise.id: wrong})
    path = tmp_path / "autograded" / "d" / NAME / f"{NAME}.ipynb"
    said = exercise.properties[0]
    path.write_text(path.read_text().replace(f'"{said.name}": true', f'"{said.name}": null', 1))
    rows = {
        r["requirement"]: r
        for r in analysis.analyse(tmp_path, root)["requirements"]
        if r["exercise"] == exercise.id
    }
    assert (rows[said.name]["n"], rows[said.name]["reached"]) == (3, 1)
    later = rows[exercise.properties[1].name]
    assert (later["n"], later["reached"]) == (4, 2)


def test_misconceptions_are_counted_with_what_survives(known, root):
    facts = analysis.analyse(known.course, root)
    rows = {(r["exercise"], r["mistake"].replace(" ", "_")): r for r in facts["mistakes"]}
    one, other = (rows[known.second.id, m.name] for m in known.second.mistakes[:2])
    counted = ("n", "students", "now", "again", "still", "another", "solved")
    assert [one[key] for key in counted] == [10, 5, 3, 4, 2, 1, 1]
    assert one["survives"] == 0.5
    assert [other[key] for key in counted] == [10, 1, 1, 0, 0, 0, 0] and other["survives"] is None
    pairs = {p["both"]: p for p in facts["together"]}
    assert pairs.keys() == {2}
    assert {pairs[2]["exercise"], pairs[2]["other_exercise"]} == {known.second.id, known.third.id}
    assert pairs[2]["by_chance"] == pytest.approx(5 * 2 / 10)


def test_outcomes_by_class_and_student(known, root, assignment):
    facts = analysis.analyse(known.course, root)
    assess = {
        o: {e.id for e in assignment.exercises if o in e.outcomes}
        for e in assignment.exercises
        for o in e.outcomes
    }
    rows = {o["outcome"]: o for o in facts["outcomes"]}
    assert rows.keys() == assess.keys()
    apart = [o for o, ids in assess.items() if known.first.id not in ids]
    assert apart
    for outcome in apart:
        assert rows[outcome]["mean"] == 0.5 and rows[outcome]["fifths"] == [5, 0, 0, 0, 5]
        assert (
            facts["students"]["strong-1"][outcome] == 1
            and facts["students"]["weak-1"][outcome] == 0
        )
    # Where the first exercise assesses it, too, the points of one requirement are missing.
    first, ids = next((o, ids) for o, ids in assess.items() if known.first.id in ids)
    missed = next(p.points for p in known.first.properties if p.name == known.props.weak)
    worth = sum(e.points for e in assignment.exercises if e.id in ids)
    assert facts["students"]["strong-0"][first] == pytest.approx(1 - missed / worth)


def test_two_terms_stand_side_by_side(known, tmp_path_factory, root, assignment, graded):
    before = tmp_path_factory.mktemp("before")
    for n in range(30):
        graded(before, f"old{n}", {known.first.id: {known.props.strong}} if n < 29 else {})
    facts = analysis.analyse(known.course, root, beside=before)
    rows = {r["requirement"]: r for r in facts["requirements"] if r["exercise"] == known.first.id}
    strong, everybody = rows[known.props.strong], rows[known.props.all]
    assert strong["then"] == pytest.approx(1 / 30)
    assert strong["change"] == pytest.approx(0.5 - 1 / 30) and strong["change_low"] > 0
    assert everybody["change"] == 0 and everybody["change_low"] < 0 < everybody["change_high"]
    assert "old0" not in analysis.write(known.course, facts).read_text()
    with pytest.raises(Refused, match="same course folder"):
        analysis.analyse(before, root, beside=before)


def test_a_class_experiment_is_a_section_with_its_numbers(known, root):
    facts = analysis.analyse(known.course, root)
    assert facts["experiments"] == []
    before = analysis.write(known.course, facts).read_text()
    assert 'id="experiment"' not in before
    files = {**example_class.hand_ins(), "eve<": b""}
    found = ClassExperiment(
        example_class.QUESTION,
        get("no-positions"),
        load_records(SHIPPED_RESULTS, "no-positions"),
        files,
        example_class.WORD,
        any_version=True,
    )
    one = found.data()
    facts["experiments"] = [one]
    page = analysis.write(known.course, facts).read_text()
    # A dot for each run, one for the mean, and two bars of each row of the table.
    assert page.count('class="dot"') == before.count('class="dot"') + 41 + 2 * len(
        one["calibration"]
    )
    assert f"<strong>{one['verdict']}.</strong>" in page and "eve&lt;: the file is empty" in page
    assert page.count("were sure") == len(one["calibration"])
    assert f"experiment {example_class.QUESTION}, 40 of 41 runs count" in "\n".join(
        analysis.lines(facts)
    )
    facts["experiments"] = [ClassExperiment(found.name, found.experiment, [], {"a": b""}).data()]
    assert "of 1 hand-ins 0 count" in analysis.write(known.course, facts).read_text().lower()


def test_nobody_is_named_where_names_are_removed(known, root, graded):
    graded(known.course, "zoe-unreadable", reason="zoe-unreadable.ipynb is no notebook")
    named = analysis.analyse(known.course, root)
    assert named["assignments"][0]["why"] == {
        "zoe-unreadable": "zoe-unreadable.ipynb is no notebook"
    }
    facts = analysis.analyse(known.course, root, no_names=True)
    page = analysis.write(known.course, facts)
    real = [*named["students"], "zoe"]
    for file in page.parent.iterdir():
        assert not [name for name in real if name in file.read_text()], file
    assert [*facts["students"]] == [f"student {n:02}" for n in range(1, 11)]
    assert sorted(map(str, facts["students"].values())) == sorted(
        map(str, named["students"].values())
    )
    with (page.parent / "students.csv").open() as file:
        rows = {row.pop("student"): row for row in csv.DictReader(file)}
    assert {s: {o: float(v) for o, v in row.items()} for s, row in rows.items()} == facts[
        "students"
    ]


def test_several_assignments_are_one_page(known, root, graded):
    start = authoring.load(root / "solutions" / "00_start" / "00_start.md", root)
    first, other = start.exercises[0], known.second.mistakes[0].name
    for n in range(5):
        named = {first.id: first.mistakes[0].name} if n < 3 else {}
        graded(known.course, f"weak-{n}", {first.id: "all"} if n < 3 else {}, named, of=start)
    graded(known.course, "late", of=start)
    facts = analysis.analyse(known.course, root)
    assert [(a["assignment"], a["students"]) for a in facts["assignments"]] == [
        ("00_start", 6),
        (NAME, 10),
    ]
    assert len(facts["students"]) == 11
    # Misconceptions of different assignments meet in their students: w0 to w2 of eleven had both.
    (both,) = [
        p
        for p in facts["together"]
        if {p["exercise"], p["other_exercise"]} == {first.id, known.second.id}
        and other.replace("_", " ") in (p["mistake"], p["other_mistake"])
    ]
    assert both["both"] == 3 and both["by_chance"] == pytest.approx(3 * 5 / 11)
    page = analysis.write(known.course, facts)
    assert page.parent.name == "course-analysis"
    text = page.read_text()
    assert "<summary>00_start, 6 students</summary>" in text
    assert f"<summary>{NAME}, 10 students</summary>" in text
    assert text.count('data-of="reach it"') == len(facts["requirements"])
    assert text.count('data-of="how often"') == len(facts["mistakes"])


def test_tables_hold_no_formula(known, root):
    page = analysis.write(known.course, analysis.analyse(known.course, root))
    with (page.parent / "students.csv").open() as file:
        students = [row[0] for row in csv.reader(file)]
    assert f"'{FORMULA}" in students and FORMULA not in students
    assert "<i>1" not in page.read_text()
    for name in ("requirements", "mistakes", "together", "outcomes", "students"):
        with (page.parent / f"{name}.csv").open() as file:
            rows = [*csv.reader(file)]
        assert len(rows) > 1 and len({*map(len, rows)}) == 1


def test_few_students_are_said_to_be_few(tmp_path, root, assignment, graded):
    for n in range(30):
        graded(tmp_path, f"s{n}", {assignment.exercises[0].id: "all"} if n % 3 else {})
        if n == 28:
            facts = analysis.analyse(tmp_path, root)
            assert facts["few"] and facts["requirements"][0]["share"] == pytest.approx(10 / 29)
            assert "Fewer than 30 students" in analysis.write(tmp_path, facts).read_text()
    facts = analysis.analyse(tmp_path, root)
    assert not facts["few"]
    assert "Fewer than" not in analysis.write(tmp_path, facts).read_text()


def test_one_student_and_a_class_without_variance(tmp_path, root, graded):
    for n in range(3):
        graded(tmp_path, f"s{n}")
        facts = analysis.analyse(tmp_path, root)
        page = analysis.write(tmp_path, facts).read_text()
        assert {r["discrimination"] for r in facts["requirements"]} == {None}
        assert {r["share"] for r in facts["requirements"]} == {1.0}
        assert "nan" not in page and "No known mistake was named" in page


def test_what_cannot_be_analysed_is_said_and_nothing_is_lost(
    tmp_path, root, known, capsys, monkeypatch
):
    monkeypatch.chdir(root)
    empty = tmp_path / "empty"
    empty.mkdir()

    def refused(*arguments):
        assert main(["analyse", *arguments]) == 2
        return capsys.readouterr().err

    assert "no class is graded there; run `course grade`" in refused("--course", str(empty))
    assert not [*empty.iterdir()]
    assert "nothing of 03_attention is graded" in refused(NAME, "--course", str(empty))
    assert "no assignment 03_atention; there are 00_start" in refused("03_atention")
    course = ["--course", str(known.course)]
    assert "nothing of 04_heads is graded" in refused(NAME, "04_heads", *course)
    assert main(["analyse", *course]) == 0
    said = capsys.readouterr().out
    page = known.course / "summary" / f"{NAME}-analysis" / "index.html"
    assert str(page) in said and "10 students; with fewer than 30" in said
    assert "survives in 2 of 4" in said
    before = page.read_bytes()
    (known.course / "autograded" / "weak-0" / NAME / f"{NAME}.ipynb").write_text('{"cells": [')
    assert main(["analyse", *course, "--dry-run", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["page"] is None and page.read_bytes() == before
    (why,) = facts["assignments"][0]["why"].items()
    assert why[0] == "weak-0" and "cannot be read" in why[1]
    assert "weak-0" not in facts["students"] and len(facts["students"]) == 9


def test_intervals_of_shares_are_those_that_were_published():
    assert wilson(0, 10) == pytest.approx((0.0, 0.278), abs=5e-4)
    assert items.newcombe((56, 70), (48, 80)) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_intervals_hold_what_they_promise():
    chance = np.random.default_rng(5)

    def drawn(n):
        rest = chance.normal(size=n)
        held = (0.8 * rest + chance.normal(size=n) > 0.3).astype(float)
        return held[:, None], rest[:, None]

    (true,) = items.correlation(*drawn(200_000), np.ones((1, 200_000)))[0]
    weights = items.draws(40)
    spans = [items.spans(items.correlation(*drawn(40), weights))[0] for _ in range(400)]
    hold = np.mean([low < true < high for low, high in spans])
    assert 0.9 < hold < 0.98


def test_the_correlation_is_numpys_where_nothing_is_missing():
    chance = np.random.default_rng(1)
    held = (chance.random((50, 3)) > [0.2, 0.5, 0.9]).astype(float)
    rest = chance.normal(size=(50, 3)) + held
    got = items.correlation(held, rest, np.ones((1, 50)))[0]
    wanted = [np.corrcoef(held[:, k], rest[:, k])[0, 1] for k in range(3)]
    assert got == pytest.approx(wanted)
    held[7, 1] = np.nan
    got = items.correlation(held, rest, np.ones((1, 50)))[0, 1]
    keep = np.arange(50) != 7
    assert got == pytest.approx(np.corrcoef(held[keep, 1], rest[keep, 1])[0, 1])
    # Too few fail for the draws to tell how far it may be off.
    assert items.spans(
        items.correlation(1.0 * (np.arange(50) > 0)[:, None], rest[:, :1], items.draws(50))
    ) == [None]


@pytest.fixture(scope="module")
def twice(tmp_path_factory, root, assignment, blank_gradebook, lasting):
    """A student of the first exercise: a mistake, the same again, unreadable, then solved."""
    course = tmp_path_factory.mktemp("twice")
    shutil.copy(blank_gradebook, course)
    exercise = assignment.exercises[0]
    mistake = exercise.mistakes[0]
    wrong = sample.with_answers(assignment, {exercise: mistake.source})
    other = nbformat.from_dict(wrong)
    for cell in other.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == f"{exercise.grade_id}-solution":
            cell.source += "\n# looked at again"
    hand_ins = [wrong, other, None, other, assignment.solution]
    seen = []
    for notebook in hand_ins:
        hand_in(course, "ada", notebook or "no notebook")
        Classroom(course, root, NAME, Limits(cell=30, call=10), seed="1").grade(lasting)
        # Other samples, the same hand-in: nothing that she did.
        room = Classroom(course, root, NAME, Limits(cell=30, call=10), seed="2")
        (verdict,) = room.grade(lasting)
        seen.append((verdict.mistakes, verdict.earlier))
    return course, exercise, mistake.name, seen


def test_earlier_hand_ins_are_kept_once_each(twice, root):
    course, exercise, mistake, seen = twice
    named = {exercise.id: mistake}
    assert seen == [
        (named, []),
        (named, [named]),
        (named, [named]),
        (named, [named]),
        ({}, [named, named]),
    ]
    (row,) = analysis.analyse(course, root)["mistakes"]
    assert (row["students"], row["now"], row["again"]) == (1, 0, 1)
    assert (row["still"], row["another"], row["solved"]) == (0, 0, 1)


def test_what_nbgraders_button_leaves_behind_is_read_as_well(known, root):
    whole = analysis.analyse(known.course, root)
    for file in known.course.glob("autograded/*/*/verdict.json"):
        file.unlink()
    alone = analysis.analyse(known.course, root)
    assert alone["requirements"] == whole["requirements"] and alone["outcomes"] == whole["outcomes"]
    assert [m["now"] for m in alone["mistakes"]] == [
        n for m in whole["mistakes"] if (n := m["now"])
    ]


def fill(course, assignment, graded, n, easier):
    chance = np.random.default_rng(n)
    for number in range(n):
        able, wrong, mistakes, earlier = chance.normal(), {}, {}, {}
        for k, exercise in enumerate(assignment.exercises):
            hard = chance.normal(size=len(exercise.properties))
            failed = {
                p.name
                for p, h in zip(exercise.properties, hard, strict=True)
                if able + easier + 1 - k / 3 < h
            }
            wrong[exercise.id] = failed
            if failed and chance.random() < 0.6:
                mistakes[exercise.id] = exercise.mistakes[int(chance.integers(3))].name
            if chance.random() < 0.3:
                earlier[exercise.id] = exercise.mistakes[int(chance.integers(2))].name
        graded(course, f"student-{number}", wrong, mistakes, [earlier] if number % 2 else [])


WIDTHS = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"


@pytest.mark.browser
def test_the_page_in_a_browser(tmp_path, root, assignment, graded, chromium, serve):
    from axe_playwright_python.sync_playwright import Axe

    now, then = tmp_path / "autumn", tmp_path / "spring"
    fill(now, assignment, graded, 40, 0.3)
    fill(then, assignment, graded, 34, 0.0)
    facts = analysis.analyse(now, root, [NAME], beside=then)
    address = serve(analysis.write(now, facts).parent)
    for scheme in ("light", "dark"):
        for width in (1280, 390):
            page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            heard = []
            page.on("console", lambda message, heard=heard: heard.append(message.text))
            page.on("request", lambda request, heard=heard: heard.append(request.url))
            page.goto(address + "index.html")
            page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
            wide, window = page.evaluate(WIDTHS)
            assert wide <= window
            # axe's own style is refused by the page's policy; it does not need it.
            loaded = [h for h in heard if "favicon" not in h]
            assert loaded == [address + "index.html"]
            found = Axe().run(page).response["violations"]
            assert not [(v["id"], v["nodes"][0]["html"][:200]) for v in found]
            for picture in page.locator("svg").all():
                assert picture.get_attribute("aria-label")
                assert picture.evaluate("e => e.getBoundingClientRect().width") > 20
            page.screenshot(
                path=str(root / "_build" / f"analysis-{scheme}-{width}.png"), full_page=True
            )
            page.close()
