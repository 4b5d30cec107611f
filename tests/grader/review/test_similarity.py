"""Pairs to look at: a copy is found under other names, and honest work stands below it."""

import ast
import json
import os
from pathlib import Path

import nbformat
import pytest

from course_lib.cli import main
from course_tests.grader.submitted import hand_in
from grader import authoring, sample
from grader.review import similarity
from grader.review.fingerprint import RUN, Alphabet, of_code, passages

ROOT = Path(__file__).resolve().parents[3]
NAMES = ("03_attention", "08_relative", "16_favit")


class Renamed(ast.NodeTransformer):
    """Every name that a function binds gets another; comments and layout go with the writing."""

    def __init__(self, tree):
        bound = {
            n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        bound |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
        self.new = {name: f"mine_{n}" for n, name in enumerate(sorted(bound))}

    def visit_Name(self, node):
        node.id = self.new.get(node.id, node.id)
        return node

    def visit_arg(self, node):
        node.arg = self.new.get(node.arg, node.arg)
        return node


def disguised(source):
    tree = ast.parse(source)
    return "# all my own work\n" + ast.unparse(Renamed(tree).visit(tree))


@pytest.fixture(scope="module", params=NAMES)
def crowd(request, tmp_path_factory):
    """Three who work alone, one who copies under other names, one who has done nothing."""
    name, course = request.param, tmp_path_factory.mktemp(request.param)
    assignment = authoring.load(ROOT / f"solutions/{name}/{name}.md", ROOT)

    def second(exercise):
        return exercise.alternatives[1].source if len(exercise.alternatives) > 1 else None

    for student, answer in {
        "ada": lambda e: e.alternatives[0].source,
        "ben": second,
        "cleo": lambda e: e.mistakes[0].source,
        "dan": lambda e: disguised(e.alternatives[0].source),
    }.items():
        answers = {e: answer(e) for e in assignment.exercises}
        notebook = sample.with_answers(assignment, answers)
        written = [
            c
            for c in notebook.cells
            if c.metadata.get("nbgrader", {}).get("solution") and c.cell_type == "markdown"
        ]
        for cell in written:
            cell.source = f"What {student} thinks." + student * 3
        hand_in(course, student, notebook, name)
    hand_in(course, "eva", nbformat.from_dict(assignment.release), name)
    return course, assignment


def test_a_copy_under_other_names_is_at_the_top_and_honest_pairs_are_not_listed(crowd):
    report = similarity.compare(*crowd)
    assert [p.students for p in report.pairs] == [("ada", "dan")]
    assert report.pairs[0].share > 0.95 and report.near_solution == []
    assert list(report.left_out) == ["eva"] and report.compared == 4
    everything = similarity.compare(*crowd, least=0.001)
    honest = [p.share for p in everything.pairs if p.students != ("ada", "dan")]
    assert len(honest) >= 3 and max(honest) < 0.5


def test_its_passages_are_those_that_agree(crowd):
    (pair,) = similarity.compare(*crowd).pairs
    for match in pair.matches:
        ours, theirs = (
            ["".join(t.kind for t in of_code(source[a:b])) for a, b in spans]
            for source, spans in zip(match.sources, match.spans, strict=True)
        )
        assert len(ours) == len(theirs) > 0, match.exercise
    covered = sum(b - a for m in pair.matches for a, b in m.spans[0])
    assert covered > 0.5 * sum(len(m.sources[0]) for m in pair.matches)


def test_who_retypes_the_published_solution_is_listed_beside_it(tmp_path, assignment):
    name = assignment.name
    answers = {e: disguised(_answer(assignment, e)) for e in assignment.exercises}
    hand_in(tmp_path, "finn", sample.with_answers(assignment, answers), name)
    hand_in(
        tmp_path,
        "gus",
        sample.with_answers(
            assignment, {e: e.alternatives[0].source for e in assignment.exercises}
        ),
        name,
    )
    report = similarity.compare(tmp_path, assignment)
    assert [p.students for p in report.near_solution] == [("finn", similarity.SOLUTION)]
    assert report.near_solution[0].share > 0.9


def _answer(assignment, exercise):
    wanted = f"{exercise.grade_id}-solution"
    cells = {c.metadata.get("nbgrader", {}).get("grade_id"): c for c in assignment.solution.cells}
    return cells[wanted].source


def test_what_is_released_is_nobodys(tmp_path, assignment):
    for student in ("ada", "ben"):
        notebook = nbformat.from_dict(assignment.release)
        notebook.cells.append(nbformat.v4.new_code_cell(f"{student} = 1\nprint({student})"))
        hand_in(tmp_path, student, notebook, assignment.name)
    with pytest.raises(ValueError, match="nothing to compare"):
        similarity.compare(tmp_path, assignment)


def test_what_many_have_weighs_less_than_what_two_have(tmp_path, assignment):
    first, second = assignment.exercises[:2]
    common = {first: first.alternatives[0].source}
    rest = dict.fromkeys(assignment.exercises[2:])

    def helper(n):
        terms = (f"a.{'abcdefgh'[(n * k + k) % 8]}{n}(b, {k})" for k in range(1, 6))
        return f"\n\ndef helper_{n}(a, b):\n    return " + " + ".join(terms)

    for n in range(8):
        # The last one has the first one's helper and mistake; all have the first answer.
        m = n % 7
        answers = {**common, **rest, second: second.mistakes[m % 3].source + helper(m)}
        hand_in(tmp_path, f"s{n}", sample.with_answers(assignment, answers), assignment.name)
    report = similarity.compare(tmp_path, assignment, least=0.01)
    assert report.pairs[0].students == ("s0", "s7")
    assert report.pairs[1].share < report.pairs[0].share


def test_bad_submissions_are_left_out_with_their_reason(tmp_path, assignment, solved):
    name = assignment.name
    hand_in(tmp_path, "ada", solved, name)
    broken = nbformat.from_dict(solved)
    for cell in broken.cells:
        if cell.cell_type == "code":
            cell.source = cell.source.replace("return", "return (")
    hand_in(tmp_path, "ben", broken, name)
    for student, content in {"cut": b"{", "empty": b"", "latin": b"\xff\xfe"}.items():
        hand_in(tmp_path, student, content, name)
    report = similarity.compare(tmp_path, assignment)
    assert set(report.left_out) == {"cut", "empty", "latin"} and all(report.left_out.values())
    assert report.compared == 2, "code that does not parse is compared as far as it goes"
    for wrong in ({"least": 0}, {"least": 1.5}, {"most": 0}):
        with pytest.raises(ValueError, match="wanted 0 < least"):
            similarity.compare(tmp_path, assignment, **wrong)


HOSTILE = '</pre><script>alert(1)</script><img src=x onerror=alert(1)> "'


def test_the_page_is_inert_and_the_command_lists_it(
    tmp_path, assignment, solved, capsys, monkeypatch
):
    name = assignment.name
    for cell in solved.cells:
        if cell.metadata.get("nbgrader", {}).get("solution") and cell.cell_type == "code":
            cell.source += f"\n\nBANNER = '''{HOSTILE}'''\n"
    for student in ("ada", "b<b>ob", os.fsdecode(b"c\xff")):
        hand_in(tmp_path, student, solved, name)
    monkeypatch.chdir(ROOT)
    assert main(["similar", name, "--course", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "100 %" in said and "published solution" in said
    page = (tmp_path / "summary" / f"{name}-similar.html").read_text(encoding="utf-8")
    assert "<script" not in page and "<img" not in page and "<b>ob" not in page
    assert "default-src 'none'" in page and "Ask before you conclude" in page
    assert "&lt;script&gt;" in page
    assert main(["similar", name, "--course", str(tmp_path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["pairs"][0]["share"] == 1.0
    assert main(["similar", "99_none"]) == 2 and "there are" in capsys.readouterr().err
    assert main(["similar", name, "--course", str(tmp_path / "none")]) == 2
    assert "nothing to compare" in capsys.readouterr().err


def test_moved_statements_and_other_functions_are_told_apart():
    alphabet = Alphabet()
    one = """def f(x):
    a = x.softmax(-1) @ x.mT * 0.5
    b = torch.roll(x, 1, dims=0) - 3
    return a, b"""
    moved = """def f(y):
    q = torch.roll(y, 1, dims=0) - 3  # first this
    p = (y.softmax(-1)
         @ y.mT * 0.5)
    return (p, q)"""
    other = one.replace("softmax", "sigmoid").replace("mT", "T").replace("roll", "flip")
    rows = [of_code(source) for source in (one, moved, other)]
    prints = [alphabet.fingerprint(row) for row in rows]
    shared = [len(prints[0].hashes & p.hashes) for p in prints[1:]]
    assert shared[0] > 2 * shared[1]
    spans, _ = passages(prints[0], prints[1], (rows[0], rows[1]))
    assert all(len(of_code(one[a:b])) >= RUN for a, b in spans)
