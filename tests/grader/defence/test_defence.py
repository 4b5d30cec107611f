"""Defence sheets: every key is had again in another way, from what the sheet prints."""

import ast
import json
import re
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

import nbformat
import pytest
import torch

from course_lib.cli import main
from course_tests.grader.checks.mutation_report import Endless, at_most
from course_tests.grader.submitted import hand_in
from grader import authoring, sample
from grader.checks.exercise import find, namespace
from grader.checks.grading import grade_source, quiet
from grader.defence import asking, bench, inputs, paper, unit
from grader.intake import parsing

ROOT = Path(__file__).resolve().parents[3]
NAMES = [source.stem for source in authoring.sources(ROOT)]
# A verdict is about samples: those of the first draw and of the last.
SEEDS = asking.SEEDS[0], asking.SEEDS[-1]


def loaded(name):
    return authoring.load(ROOT / f"solutions/{name}/{name}.md", ROOT)


def hand_ins(assignment):
    """Notebooks in which every solution, alternative and mistake stands once, and what is new."""
    answers = {
        e: [None, *(a.source for a in [*e.alternatives, *e.mistakes])] for e in assignment.exercises
    }
    for n in range(max(map(len, answers.values()))):
        here = {e: each[n % len(each)] for e, each in answers.items()}
        chosen = {e: source for e, source in here.items() if source is not None}
        wanted = [e.id for e, each in answers.items() if n < len(each)]
        yield sample.with_answers(assignment, chosen), wanted


def above(notebook, exercise):
    """The answers that stand above an exercise's own."""
    found = []
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if grade_id.startswith(f"{exercise.grade_id}-solution"):
            break
        if cell.metadata.get("nbgrader", {}).get("solution") and cell.cell_type == "code":
            found.append(cell.source)
    return "\n\n".join(found)


class Second:
    """Gets a key again from the printed code and the printed inputs."""

    def __init__(self, exercise, before, code):
        self.exercise, self.before, self.code = exercise, before, code

    def met(self, code, seed):
        """The requirements that a printed answer meets; None if it does not end."""
        try:
            with at_most(20):
                report = grade_source(self.exercise, f"{self.before}\n\n{code}", seed)
        except (Exception, Endless):
            return None
        return {row.name for row in report.rows if row.passed}

    def edited(self, first, last, now):
        lines = self.code.splitlines()
        margin = re.match(r" *", lines[first - 1])[0]
        return "\n".join([*lines[: first - 1], margin + now, *lines[last:]])

    def changed(self, q):
        facts = q.facts
        code = self.edited(facts["first"], facts["last"], facts["now"])
        assert f"`{facts['now']}`" in q.text and str(facts["first"]) in q.text
        options = [p.name for say in q.options for p in self.exercise.properties if p.says == say]
        keyed = {options["ABCDEFGHIJKLMNOP".index(letter)] for letter in q.answer.split(", ")}
        return all(
            keyed == set(options) & (self.met(self.code, s) - (self.met(code, s) or set()))
            for s in SEEDS
        )

    def input(self, place):
        """The arguments from what is printed of them; random numbers are drawn anew."""
        one = next(i for i in inputs.inputs(self.exercise.id) if list(i.place) == place)
        named = dict(one.draws[0][1])
        values = {called: rebuilt(said) for called, said in one.words}
        args = [v for called, v in values.items() if called not in named]
        return str(one), args, {k: v for k, v in values.items() if k in named}

    def names(self, code, file):
        with quiet():
            names = namespace(self.exercise, self.before)
            exec(compile(code, file, "exec"), names)
        return names

    def traced(self, place):
        shown, args, kwargs = self.input(place)
        tree = ast.parse(self.code)
        starts = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.stmt):
                inner = [n for n in ast.walk(node) if n is not node and isinstance(n, ast.stmt)]
                end = min([n.lineno for n in inner], default=node.end_lineno + 1)
                for line in range(node.lineno, max(end, node.lineno + 1)):
                    starts[line] = node.lineno
        began, values, last = [], {}, {}

        def finish(frame, value=None, event=""):
            line = last.get(id(frame))
            if line is None:
                return
            if event == "return":
                values.setdefault((line, "return"), form(value))
            for name, now in frame.f_locals.items():
                values.setdefault((line, name), form(now))

        def local(frame, event, value):
            line = starts.get(frame.f_lineno)
            if event == "line" and line != last.get(id(frame)):
                finish(frame)
                began.append(line)
                last[id(frame)] = line
            elif event == "return":
                finish(frame, value, event)
                last.pop(id(frame), None)
            return local

        def outer(frame, event, value):
            inner = frame.f_code.co_filename == "<sheet>" and frame.f_code.co_name[0] != "<"
            return local if inner else None

        function = self.names(self.code, "<sheet>")[self.exercise.function]
        raised = ""
        with quiet():
            sys.settrace(outer)
            try:
                function(*args, **kwargs)
            except Exception as error:
                raised = type(error).__name__
            finally:
                sys.settrace(None)
        return shown, began, values, raised

    def seen(self, q):
        shown, _, values, _ = self.traced(q.facts["place"])
        value = values.get((q.facts["line"], q.facts["name"]))
        return shown in q.text and value == q.answer

    def ran(self, q):
        shown, began, _, raised = self.traced(q.facts["place"])
        times = Counter(began)
        if "asked" in q.facts:
            ran = [n for n in q.facts["asked"] if times[n]]
            key = ", ".join(map(str, ran)) or "none of them"
        elif "line" in q.facts:
            key = str(times[q.facts["line"]])
        else:
            assert raised in q.text
            key = str(began[-1])
        return shown in q.text and key == q.answer

    def fault(self, q):
        if not getattr(self, q.kind.replace(" ", "_"))(q):
            asked = [f"{q.exercise}, {q.kind}: {q.text}", *q.options, q.code]
            return "\n".join([*asked, f"key {q.answer}", self.code])
        return ""


DRAWN = torch.Generator().manual_seed(77)


def rebuilt(said):
    """A value from what is printed of it."""
    match = re.fullmatch(r"(\w+) (\([\d, ]*\))(?:: (.*)|, (empty)|, random numbers (.*))", said)
    if match and hasattr(torch, match[1]):
        dtype, shape = getattr(torch, match[1]), ast.literal_eval(match[2])
        if match[4]:
            return torch.zeros(shape, dtype=dtype)
        if match[3]:
            names = {"inf": float("inf"), "nan": float("nan")}
            return torch.tensor(eval(match[3], names)).reshape(shape).to(dtype)
        draw = torch.randn if match[5] == "about 0" else torch.rand
        return draw(shape, generator=DRAWN, dtype=torch.float64).to(dtype)
    return eval(said, {"inf": float("inf"), "nan": float("nan")})


def form(value):
    if isinstance(value, torch.Tensor):
        return str(tuple(value.shape))
    if isinstance(value, (tuple, list)) and value and all(map(torch.is_tensor, value)):
        return ", ".join(str(tuple(v.shape)) for v in value)
    return repr(value)


@pytest.mark.sample("00_start")
@pytest.mark.parametrize("name", NAMES)
def test_no_key_is_wrong(name, forkserver):
    assignment = loaded(name)
    asked, faults = Counter(), []
    for number, (notebook, wanted) in enumerate(hand_ins(assignment)):
        submission = parsing.parse(nbformat.writes(notebook).encode())
        for found, why in bench.benches(submission, assignment, wanted, forkserver):
            if found is None:
                faults.append(why)
                continue
            second = Second(found.exercise, above(notebook, found.exercise), found.unit.text)
            questions, _ = asking.pool(found, str(number))
            asked.update(q.kind for q in questions)
            faults += filter(None, map(second.fault, questions))
    assert not faults, "\n\n".join(faults)
    assert {*asked} >= {"changed", "seen"}


SPREAD = '''
import math

EPS = 1e-9

print("nobody's business")


def helper(x):
    return x * 2  # twice


@torch.no_grad()
def answer(
    q, k=1
):
    """Say something.

    At length.
    """
    # why
    total = sum(
        helper(i) + k
        for i in range(q)
    )
    if total > 3 and \\
            k:
        total -= 1; k = 2
    for i in range(q):
        total += i
    return total
'''


def test_an_answer_is_shown_as_it_was_written_and_without_what_is_none():
    own = unit.find(["def answer(q): pass", SPREAD, "def other(): pass"], "answer")
    assert "print" not in own.text and '"""' not in own.text and "# why" in own.text
    assert own.text.startswith("import math\n\nEPS = 1e-9\n\ndef helper(x):")
    lines = own.text.splitlines()
    begins = {n: lines[n - 1].strip() for n in own.lines}
    # Two statements that share a line have no line of their own.
    assert {*begins.values()} == {
        "return x * 2  # twice",
        "total = sum(",
        "total += i",
        "return total",
    }
    assert [begins[n] for n in own.conditional] == ["total += i"]
    for source in ("def answer(:", "x = 1", "def answer():\n" + "    x = 1\n" * 90):
        assert unit.find([source], "answer") is None


def test_a_change_is_told_by_the_lines_that_it_takes():
    own = unit.find([SPREAD], "answer")
    lines = own.text.splitlines()
    found = {c.now: dedent("\n".join(lines[c.first - 1 : c.last])) for c in own.changes()}
    assert found["return x / 2"] == "return x * 2  # twice"
    assert found["total = sum((helper(i) - k for i in range(q)))"].startswith("total = sum(\n")
    assert found["if total > 3 or k:"] == "if total > 3 and \\\n        k:"
    assert found["def answer(q, k=2):"] == "def answer(\n    q, k=1\n):"
    assert "total += 1" not in found
    for change in own.changes():
        edited = own.text.splitlines()
        margin = re.match(" *", edited[change.first - 1])[0]
        edited[change.first - 1 : change.last] = [margin + change.now]
        # What has lost its value has none, whatever it is elsewhere in the notebook.
        now = change.source.replace("_has_no_value", "")
        assert ast.unparse(ast.parse("\n".join(edited))) == now
    assert any("_has_no_value" in c.source for c in own.changes())
    assert next(c for c in own.changes() if c.now == "return x / 2").swaps
    assert not next(c for c in own.changes() if c.now == "return x").swaps


def test_an_answer_that_is_watched_does_what_it_did():
    own = unit.find([SPREAD], "answer")
    names = {"torch": torch}
    exec(bench._recorder("1"), names)
    exec(unit.instrumented(own, "1"), names)
    said = names["__traced1__"]("answer", 3)
    plain = {"torch": torch}
    exec(own.text, plain)
    assert said["raised"] == "" and said["whole"]
    assert said["events"][-1] == [22, "return", ["plain", repr(plain["answer"](3))]]
    assert Counter(line for line, name, _ in said["events"] if not name)[21] == 3
    assert names["__traced1__"]("answer", "x")["raised"] == "TypeError"
    assert not names["__traced1__"]("answer", 3000)["whole"]
    assert names["__form1__"](10**39) == ["plain", f"{10**39}"]
    assert names["__form1__"](10**40) == ["other", "int"]


LOOKS = """
def {f}(q, k, v, *args, **kwargs):
    found = [n for n in globals() if n in ("__saw__", "__at__", "__events__", "__traced__")]
    number = 3 if found else 5
    return number
"""


def test_what_looks_for_the_recorder_finds_nothing(assignment, first, forkserver):
    notebook = sample.with_answers(assignment, {first: LOOKS.replace("{f}", first.function)})
    submission = parsing.parse(nbformat.writes(notebook).encode())
    for found, _ in bench.benches(submission, assignment, [first.id], forkserver):
        seen = {tuple(trace.values[3, "number"]) for one in found.traces for trace in one}
        assert seen == {("plain", "5")}


def test_five_are_chosen_of_all_kinds_and_none_that_a_neighbour_has():
    kinds = [*asking.MAKERS]
    found = [
        asking.Question(kind, f"topic.{n}", f"{kind} {n}?", "A") for kind in kinds for n in "abcd"
    ]
    first = paper.choose(found)
    assert len(first) == 5 and {q.kind for q in first[:3]} == {"changed", "seen", "ran"}
    assert {q.exercise for q in first} == {f"topic.{n}" for n in "abcd"}
    second = paper.choose(found, {q.name for q in first})
    assert len(second) == 5 and not {q.name for q in first} & {q.name for q in second}
    assert len(paper.choose(found[:3])) == 3 and paper.choose(found, {q.name for q in found}) == []


UNSURE = {
    "random": (
        "def {f}(q, k, v, mask=None):\n"
        "    return torch.rand(2, int(torch.randint(1, 50, ()))), torch.rand(3)\n"
    ),
    "ends": "import os\n\ndef {f}(q, k, v, mask=None):\n    os._exit(3)\n",
    "endless": "def {f}(q, k, v, mask=None):\n    while True:\n        q = q + 1\n",
    "fails": "def {f}(q, k, v, mask=None):\n    raise NotImplementedError\n",
    "lies": "__traced__ = 3\n\ndef {f}(q, k, v, mask=None):\n    globals()['__traced__'] = 4\n"
    "    next(v for n, v in globals().items() if '__events' in n)[:] = [[1, 'q', object]] * 3\n"
    "    return v, v\n",
}


@pytest.mark.parametrize("kind", UNSURE)
def test_where_runs_do_not_decide_nothing_is_asked(
    kind, assignment, first, forkserver, monkeypatch
):
    monkeypatch.setattr(bench, "LIMITS", bench.Limits(cell=60, call=2, whole=120))
    source = UNSURE[kind].replace("{f}", first.function)
    notebook = sample.with_answers(assignment, {first: source})
    submission = parsing.parse(nbformat.writes(notebook).encode())
    asked, refused = [], []
    for found, _ in bench.benches(submission, assignment, [first.id], forkserver):
        asked, refused = asking.pool(found, "1")
    # Of an error it is known where it comes from.
    assert [q.answer for q in asked] == ["2"] * 2 * (kind == "fails"), asked
    assert bool(refused) == (kind in ("ends", "endless", "lies")), refused


def defend(course, *more):
    return main(["defend", "03_attention", "--course", str(course), *more])


HOSTILE = "</pre><script>alert(1)</script><img src=x>\u202e"


@pytest.fixture(scope="module")
def class_of_copies(tmp_path_factory, assignment):
    """Four who hand in the same, one who has written nothing, one whose file is damaged."""
    course = tmp_path_factory.mktemp("defence")
    notebook = nbformat.from_dict(assignment.solution)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution") and cell.cell_type == "code":
            cell.source = cell.source.replace("### BEGIN SOLUTION", f"# {HOSTILE}")
    for student in ("ada", "bien", "cleo", "dan"):
        hand_in(course, student, notebook, assignment.name)
    hand_in(course, "cara-stub", nbformat.from_dict(assignment.release), assignment.name)
    hand_in(course, "cut", "{", assignment.name)
    return course


def files_below(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_class_has_sheets_of_which_no_two_beside_each_other_share_a_question(
    class_of_copies, capsys, monkeypatch
):
    course = class_of_copies
    monkeypatch.chdir(ROOT)
    before = files_below(course)
    assert defend(course, "--dry-run") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "6 of 6 sheets to make"
    assert files_below(course) == before, "a dry run writes nothing, and no seed"
    assert defend(course) == 0
    said = capsys.readouterr().out
    assert "cut: 0 questions; The file is not a whole notebook" in said
    assert "cara-stub: 0 questions; attention." in said
    assert "6 sheets, 20 questions, made now 6" in said
    folder = course / "defence" / "03_attention"
    data = json.loads((folder / "sheets.json").read_text())
    asked = [
        {json.dumps([q["text"], q["options"], q["exercise"]]) for q in data[s]["questions"]}
        for s in ("ada", "bien", "cleo", "dan")
    ]
    assert [len(own) for own in asked] == [5, 5, 5, 5]
    assert not any(a & b for a, b in pairwise(asked))
    kinds = {q["kind"] for q in data["ada"]["questions"]}
    assert kinds == {"changed", "seen", "ran"}
    # An easy exercise is asked about only where harder ones do not give all kinds.
    assert all(any(find(e).difficulty >= 3 for e in data[s]["codes"]) for s in ("ada", "dan"))
    pages = {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*.html")}
    assert len(pages) == 2 + 2 * 4
    for name, page in pages.items():
        assert "<script" not in page and "<img" not in page and "<b>en" not in page
        assert "\u202e" not in page, "a printed line stands in its own order"
        assert "default-src 'none'" in page and "://" not in page
        assert ('class="answer"' in page) == name.startswith("keys")
    # The same again makes nothing, one who has changed something is asked again, who left is gone.
    kept = files_below(folder)
    assert defend(course, "--student", "ada") == 0
    assert "made now 0" in capsys.readouterr().out and files_below(folder) == kept
    path = course / "submitted/dan/03_attention/03_attention.ipynb"
    path.write_text(path.read_text().replace("# <", "# again <"))
    for file in sorted((course / "submitted" / "cut").rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    folder.rename(folder.with_name(".03_attention.old"))
    assert defend(course) == 0
    assert "5 sheets, 20 questions, made now 1" in capsys.readouterr().out
    now = json.loads((folder / "sheets.json").read_text())
    assert {s for s in now if now[s] != data[s]} == {"dan"}
    assert sorted(p.name for p in folder.parent.iterdir()) == ["03_attention"]


@pytest.mark.parametrize(
    "asked, said",
    [
        (["99_none"], "there are 00_start"),
        (["03_attention", "--student", "nobody"], "nothing submitted by nobody"),
        (["03_attention", "--jobs", "0"], "at least 1 is needed"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(class_of_copies, asked, said, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(["defend", *asked, "--course", str(class_of_copies)]) == 2
    complaint = capsys.readouterr().err
    assert said in complaint and complaint.count("\n") == 1


def test_damaged_sheets_are_not_taken_for_none(class_of_copies, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    hand_in(tmp_path, "ada", "{}")
    broken = tmp_path / "defence" / "03_attention" / "sheets.json"
    broken.parent.mkdir(parents=True)
    broken.write_text('{"ada": 3}')
    assert defend(tmp_path) == 2
    assert "sheets.json is damaged" in capsys.readouterr().err
