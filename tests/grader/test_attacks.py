"""The whole catalogue of attacks as one class, graded once; then a test for every line of it."""

import contextlib
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.cli import main
from course_tests.grader.attacks import class_of_attacks as attacks
from course_tests.grader.attacks import routes
from grader.checks.answer_proxy import AnswerProxy
from grader.checks.exercise import find, namespace
from grader.checks.grading import grade, grade_source
from grader.judge.results import Verdict

ROOT = Path(__file__).resolve().parents[2]
NAMES = [attack.name for attack in attacks.ATTACKS]


whole = pytest.mark.slow


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return attacks.run(ROOT, tmp_path_factory.mktemp("attacks") / "course")


@whole
@pytest.mark.parametrize("name", NAMES)
def test_an_attack_gets_what_it_deserves(outcome, name):
    line = next(line for line in outcome.attacks if line.name == name)
    assert line.verdict == "held", f"{line.text()}: {line.look}"


@whole
def test_honest_students_beside_them_get_theirs(outcome):
    assert len(outcome.honest) >= 80
    assert [line.text() for line in outcome.honest if line.verdict != "held"] == []


@whole
def test_a_person_is_asked_about_few_honest_students(outcome):
    flagged = [f"{line.name}: {line.look}" for line in outcome.honest if line.flagged]
    assert len(flagged) * 50 <= len(outcome.honest), flagged


@whole
def test_nobody_is_harmed(outcome):
    assert outcome.harm == []
    honest, flagged = len(outcome.honest), sum(line.flagged for line in outcome.honest)
    assert outcome.summary() == (
        f"attacks {len(NAMES)}, unflagged 0, undeserved 0, aborted 0, honest {honest}/{honest},"
        f" flagged {flagged}"
    )


@whole
def test_every_note_can_be_read_in_a_terminal(outcome):
    looks = [line.look for line in outcome.attacks if line.look]
    assert len(looks) > 40
    assert all(look.isprintable() for look in looks)


def test_the_catalogue_reads_as_documentation():
    assert len(NAMES) == len(set(NAMES)) >= 180
    for attack in attacks.ATTACKS:
        assert attack.tries and not attack.tries.endswith(".")


# Safe to run in the process of a test.
HERE = [
    (exercise, name, code)
    for exercise, known in routes.ROUTES.items()
    for name, _, code in known
    if exercise in ("attention.softmax_gradient", "space.resample_table", "vit.patchify")
    and name not in {"helper-grad", "refs", "patches-einops", "table-pillow"}
]


@pytest.mark.parametrize(("identifier", "name", "code"), HERE, ids=[name for _, name, _ in HERE])
def test_a_route_leads_to_points_where_nothing_is_refused(identifier, name, code, monkeypatch):
    """Or the table above would hold nothing that has to be stopped."""
    exercise = find(identifier)
    monkeypatch.setattr(exercise, "forbidden", ())
    names = namespace(exercise, routes.code(identifier, code))
    report = grade(exercise, AnswerProxy.local(names), "1", examples=False)
    assert report.score > exercise.points / 2


@pytest.mark.parametrize("identifier", routes.SHARE)
def test_a_share_is_what_the_head_of_a_route_earns_by_itself(identifier):
    source = f"import math, torch\n{routes.HEADS[identifier]}    return v.clone(), weights"
    assert grade_source(find(identifier), source, "1").score == routes.SHARE[identifier]


def test_what_should_not_be_is_counted():
    """The runner's own eyes: each kind of failure is seen, and makes the command fail."""
    row = next(a for a in attacks.ATTACKS if a.name == "exit")
    fair = Verdict("s", "k", 22.0, 28.0, notes=["told"])

    def verdict(**changes):
        return attacks.judge(row, replace(fair, **changes), 28.0, 6.0).verdict

    assert verdict() == "held"
    assert verdict(score=22.5) == "undeserved"
    assert verdict(score=20.0) == "robbed"
    assert verdict(notes=[]) == "untold"
    assert verdict(score=None, reason="The grader itself failed: x") == "aborted"
    assert verdict(score=None, reason="empty") == "robbed"
    assert attacks.judge(row, None, 28.0, 6.0).verdict == "aborted"
    route = next(a for a in attacks.ATTACKS if a.must is attacks.Must.SEEN)
    seen = replace(fair, notes=[f"odd; {attacks.PLEASE}."])
    for found, word in ((fair, "unflagged"), (seen, "held"), (replace(fair, score=0.0), "held")):
        assert attacks.judge(route, found, 28.0, 6.0).verdict == word
    assert attacks.judge_honest("000-honest-a", fair, 28.0).verdict == "robbed"


@pytest.fixture(scope="module")
def graded():
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as said:
        patch.chdir(ROOT)
        kept, run = [], attacks.run
        patch.setattr(attacks, "run", lambda *a, **k: kept.append(run(*a, **k)) or kept[-1])
        assert main(["attacks", "exit", "schema-99"]) == 0, said.getvalue()
    (outcome,) = kept
    return outcome, said.getvalue().splitlines()


def test_the_command_prints_a_line_each_and_its_summary_last(graded, capsys, monkeypatch):
    _, lines = graded
    assert len(lines) == 2 + 9 + 1
    assert lines[-1] == ("attacks 2, unflagged 0, undeserved 0, aborted 0, honest 9/9, flagged 0")
    monkeypatch.chdir(ROOT)
    assert main(["attacks", "nothing"]) == 2
    assert "there are skip-execution" in capsys.readouterr().err


def test_the_command_speaks_json_and_refuses_outside_a_checkout(
    graded, capsys, monkeypatch, tmp_path
):
    monkeypatch.chdir(ROOT)
    with monkeypatch.context() as again:
        again.setattr(attacks, "run", lambda *a, **k: graded[0])
        assert main(["attacks", "exit", "schema-99", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [line["name"] for line in data["attacks"]] == ["exit", "schema-99"]
    assert data["undeserved"] == data["aborted"] == 0 and not data["harm"]
    monkeypatch.chdir(tmp_path)
    assert main(["attacks"]) == 2
    assert "not inside a checkout" in capsys.readouterr().err
    (tmp_path / "course.toml").touch()
    (tmp_path / "solutions").mkdir()
    assert main(["attacks"]) == 2
    assert "it is part of the repository" in capsys.readouterr().err
