"""A proof judges itself: what was changed, claimed or forged comes to light, the honest stays."""

import json
import linecache
import math
from datetime import UTC, datetime, timedelta
from itertools import count

import nbformat
import pytest
import torch

from course_lib.cli import main
from course_tests.grader.attacks import class_of_attacks as attacks
from course_tests.grader.attacks import honest
from course_tests.grader.attacks.tampering import Desk
from grader import sample
from grader.base.errors import Refused
from grader.checks import cell, seeds
from grader.judge.channel import Limits
from grader.judge.results import Verdict
from grader.student import proof
from grader.student.verify import verify

NAME = "03_attention"
LIMITS = Limits(cell=8, call=4, whole=60)


@pytest.fixture
def made(tmp_path, root):
    number = count()

    def make(notebook, points=None, path=(), **more):
        place = tmp_path / str(next(number)) / f"{NAME}.ipynb"
        place.parent.mkdir()
        place.write_text(nbformat.writes(notebook), encoding="utf-8")
        one = proof.packed(place, root, points or {})
        facts = {"made": "2026-11-27T12:00:00+00:00", "course": "0.2.0", "name": "", **more}
        return proof.Proof(notebooks=[one], path=list(path), **facts)

    return make


@pytest.fixture
def verified(root, forkserver):
    def run(one, questions=0):
        return verify(one, root, forkserver, limits=LIMITS, questions=questions)[0]

    return run


@pytest.fixture
def signed(tmp_path):
    def write(one):
        path = tmp_path / "proof.json"
        path.write_text(proof.sign(one)[0], encoding="utf-8")
        return path

    return write


def test_an_honest_proof_is_believed_for_what_it_earns(made, verified, signed, solved, assignment):
    points = {exercise.id: float(exercise.points) for exercise in assignment.exercises}
    one, _ = proof.read(signed(made(solved, points, name="Ada")))
    result = verified(one, questions=2)
    assert not result.faults
    assert result.judged.score == sum(points.values())
    assert any("published solutions" in text for text in result.remarks)
    assert len(result.questions) == 2 and all(q.answer for q in result.questions)


def test_what_is_claimed_beyond_what_is_earned_is_a_fault(made, verified, assignment, first):
    wrong = sample.with_answers(assignment, {first: first.mistakes[0].source})
    claims = {exercise.id: float(exercise.points) for exercise in assignment.exercises}
    result = verified(made(wrong, claims))
    assert [fault.partition(":")[0] for fault in result.faults] == [first.id]
    named = [mark.report.named for mark in result.judged.marks if mark.report]
    assert first.mistakes[0].name in named[0]
    assert any(first.mistakes[0].name in line for line in result.lines())


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file | {"body": file["body"].replace("Ada", "Eve")},
        lambda file: file | {"key": "0" * 64},
        lambda file: file | {"signature": "0" * 128},
        lambda file: file | {"signature": "no hex"},
        lambda file: file | {"key": None},
        lambda file: file | {"format": "course proof 9"},
        lambda file: {"format": proof.FORMAT},
        lambda file: [],
        lambda file: "text",
    ],
)
def test_a_changed_file_is_refused(made, signed, solved, change):
    path = signed(made(solved, name="Ada"))
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(Refused):
        proof.read(path)


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"[" * 100_000, b"{}", b'{"format": 1e999}', b"\0" * 100]
)
def test_what_is_no_proof_is_refused_in_a_sentence(tmp_path, capsys, content):
    path = tmp_path / "proof.json"
    path.write_bytes(content)
    assert main(["verify", str(path)]) == 2
    assert "course: " in capsys.readouterr().err


def test_a_proof_of_another_form_is_refused_with_the_place(made, signed, solved, tmp_path):
    whole = made(solved)
    for field, value in (("notebooks", []), ("made", 3), ("path", [{"on": "now"}])):
        odd = whole.model_copy(update={field: value})
        with pytest.raises(Refused, match=field):
            proof.read(signed(odd))
    stranger = whole.model_copy(deep=True)
    stranger.notebooks[0].name = "../../etc"
    with pytest.raises(Refused):
        verify(proof.read(signed(stranger))[0], tmp_path, None)


def test_another_version_is_said(made, verified, solved):
    one = made(solved)
    one.notebooks[0].engine = "another"
    assert any("another version" in text for text in verified(one).remarks)


@pytest.fixture
def walked(first, tmp_path):
    """The path of a wrong answer and a right one, written by `check` itself."""

    def walk(*answers):
        path = tmp_path / cell.PATH
        path.touch()
        for number, answer in enumerate(answers):
            file = f"<cell {number}>"
            linecache.cache[file] = len(answer), None, answer.splitlines(keepends=True), file
            names = {"torch": torch, "Tensor": torch.Tensor, "math": math}
            exec(compile(answer, file, "exec"), names)
            seed = seeds.fresh()
            report = cell.examine(first.id, names, seed)
            cell.keep_step(report, seed, path, names)
        return proof.read_path(tmp_path, {first.id})

    return walk


def test_a_path_is_run_again(made, verified, solved, first, walked):
    right = next(c.source for c in solved.cells if c.id == f"{first.grade_id}-solution")
    steps = walked(first.mistakes[0].source, right)
    assert [bool(one.fallen) for one in steps] == [True, False]
    assert not verified(made(solved, path=steps)).faults
    better = [steps[0].model_copy(update={"fallen": [], "points": float(first.points)}), steps[1]]
    assert any("comes out otherwise" in f for f in verified(made(solved, path=better)).faults)
    backwards = [steps[0].model_copy(update={"on": "2030-01-01T00:00:00+00:00"}), steps[1]]
    later = (datetime.now(UTC) + timedelta(days=9)).isoformat()
    future = [steps[0], steps[1].model_copy(update={"on": later})]
    for path in (backwards, future):
        assert any("times" in f for f in verified(made(solved, path=path)).faults)


def test_without_a_path_nothing_is_kept(tmp_path, first):
    report = cell.examine(first.id, {}, seeds.fresh())
    cell.keep_step(report, seeds.fresh(), tmp_path / cell.PATH, {})
    assert not (tmp_path / cell.PATH).exists()
    with pytest.raises(Refused, match="touch"):
        proof.read_path(tmp_path, {first.id})


IN_CELLS = [a.name for a in attacks.ATTACKS if isinstance(a.where, str) and not a.alone]


@pytest.mark.sample("library-reference", "patched-comparison-answers")
@pytest.mark.parametrize("name", IN_CELLS[:: len(IN_CELLS) // 30])
def test_an_attack_proves_nothing(made, verified, root, assignment, tmp_path, name):
    attack = next(a for a in attacks.ATTACKS if a.name == name)
    folder = tmp_path / "in" / NAME
    folder.mkdir(parents=True)
    stubs = nbformat.from_dict(assignment.release)
    desk = Desk(folder, NAME, stubs, honest.solved(assignment), folder, tmp_path)
    attacks.lay_out(attack, desk, assignment, root)
    whole = {exercise.id: float(exercise.points) for exercise in assignment.exercises}
    result = verified(made(nbformat.read(desk.path, as_version=4), whole))
    points = sum(e.points for e in attacks.attacked(attack, assignment)[:1])
    kept = Verdict("proof", "", result.judged.score, assignment.automatic, notes=result.remarks)
    line = attacks.judge(attack, kept, assignment.automatic, points)
    assert line.verdict in ("held", "untold")
    assert bool(result.faults) == (result.judged.score < sum(whole.values()))


@pytest.mark.sample("0")
@pytest.mark.parametrize("number", [str(n) for n in range(20)])
def test_an_honest_hand_in_is_not_refused(made, verified, assignment, number):
    every = [*honest.submissions(assignment).values()]
    notebook, due = every[int(number) * len(every) // 20]
    result = verified(made(notebook))
    assert result.judged.score == due and not result.faults


def test_both_commands(tmp_path, capsys, solved, monkeypatch, root, assignment):
    monkeypatch.chdir(root)
    path, file = tmp_path / f"{NAME}.ipynb", tmp_path / "proof.json"
    path.write_text(nbformat.writes(solved), encoding="utf-8")
    assert main(["prove", str(path), "--into", str(file), "--name", "Ada\x1b[2J"]) == 0
    key = capsys.readouterr().out.partition("begins ")[2][:19]
    assert main(["verify", str(file)]) == 0
    shown = capsys.readouterr().out
    assert (
        key in shown
        and f"verified: {assignment.automatic:g} points" in shown
        and "\x1b" not in shown
    )
    assert shown.count("answer: ") == 2
    assert main(["prove", str(path), str(path), "--into", str(file)]) == 2
